"""Answers about the rows of one dataset, and the audits and bounds based on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewfold.exceptions import InputError
from fewfold.pipeline.artifacts import atomic_path, content_digest
from fewfold.session.audit import BANDS, NOT_SURE, UNANSWERED, Frozen, Interval, Promise
from fewfold.session.journal import NAME, Journal, read_journal

MOST_CLASSES, MOST_NAME = 1000, 200
# Shares of alpha: of the k-th freeze of a promise, and of the k-th of the running estimate.
FIRST_PROMISE, NEXT_PROMISE = 0.6, 0.4
FIRST_EPOCH, EPOCH_GROWTH = 10, 1.5
ESTIMATE, PROMISE = "estimate", "promise"


@dataclass(frozen=True)
class Estimate:
    """Estimated error of the current labels.

    Attributes
    ----------
    all : Interval
        Numbers of wrong labels among all rows.
    classes, bands : dict of str to Interval
        The same by class and by confidence, at the freeze with the narrowest interval.
    frozen : Frozen or None
        That freeze.
    level : float
        Probability that all intervals of one kind hold at all times.
    """

    all: Interval
    classes: dict
    bands: dict
    level: float
    frozen: Frozen | None = None

    @property
    def error(self) -> float:
        """Expected share of wrong labels."""
        return self.all.expected / self.all.n_rows

    @property
    def low(self) -> float:
        """Least share of wrong labels."""
        return self.all.low / self.all.n_rows

    @property
    def high(self) -> float:
        """Largest share of wrong labels."""
        return self.all.high / self.all.n_rows


class Record:
    """Answers in a journal, and the frozen labels that they are compared with.

    Parameters
    ----------
    given : int array of shape (n,)
        Classes that were known before, -1 where none.
    classes : list of str
    folder : path-like or None
        Of the journal; None keeps all in memory.
    digest : str
        Of the rows: answers about others are refused.
    level : float
        Confidence of all statements.
    seed : int
    """

    def __init__(self, given, classes, *, folder=None, digest="", level=0.95, seed=0):
        if not 0.5 <= level < 1:
            raise InputError(f"level {level:g}; allowed: 0.5 to below 1, such as 0.95.")
        self.given = np.asarray(given, dtype=np.int64)
        self.n_rows, self.level = len(self.given), level
        self.classes = [str(c) for c in classes]
        self.answers = self.given.copy()
        self.answers[self.answers < 0] = UNANSWERED
        self.answered: dict[int, dict] = {}  # row: its current answer
        self.flagged: set[int] = set()
        self.skipped: dict[int, int] = {}  # row: number of answers when it was skipped
        self.offered: set[int] = set()  # audit rows that were shown
        self.epochs: list[Frozen] = []
        self.promises: list[Promise] = []
        self.answers_at_freeze = 0  # of the latest promise
        self.last_step = None, None  # of the latest promise, see `fewfold.session.promises`
        self.folder = None if folder is None else Path(folder)
        about = {"n_rows": self.n_rows, "digest": digest, "seed": int(seed)}
        self.journal = Journal(None if folder is None else self.folder / NAME, about)
        self.seed = int(self.journal.about["seed"])
        # Drawn before any answer; frozen labels of estimates are audited in this order.
        self._order = np.random.default_rng([self.seed, 0]).permutation(self.n_rows)
        for event in self.journal.events:
            self._apply(event)

    @property
    def n_answers(self) -> int:
        """How many rows were answered here."""
        return len(self.answered)

    def _apply(self, event):
        """Update the state with an event of the journal."""
        kind = event["kind"]
        if kind == "class":
            if event["name"] not in self.classes:
                self.classes.append(str(event["name"]))
        elif kind in ("answer", "not_sure", "skip", "flag", "offer", "undo"):
            row = self.check_row(event["row"])
            self._apply_row(kind, row, event)
        elif kind == "freeze":
            self._read_frozen(event)

    def _apply_row(self, kind, row, event):
        if kind == "answer":
            self.answers[row] = self.code(event["class"])
        elif kind == "not_sure":
            self.answers[row] = NOT_SURE
        elif kind == "skip":
            self.skipped[row] = self.n_answers
        elif kind == "flag":
            (self.flagged.add if event["on"] else self.flagged.discard)(row)
        elif kind == "offer":
            self.offered.add(row)
        elif kind == "undo":
            self.answers[row] = UNANSWERED if self.given[row] < 0 else self.given[row]
            self.answered.pop(row, None)
        if kind in ("answer", "not_sure"):
            self.answered[row] = event
            self.skipped.pop(row, None)

    def check_row(self, row) -> int:
        """Return a row number; raise an error for anything else."""
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)):
            raise InputError(f"row {row!r}: a row number from 0 to {self.n_rows - 1} is needed.")
        if not 0 <= row < self.n_rows:
            raise InputError(f"row {row}; allowed: 0 to {self.n_rows - 1}.")
        return int(row)

    def code(self, name) -> int:
        """Return the code of a class; raise an error for unknown names."""
        if name not in self.classes:
            some = ", ".join(self.classes[:10])
            raise InputError(f"{name!r} is not a class ({some}). Add it first: add_class.")
        return self.classes.index(name)

    def add_class(self, name: str) -> int:
        """Add a class; return its code."""
        name = str(name).strip()
        if not name or len(name) > MOST_NAME or not name.isprintable():
            raise InputError(f"A class needs a printable name of 1 to {MOST_NAME} characters.")
        if len(self.classes) >= MOST_CLASSES:
            raise InputError(f"There are {MOST_CLASSES} classes already, which is the most.")
        if name.casefold() in (c.casefold() for c in self.classes):
            raise InputError(f"The class {name!r} exists already.")
        self._happen({"kind": "class", "name": name})
        return len(self.classes) - 1

    def _happen(self, event) -> dict:
        event = self.journal.append(event)
        self._apply(event)
        return event

    def put(self, row: int, name: str | None, **notes) -> dict:
        """Store an answer (None: not sure) with what is known of how the row was offered."""
        row = self.check_row(row)
        if self.given[row] >= 0:
            raise InputError(f"Row {row} is labeled in the input; it cannot be answered.")
        if name is None:
            return self._happen({"kind": "not_sure", "row": row, **notes})
        self.code(name)
        return self._happen({"kind": "answer", "row": row, "class": name, **notes})

    def offer(self, row: int) -> None:
        """Record that a row of the audit was shown."""
        self._happen({"kind": "offer", "row": self.check_row(row)})

    def next_audit(self, answers) -> int | None:
        """Return the next row of the audit of the running estimate."""
        waiting = self._order[answers[self._order] == UNANSWERED]
        return int(waiting[0]) if len(waiting) else None

    def skip(self, row: int) -> None:
        """Skip a row."""
        self._happen({"kind": "skip", "row": self.check_row(row)})

    def flag(self, row: int, on: bool = True) -> None:
        """Flag a row for later review, or remove the flag."""
        self._happen({"kind": "flag", "row": self.check_row(row), "on": bool(on)})

    def undo(self) -> int | None:
        """Undo the latest answer; return its row."""
        if not self.answered:
            return None
        row, event = max(self.answered.items(), key=lambda item: item[1]["id"])
        self._happen({"kind": "undo", "row": row, "of": event["id"]})
        return row

    def merge(self, path) -> tuple[int, list[tuple[int, str, str]]]:
        """Import the answers of another journal about the same rows.

        Rows that have an answer here keep it. Returns how many were imported, and the
        disagreements: row, answer here, answer there.
        """
        about, events, _ = read_journal(path)
        if (about.get("n_rows"), about.get("digest")) != (
            self.journal.about.get("n_rows"), self.journal.about.get("digest"),
        ):  # fmt: skip
            raise InputError(f"{path} is about other rows, so its answers cannot be imported.")
        theirs: dict[int, dict] = {}
        for event in events:
            if event["kind"] in ("answer", "not_sure"):
                theirs[self.check_row(event.get("row"))] = event
            elif event["kind"] == "undo":
                theirs.pop(self.check_row(event.get("row")), None)
        n, disagreements = 0, []
        for row, event in theirs.items():
            name = event.get("class") if event["kind"] == "answer" else None
            if name is not None and name not in self.classes:
                self.add_class(name)
            if self.answers[row] == UNANSWERED:
                self.put(row, name, why="merged", by=str(event.get("by", ""))[:MOST_NAME])
                n += 1
            elif name is not None and self.answers[row] >= 0:
                here = self.classes[self.answers[row]]
                if here != name:
                    disagreements.append((row, here, name))
        return n, disagreements

    def freeze(self, labels, confidence, share: float | None = None) -> None:
        """Freeze the labels for an audit: of a promise if a share is given, else of the estimate.

        Parameters
        ----------
        labels, confidence : arrays of shape (n,)
            How far confidences can be believed decides how many answers a promise needs, not
            whether it is true.
        share : float, optional
            Allowed share of wrong labels.
        """
        labels = np.asarray(labels, dtype=np.int64)
        confidence = np.asarray(confidence, dtype=np.float64)
        alpha = 1 - self.level
        number = len(self.epochs)
        of_estimate = alpha / ((number + 1) * (number + 2))
        if share is None:
            alpha = of_estimate
            # A row that was shown and skipped is no longer a random draw.
            free = (self.answers == UNANSWERED) & ~np.isin(np.arange(self.n_rows), [*self.offered])
            rows = self._order[free[self._order]]
        else:
            number = len(self.promises)
            alpha *= FIRST_PROMISE * NEXT_PROMISE**number
            rows = np.flatnonzero(self.answers == UNANSWERED)
            rows = np.random.default_rng([self.seed, 1, number]).permutation(rows)
        frozen = Frozen(rows, labels[rows], confidence[rows], int(np.sum(self.answers >= 0)), alpha)
        event = {"kind": "freeze", "purpose": ESTIMATE if share is None else PROMISE}
        sizes = ()
        if share is not None:
            sizes = Promise.plan(frozen, share).sizes
            event |= {"share": share, "sizes": list(sizes), "of_estimate": of_estimate}
        event |= {"alpha": alpha, "n_known": frozen.n_known}
        if self.folder is not None:
            name = f"frozen-{len(self.epochs) + 1:04d}.npz"
            with atomic_path(self.folder / name) as part, open(part, "wb") as file:
                np.savez(file, rows=rows, labels=frozen.labels, confidence=frozen.confidence)
            event |= {"file": name, "content": content_digest(self.folder / name)}
        self.journal.append(event)
        self._keep(frozen, event)

    def _keep(self, frozen, event):
        if event["purpose"] == ESTIMATE:
            self.epochs.append(frozen)
        else:
            self.answers_at_freeze = self.n_answers
            self.promises.append(Promise(frozen, float(event["share"]), tuple(event["sizes"])))
            # Its audit also narrows the running estimate, using part of the estimate's alpha.
            self.epochs.append(replace(frozen, alpha=float(event["of_estimate"])))

    def _read_frozen(self, event):
        path = self.folder / Path(str(event["file"])).name
        if not path.is_file() or content_digest(path) != event["content"]:
            raise InputError(
                f"{path} is missing or was changed: the labels that the answers are compared "
                "with. Restore it, or move the folder away to start over."
            )
        with np.load(path, allow_pickle=False) as file:
            rows, labels, confidence = file["rows"], file["labels"], file["confidence"]
        frozen = Frozen(rows, labels, confidence, int(event["n_known"]), float(event["alpha"]))
        self._keep(frozen, event)

    def epoch_is_due(self) -> bool:
        """Whether enough answers were given since the last freeze for a new one."""
        return self.n_answers >= FIRST_EPOCH * EPOCH_GROWTH ** len(self.epochs)

    def estimate(self, present, groups: bool = True) -> Estimate:
        """Bound the error of the current labels.

        Parameters
        ----------
        present : int array of shape (n,)
        groups : bool
            Also by class and by confidence.

        Returns
        -------
        Estimate
            From 0 to 1 before the first audit answer.
        """
        present = np.asarray(present)
        n_open = int(np.sum(self.answers < 0))
        found = Interval(0, n_open, n_open / 2, self.n_rows, 0)
        shown, narrowest = None, np.inf
        for epoch in self.epochs:
            part = epoch.bounds(self.answers, present, epoch.alpha)
            outside = np.ones(self.n_rows, bool)
            outside[epoch.rows] = False
            n_unknown = int(np.sum(outside & (self.answers < 0)))
            part = Interval(part.low, part.high + n_unknown, part.expected + n_unknown / 2,
                            self.n_rows, part.n_drawn)  # fmt: skip
            found = found.meet(part)
            if part.high - part.low <= narrowest:
                shown, narrowest = epoch, part.high - part.low
        classes, bands = {}, {}
        if groups and shown is not None:
            classes, bands = self._groups(present, shown)
        return Estimate(found, classes, bands, self.level, shown)

    def _groups(self, present, last):
        """Bounds by class and by confidence, each kind simultaneous over its groups."""
        labels, used = last.labels, np.unique(last.labels)
        classes = {
            self.classes[c]: last.bounds(self.answers, present, last.alpha / len(used), labels == c)
            for c in used
        }
        # The last band includes its upper bound.
        band = np.clip(np.searchsorted(BANDS, last.confidence, side="right") - 1, 0, len(BANDS) - 2)
        bands = {
            f"{BANDS[b]:g} to {BANDS[b + 1]:g}": last.bounds(
                self.answers, present, last.alpha / (len(BANDS) - 1), band == b
            )
            for b in np.unique(band)
        }
        return classes, bands

    def final_labels(self) -> np.ndarray:
        """Return the labels of the latest promise: frozen ones, and the answers."""
        promise = self.promises[-1]
        labels = np.where(self.answers >= 0, self.answers, UNANSWERED)
        frozen = promise.frozen
        is_open = self.answers[frozen.rows] < 0
        labels[frozen.rows[is_open]] = frozen.labels[is_open]
        return labels

    def doubtful(self, number: int) -> np.ndarray:
        """Return the rows to label by hand if the promise holds for this many sets."""
        promise = self.promises[-1]
        sure = np.zeros(self.n_rows, bool)
        if number:
            sure[promise.frozen.rows[promise.inside(number - 1)]] = True
        return np.flatnonzero(~sure & (self.answers < 0))

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()
