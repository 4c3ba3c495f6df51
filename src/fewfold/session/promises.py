"""Status of a promise, when to freeze the labels for its audit, and its summary in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from fewfold.session.audit import UNANSWERED
from fewfold.session.record import FIRST_PROMISE, Record
from fewfold.session.sequences import answers_expected
from fewfold.system.wording import counted

MOST_FREEZES = 4  # each gets a smaller part of alpha than the one before
LEARN_AGAIN = 20  # answers before labels are frozen again
STEP_EVERY = 5  # answers between decisions on what to ask
FIRST_LOOK, LOOK_EVERY, PATIENCE = 30, 10, 30  # answers
MORE_PATIENCE = 0.25  # patience as a share of the promise's cost, if that is larger
PARTS = (1.0, 0.99, 0.97, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.35, 0.2)


@dataclass(frozen=True)
class PromiseState:
    """Status of a promise.

    Attributes
    ----------
    kind : {"learning", "auditing", "kept", "person", "not reachable"}
    share, level : float
        At most this share of the labels is wrong, at this confidence.
    n_rows : int
    answers_left : int or None
        Expected number of answers until the next step.
    doubtful : int array
        Rows to be labeled by hand, if the promise ends here.
    n_proven, n_sets : int
        For how many of the nested sets of rows it is proven.
    inside : bool array or None
        Which rows of the audit are being asked for.
    confused : tuple of (str, str) or None
    """

    kind: str
    share: float
    level: float
    n_rows: int
    answers_left: int | None = None
    doubtful: np.ndarray | None = None
    n_proven: int = 0
    n_sets: int = 0
    inside: np.ndarray | None = None
    confused: tuple | None = None

    def words(self) -> str:
        """Return the status as a sentence."""
        share, level = f"{100 * self.share:g} %", f"{100 * self.level:g} % confidence"
        if self.kind == "kept":
            return f"kept: the error of all {self.n_rows} labels is at most {share} with {level}"
        if self.kind == "person":
            return (
                f"{counted(len(self.doubtful), 'row', 'needs', 'need')} a person; of the other "
                f"{self.n_rows - len(self.doubtful)} labels at most {share} are wrong, with {level}"
            )
        if self.kind == "not reachable":
            most = f"; most errors are between {self.confused[0]} and {self.confused[1]}" if (
                self.confused) else ""  # fmt: skip
            return f"not reachable with this data{most}"
        if self.kind == "auditing":
            return f"about {self.answers_left} more answers to random rows are expected to prove it"
        return "the model is still learning; random rows to prove it come later"


def promise_state(record: Record, share: float) -> PromiseState:
    """Return the status of a promise.

    The latest frozen labels count. They are abandoned when no number of answers would prove even
    their most confident part; then the model learns from more labels before a new freeze.
    """
    base = {"share": share, "level": record.level, "n_rows": record.n_rows}
    confused = _most_confused(record)
    if not np.any(record.answers == UNANSWERED) and not np.any(record.answers < 0):
        return PromiseState("kept", **base, doubtful=np.empty(0, np.int64))
    if not record.promises:
        return PromiseState("learning", **base, confused=confused)
    promise = record.promises[-1]
    proven, n_sets = promise.n_kept(record.answers), len(promise.sizes)
    doubtful = record.doubtful(proven)
    base |= {"n_proven": proven, "n_sets": n_sets, "doubtful": doubtful, "confused": confused}
    if proven == n_sets:
        # Rows answered "not sure" before the freeze are outside of the promise.
        outside = np.setdiff1d(doubtful, promise.frozen.rows)
        kind = "person" if len(outside) else "kept"
        return PromiseState(kind, **{**base, "doubtful": outside})
    step = _step(record, promise, proven)
    if step is not None:
        number, left, _ = step
        inside = promise.inside(number)
        return PromiseState("auditing", **base, answers_left=left, inside=inside)
    if proven:
        return PromiseState("person", **base)
    since = len(record.answered) - record.answers_at_freeze
    if len(record.promises) >= MOST_FREEZES:
        return PromiseState("not reachable", **base)
    return PromiseState("learning", **base, answers_left=max(0, LEARN_AGAIN - since))


def _step(record, promise, proven):
    """Return what to ask next; updated after every fifth answer and after each proof."""
    key = len(record.promises), proven, record.n_answers // STEP_EVERY
    if record.last_step[0] != key:
        record.last_step = key, promise.next_step(record.answers, proven)
    return record.last_step[1]


def _most_confused(record):
    pairs = Counter(
        tuple(sorted((e["class"], e["guess"])))
        for e in record.answered.values()
        if "class" in e and e.get("guess") not in (None, e["class"])
    )
    return pairs.most_common(1)[0][0] if pairs else None


def cost_of_promise(n_known: int, confidence, share: float, alpha: float) -> int:
    """Return the answers that a promise costs now: of the audit, and of rows left to a person.

    Parameters
    ----------
    n_known : int
        Rows that have an answer.
    confidence : array
        Of the rows without one.

    Examples
    --------
    >>> cost_of_promise(50, np.full(5000, 0.999), 0.02, 0.05) < 300
    True
    """
    sure = np.sort(confidence)[::-1]
    expected, n = np.cumsum(1 - sure), len(sure)
    best = n
    for part in PARTS:
        size = int(round(part * n))
        if size == 0 or n - size >= best:
            continue
        allowed = int(share * (n_known + size))
        needed = answers_expected(size, allowed, expected[size - 1] / size, alpha)
        if needed is not None:
            best = min(best, needed + n - size)
    return best


def should_freeze(session) -> bool:
    """Whether more labels no longer lower the promise's total cost."""
    record = session.record
    n = record.n_answers
    again = record.promises and n - record.answers_at_freeze < LEARN_AGAIN
    if n < FIRST_LOOK or n % LOOK_EVERY or again:
        return False
    _, confidence = session.labels()
    is_open = record.answers == UNANSWERED
    alpha = (1 - record.level) * FIRST_PROMISE
    cost = cost_of_promise(session.n_known, confidence[is_open], session.share, alpha)
    session.costs.append((n, cost + n))
    best = min(session.costs, key=lambda look: look[1])
    # The expected error is itself an estimate, so several checks must show no gain. Where many
    # rows would be left to a person, more labels are cheap in comparison.
    return n - best[0] >= max(PATIENCE, MORE_PATIENCE * cost)
