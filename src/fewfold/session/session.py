"""Interactive labeling: which row next, the current labels of all rows, and their error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.labeling.calibration import calibrate, fit_calibration
from fewfold.linalg.laplacian import degrees
from fewfold.session.audit import NOT_SURE, UNANSWERED
from fewfold.session.first_rows import rows_to_label_first
from fewfold.session.live_answer import LiveAnswer
from fewfold.session.promises import PromiseState, promise_state, should_freeze
from fewfold.session.record import Estimate, Record

AUDIT_SHARE = 0.2  # share of audit rows among those offered while the model learns
N_FIRST = 10  # rows to label first where there is no label
CROWDED = 1.0  # penalty of rows whose neighbors are answered
PUT_OFF = 10  # answers until a skipped row is offered again
FRESH = 0.8  # the combination is shown if it was fitted to this share of the labels
AUDIT, MODEL, FIRST = "audit", "model", "first"


@dataclass(frozen=True)
class Suggestion:
    """A row to label.

    Attributes
    ----------
    row : int
    why : {"audit", "model", "first"}
        Drawn at random to measure the error, chosen to teach the model, or typical of the data.
    probability : float
        Probability of offering this row now, given all previous steps.
    label : str or None
        The current label.
    confidence : float
    """

    row: int
    why: str
    probability: float
    label: str | None
    confidence: float


class LabelingSession:
    """Labels of all rows, updated after each answer, with a valid interval of their error.

    Parameters
    ----------
    graph : NeighborGraph
        Of the rows.
    given : int array of shape (n,)
        Class codes, -1 where unlabeled.
    classes : list of str
        Their names, in the order of the codes.
    folder : path-like or None
        Of the journal; None keeps answers in memory.
    promise : float, optional
        Maximum share of wrong labels to be proven.
    level : float
        Confidence of all statements.
    seed : int
        Of the random order of the audit.
    features : array or csr_array of shape (n, d), optional
        Of the rows, for the kernel classifier beside the diffusion.
    responses : ndarray of shape (n, n), optional
        See `fewfold.session.live.LiveDiffusion`.
    digest : str
        Of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fewfold.graph.build import GraphSettings, build_graph
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = build_graph(X.astype("float32"), GraphSettings(symmetrize="mean"))
    >>> session = LabelingSession(graph, np.full(150, -1), ["0", "1", "2"])
    >>> for _ in range(60):
    ...     row = session.suggest().row
    ...     session.answer(row, str(y[row]))
    >>> found = session.estimate()
    >>> labels, _ = session.labels()
    >>> bool(found.low <= np.mean(labels != y) <= found.high)
    True
    """

    def __init__(self, graph, given, classes, *, folder=None, promise=None, level=0.95,
                 seed=0, features=None, responses=None, digest=""):  # fmt: skip
        if promise is not None and not 0 < promise < 0.5:
            raise InputError(f"promise {promise:g}; allowed: a share above 0 and below 0.5.")
        self.record = Record(given, classes, folder=folder, digest=digest, level=level, seed=seed)
        self.graph, self.share = graph, promise
        self.live = LiveAnswer(graph.W, len(self.record.classes), features, responses)
        known = np.flatnonzero(self.record.answers >= 0)
        self.live.start(known, self.record.answers[known])
        total = np.maximum(degrees(graph.W), 1e-300)
        self._steps = sparse.csr_array(sparse.diags_array(1 / total) @ graph.W)
        self._first = None
        self.on_close = lambda: None
        self._offers: dict[int, Suggestion] = {}
        self._combined = None  # labels, confidence, number of labels used to fit
        self._present = self._state = self._fitted = None
        self.costs: list[tuple[int, float]] = []  # (answers, estimated cost of the promise)

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return self.record.classes

    @property
    def n_known(self) -> int:
        """Number of rows with a label or an answer."""
        return int(np.sum(self.record.answers >= 0))

    # Current labels

    @property
    def source(self) -> str:
        """Which labels are shown: "combination" or "live"."""
        return "combination" if self._uses_combination() else "live"

    def _uses_combination(self):
        return self._combined is not None and self._combined[2] >= FRESH * self.n_known

    def set_combination(self, labels, confidence, n_labels: int) -> None:
        """Use labels of the full combination while they are fresh.

        Parameters
        ----------
        labels : int array of shape (n,)
            Class codes.
        confidence : array of shape (n,)
            Probability that each is correct.
        n_labels : int
            Number of labels that the combination was fitted to.
        """
        self._combined = np.asarray(labels, np.int64), np.asarray(confidence, float), int(n_labels)
        self._present = None

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the current labels.

        Returns
        -------
        labels : int ndarray of shape (n,)
            Class codes, -1 where there is none yet.
        confidence : ndarray of shape (n,)
            Probability that each is correct.
        """
        if self._present is None:
            self._present = self._find_labels()
        return self._present

    def _find_labels(self):
        if self._uses_combination():
            label, confidence = self._combined[0].copy(), self._combined[1].copy()
        else:
            proba = self.live.proba()
            label = proba.argmax(axis=1) if proba.shape[1] else np.full(len(proba), UNANSWERED)
            confidence = proba.max(axis=1) if proba.shape[1] else np.zeros(len(proba))
            confidence = calibrate(confidence, *self._calibration())
        answers = self.record.answers
        label[answers >= 0] = answers[answers >= 0]
        confidence[answers >= 0] = 1.0
        return label, confidence

    def _calibration(self):
        """Calibrate confidences on the labels that were shown before each answer."""
        events = [e for e in self.record.answered.values() if e.get("raw") and "class" in e]
        count = len(events) // 5 * 5  # fitted again after every fifth answer
        if self._fitted is None or self._fitted[0] != count:
            used = events[count // 2 : count]  # recent labels only
            right = [e["guess"] == e["class"] for e in used]
            self._fitted = count, fit_calibration([e["raw"] for e in used], right)
        return self._fitted[1]

    # Answers

    def suggest(self, exclude=()) -> Suggestion | None:
        """Return the row to label next; None when all have an answer.

        Parameters
        ----------
        exclude : collection of int
            Rows that are shown to somebody else.

        Returns
        -------
        Suggestion or None
        """
        barred = {*exclude, *self._put_off()}
        found = self._choose(barred) or (self._choose({*exclude}) if barred else None)
        if found is None:
            return None
        row, why, probability = found
        label, confidence = self.labels()
        if why == AUDIT and row not in self.record.offered:
            self.record.offer(row)
        name = self.classes[label[row]] if label[row] >= 0 else None
        offer = Suggestion(row, why, probability, name, float(confidence[row]))
        self._offers[row] = offer
        return offer

    def offer_of(self, row: int) -> Suggestion | None:
        """Return the suggestion of a row that is being shown, with its current label.

        Parameters
        ----------
        row : int
            Counted from 0.

        Returns
        -------
        Suggestion
        """
        before = self._offers.get(row)
        if before is None:
            before = Suggestion(row, "person", 0.0, None, 0.0)
        label, confidence = self.labels()
        name = self.classes[label[row]] if label[row] >= 0 else None
        return replace(before, label=name, confidence=float(confidence[row]))

    def _put_off(self):
        now = self.record.n_answers
        return [row for row, then in self.record.skipped.items() if now < then + PUT_OFF]

    def _choose(self, barred):
        answers = self.record.answers.copy()
        if barred:
            answers[list(barred)] = NOT_SURE
        n_open = int(np.sum(answers == UNANSWERED))
        if not n_open:
            return None
        state = self.promise()
        if state is not None and state.kind == "auditing":
            row = self.record.promises[-1].frozen.next_row(answers, state.inside)
            if row is not None:
                return row, AUDIT, 1 / int(np.sum(state.inside & (answers[
                    self.record.promises[-1].frozen.rows] == UNANSWERED)))  # fmt: skip
        if self.n_known < N_FIRST and not (self.record.given >= 0).any():
            row = self._typical(answers)
            if row is not None:
                return row, FIRST, 1.0
        model, audit = self._model_row(answers), self.record.next_audit(answers)
        coin = np.random.default_rng([self.record.seed, 2, len(self.record.journal.events)])
        is_audit = audit is not None and (model is None or coin.random() < AUDIT_SHARE)
        row = audit if is_audit else model
        if row is None:
            return None
        chance = (1 - AUDIT_SHARE) * (row == model) + AUDIT_SHARE / n_open
        return row, AUDIT if is_audit else MODEL, float(chance)

    def _typical(self, answers):
        if self._first is None:
            self._first = rows_to_label_first(self.graph, N_FIRST, seed=self.record.seed)
        waiting = self._first[answers[self._first] == UNANSWERED]
        return int(waiting[0]) if len(waiting) else None

    def _model_row(self, answers):
        """Return the most informative row for the model; None if no row is left."""
        proba = self.live.proba()
        margin = np.zeros(len(answers))
        if proba.shape[1] > 1:
            top = np.partition(proba, -2, axis=1)[:, -2:]
            margin = top[:, 1] - top[:, 0]
        score = (1 - margin) / (1 + CROWDED * self._near_known())
        score = np.where(answers == UNANSWERED, score, -1.0)
        best = int(np.argmax(score))
        return best if score[best] >= 0 else None

    def _near_known(self):
        """Return the share of a row's neighbors, plus that of their neighbors, with an answer."""
        known = (self.record.answers != UNANSWERED).astype(float)
        once = self._steps @ known
        return once + self._steps @ once

    def answer(self, row: int, name: str | None, *, by: str | None = None) -> None:
        """Store an answer; it is on disk when this returns.

        Parameters
        ----------
        row : int
            Counted from 0.
        name : str or None
            The class; None: not sure.
        by : str, optional
            Name of the person.
        """
        label, confidence = self.labels()
        offer = self._offers.pop(int(row), None)
        notes = {"why": offer.why if offer else "person"}
        if offer is not None:
            notes["probability"] = offer.probability
        if (
            0 <= int(row) < len(label)
            and self.record.answers[row] == UNANSWERED
            and label[row] >= 0
        ):
            notes |= {"guess": self.classes[label[row]], "confidence": float(confidence[row])}
            if not self._uses_combination():
                notes["raw"] = float(self.live.proba()[row].max())
        if by:
            notes["by"] = by
        self.record.put(row, name, **notes)
        self._follow(int(row))
        self._after_answer()

    def _follow(self, row):
        """Update the live labels with the answer of a row."""
        while self.live.diffusion.n_classes < len(self.classes):
            self.live.add_class()
        code = self.record.answers[row]
        if code >= 0:
            self.live.add(row, int(code))
        elif self.live.diffusion.knows(row):
            self.live.remove(row)
        self._present = None

    def _after_answer(self):
        if self.record.epoch_is_due() and len(self.classes) > 1:
            self.record.freeze(*self.labels())
        if self.share is not None and self.promise().kind == "learning" and should_freeze(self):
            self.freeze()

    def add_class(self, name: str) -> None:
        """Add a class.

        Parameters
        ----------
        name : str
        """
        self.record.add_class(name)
        self.live.add_class()
        self._present = None

    def undo(self) -> int | None:
        """Undo the latest answer.

        Returns
        -------
        int or None
            Its row; None if there was no answer.
        """
        row = self.record.undo()
        if row is not None:
            self._follow(row)
        return row

    def skip(self, row: int) -> None:
        """Skip a row; it is offered again after ten answers.

        Parameters
        ----------
        row : int
            Counted from 0.
        """
        self._offers.pop(row, None)
        self.record.skip(row)

    def flag(self, row: int, on: bool = True) -> None:
        """Flag a row for later review, or remove the flag.

        Parameters
        ----------
        row : int
            Counted from 0.
        on : bool
            False removes the flag.
        """
        self.record.flag(row, on)

    def merge(self, path) -> tuple[int, list[tuple[int, str, str]]]:
        """Import another person's answers.

        Parameters
        ----------
        path : path-like
            Their journal.

        Returns
        -------
        count : int
            Answers that were added.
        disagreements : list of (row, own class, other class)
        """
        found = self.record.merge(path)
        for row in np.flatnonzero(self.record.answers >= 0):
            if not self.live.diffusion.knows(int(row)):
                self._follow(int(row))
        return found

    # Error of the labels

    def estimate(self, groups: bool = True) -> Estimate:
        """Return the error of the current labels with bounds that are valid at any time.

        Parameters
        ----------
        groups : bool
            Also by class and by confidence.

        Returns
        -------
        Estimate
        """
        return self.record.estimate(self.labels()[0], groups)

    def freeze(self) -> None:
        """Freeze the labels for the audit of the promise; later answers can prove it."""
        if self.share is None:
            raise InputError("There is no promise to keep. Give one: promise=0.02.")
        self.record.freeze(*self.labels(), share=self.share)
        self.costs.clear()

    def promise(self) -> PromiseState | None:
        """Return the status of the promise.

        Returns
        -------
        PromiseState or None
            None without a promise.
        """
        if self.share is None:
            return None
        now = len(self.record.journal.events)
        if self._state is None or self._state[0] != now:
            self._state = now, promise_state(self.record, self.share)
        return self._state[1]

    def because(self, row: int, most: int = 3) -> list[dict]:
        """Return the labels with the largest contributions to a row's current label.

        Their shares are those in the live answer, also where the combination of all candidates
        is shown; see `fewfold.session.live_answer.LiveAnswer.shares`.

        Parameters
        ----------
        row : int
            Counted from 0.
        most : int
            Labels returned at most.

        Returns
        -------
        list of dict
            ``row``, ``label`` and ``share`` of each, the largest share first.
        """
        code = int(self.labels()[0][row])
        if code < 0 or not self.live.diffusion.n_labels:
            return []
        self.live.proba()  # updates the model with the latest answers
        answers, parts = self.record.answers, self.live.shares(row, code)
        return [
            {"row": r, "label": self.classes[answers[r]], "share": part} for r, part in parts[:most]
        ]

    def close(self) -> None:
        """Close the journal, and release its folder."""
        self.record.close()
        self.on_close()
