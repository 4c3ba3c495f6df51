"""What the page shows and what its buttons do, one request at a time."""

from __future__ import annotations

import threading
import time

import numpy as np

from fewfold.exceptions import InputError
from fewfold.session.audit import UNANSWERED
from fewfold.session.opening import Opened
from fewfold.session.writing import write_answers

DOUBTFUL = 0.8  # confidence below which a row counts as in doubt
LEASE_S = 600  # a row shown in one tab is not offered to another for this long
MOST_SHOWN = 2000


class Desk:
    """A session as the page sees it; safe to use from several threads and tabs.

    Parameters
    ----------
    opened : Opened
    background : Background or None
        Makes the heavier combination.
    """

    def __init__(self, opened: Opened, background=None):
        self.opened, self.session, self.views = opened, opened.session, opened.views
        self.background = background
        self.version = 0
        self.is_closing = False
        self._lock = threading.RLock()
        self._leases: dict[str, tuple[int, float]] = {}
        self._estimate = None

    def close(self) -> None:
        """Stop background work."""
        self.is_closing = True
        if self.background is not None:
            self.background.close()

    def positions(self) -> dict:
        """Return the map: rows and their places, from 0 to 1."""
        prepared = self.opened.prepared
        places = np.asarray(prepared.positions, dtype=float)[:MOST_SHOWN]
        low, span = places.min(axis=0), np.ptp(places, axis=0)
        places = (places - low) / np.where(span > 0, span, 1)
        return {"rows": prepared.shown[:MOST_SHOWN].tolist(), "places": places.round(4).tolist()}

    def state(self, tab: str) -> dict:
        """Return the state that the page shows."""
        with self._lock:
            self._take_combination()
            offer = self._offer(tab)
            session, record = self.session, self.session.record
            labels, confidence = session.labels()
            is_open = record.answers == UNANSWERED
            counts = np.bincount(labels[labels >= 0], minlength=len(session.classes))
            given = np.bincount(record.answers[record.answers >= 0], minlength=len(session.classes))
            shown = self.opened.prepared.shown[:MOST_SHOWN]
            state = session.promise()
            return {
                "version": self.version,
                "file": self.opened.path.name,
                "target": self.opened.target or "label",
                "rows": record.n_rows,
                "answers": record.n_answers,
                "known": session.n_known,
                "classes": [
                    {"name": name, "given": int(g), "found": int(c)}
                    for name, g, c in zip(session.classes, given, counts)
                ],
                "source": session.source,
                "weights": session.live.weights,
                "refreshing": self.background is not None and self.background.is_running,
                "estimate": self._estimates(),
                "in_doubt": int(np.sum(is_open & (confidence < DOUBTFUL))),
                "promise": None if state is None else _promise(state),
                "row": None if offer is None else self._row(offer),
                "map": labels[shown].tolist(),
                "answered": np.flatnonzero(record.answers[shown] >= 0).tolist(),
                "flagged": len(record.flagged),
            }

    def _estimates(self):
        if self._estimate is None or self._estimate[0] != self.version:
            found = self.session.estimate()

            def bounds(interval):
                n = max(interval.n_rows, 1)
                return {"low": interval.low / n, "high": interval.high / n, "rows": interval.n_rows,
                        "drawn": interval.n_drawn}  # fmt: skip

            self._estimate = (
                self.version,
                {
                    "error": found.error,
                    **bounds(found.all),
                    "level": found.level,
                    "classes": {name: bounds(part) for name, part in found.classes.items()},
                    "bands": {name: bounds(part) for name, part in found.bands.items()},
                },
            )
        return self._estimate[1]

    def _offer(self, tab):
        now = time.monotonic()
        self._leases = {t: v for t, v in self._leases.items() if now - v[1] < LEASE_S}
        held = self._leases.get(tab)
        record = self.session.record
        if held is not None and record.answers[held[0]] == UNANSWERED:
            offer = self.session.offer_of(held[0])
            if offer is not None:
                return offer
        others = [row for t, (row, _) in self._leases.items() if t != tab]
        offer = self.session.suggest(exclude=others)
        if offer is not None:
            self._leases[tab] = offer.row, now
        return offer

    def _row(self, offer):
        is_audit = offer.why == "audit"
        because = [] if is_audit else self.session.because(offer.row)
        return {
            "row": offer.row,
            "name": self.views.name(offer.row),
            "why": offer.why,
            "image": self.views.has_images,
            "fields": self.views.fields(offer.row),
            # Seeing the prediction biases a person toward it; the audit must be blind.
            "label": None if is_audit else offer.label,
            "confidence": None if is_audit else offer.confidence,
            "because": [{**part, "name": self.views.name(part["row"])} for part in because],
            "flagged": offer.row in self.session.record.flagged,
        }

    def act(self, what: str, given: dict) -> dict:
        """Perform the action of a button; return the page's new state.

        Parameters
        ----------
        what : {"answer", "skip", "undo", "class", "flag", "freeze", "write"}
        given : dict
            ``tab``; ``row`` and ``class`` (None: not sure), ``name``, ``on``.
        """
        actions = {"answer": self._answer, "skip": self._skip, "undo": self._undo,
                   "class": self._class, "flag": self._flag, "freeze": self._freeze,
                   "write": self._write}  # fmt: skip
        if what not in actions:
            raise InputError(f"{what!r} is not something the page can do.")
        tab = str(given.get("tab", ""))[:40]
        with self._lock:
            said = actions[what](tab, given)
            self.version += 1
            if self.background is not None:
                self.background.consider()
            return {**self.state(tab), "said": said}

    def _row_of(self, given):
        return self.session.record.check_row(given.get("row"))

    def _answer(self, tab, given):
        row, name = self._row_of(given), given.get("class")
        if name is not None and not isinstance(name, str):
            raise InputError("A class is given by its name.")
        if self.session.record.answers[row] != UNANSWERED:
            self._leases.pop(tab, None)
            return f"{self.views.name(row)} was answered in another tab"
        guess = self.session.labels()[0][row]
        self.session.answer(row, name)
        self._leases.pop(tab, None)
        if name is None:
            return "not sure"
        agreed = guess >= 0 and self.session.classes[guess] == name
        return f"{name}" + ("" if agreed or guess < 0 else f"; the model said "
                            f"{self.session.classes[guess]}")  # fmt: skip

    def _skip(self, tab, given):
        self.session.skip(self._row_of(given))
        self._leases.pop(tab, None)
        return "skipped; it will be offered again later"

    def _undo(self, tab, given):
        row = self.session.undo()
        if row is None:
            return "nothing to undo"
        self._leases[tab] = row, time.monotonic()
        return f"the answer to {self.views.name(row)} was undone"

    def _class(self, tab, given):
        self.session.add_class(str(given.get("name", ""))[:1000])
        return f"new class {self.session.classes[-1]}"

    def _flag(self, tab, given):
        self.session.flag(self._row_of(given), bool(given.get("on", True)))
        return "flagged" if given.get("on", True) else "flag removed"

    def _freeze(self, tab, given):
        self.session.freeze()
        return "labels are fixed; random rows follow"

    def _write(self, tab, given):
        return "written: " + ", ".join(path.name for path in write_answers(self.opened))

    def _take_combination(self):
        if self.background is not None and self.background.take():
            self.version += 1


def _promise(state):
    return {
        "kind": state.kind,
        "words": state.words(),
        "share": state.share,
        "level": state.level,
        "left": state.answers_left,
        "doubtful": None if state.doubtful is None else len(state.doubtful),
        "proven": state.n_proven,
        "sets": state.n_sets,
    }
