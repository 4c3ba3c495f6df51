"""Labels as they stood at one moment, and what a random audit says about them since.

The rows without an answer at that moment are put into a random order, drawn after the labels were
fixed. Among any of these rows chosen by their labels or confidences then, the first ones of the
order are a sample drawn at random without replacement, however it was decided when to ask for
which row and when to stop: a bound on a sequence of draws (`fewfold.session.sequences`) is about
the order and the labels, both fixed. So rows answered for other reasons count too, when their turn
in the order comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fewfold.labeling.calibration import calibrate, fit_calibration
from fewfold.session.sequences import answers_expected, largest_evidence, wrong_bounds

UNANSWERED, NOT_SURE = -1, -2
BANDS = (0.0, 0.5, 0.8, 0.95, 1.0)  # bounds of confidence; each band has its own estimate
N_EXPLORED = 80  # audited rows, drawn from all rows, before a subset is chosen
N_STEPS = 7  # nested sets of rows, from the most confident ones to all
LEAST_FIRST, MOST_FIRST = 0.3, 0.6  # limits of the first set, as shares of the rows


@dataclass(frozen=True)
class Frozen:
    """Labels fixed at one moment for an audit.

    Attributes
    ----------
    rows : int array of shape (r,)
        The rows without an answer then, in random order.
    labels : int array of shape (r,)
    confidence : array of shape (r,)
    n_known : int
        Rows with an answer then; their labels count as correct.
    alpha : float
        Probability with which a statement about these labels may be wrong.
    """

    rows: np.ndarray
    labels: np.ndarray
    confidence: np.ndarray
    n_known: int
    alpha: float

    @cached_property
    def place(self) -> np.ndarray:
        """Rank of each row by confidence, 0 for the most confident."""
        order = np.argsort(-self.confidence, kind="stable")
        found = np.empty(len(order), np.int64)
        found[order] = np.arange(len(order))
        return found

    def next_row(self, answers, inside=None) -> int | None:
        """Return the first unanswered row of the order, optionally within a subset."""
        waiting = answers[self.rows] == UNANSWERED
        if inside is not None:
            waiting &= inside
        found = np.flatnonzero(waiting)
        return int(self.rows[found[0]]) if len(found) else None

    def outcomes(self, answers, inside=None) -> tuple[np.ndarray, np.ndarray]:
        """Return which draws were wrong, with unsure answers counted as wrong and as right."""
        given = answers[self.rows]
        wrong = given != self.labels
        if inside is not None:
            given, wrong = given[inside], wrong[inside]
        waiting = np.flatnonzero(given == UNANSWERED)
        n_drawn = waiting[0] if len(waiting) else len(given)
        given, wrong = given[:n_drawn], wrong[:n_drawn]
        return wrong, wrong & (given != NOT_SURE)

    def bounds(self, answers, present, alpha: float, inside=None) -> Interval:
        """Bound the number of wrong current labels among rows of the audit.

        Parameters
        ----------
        answers, present : int arrays of shape (n_rows,)
            Answers so far, and the current labels.
        alpha : float
        inside : bool array of shape (r,), optional

        Notes
        -----
        A label that changed since counts as wrong in the upper and as right in the lower bound;
        a row someone was not sure of likewise. Answered rows are right.
        """
        inside = np.ones(len(self.rows), bool) if inside is None else inside
        rows, labels = self.rows[inside], self.labels[inside]
        given = answers[rows]
        n_fixed = int(np.sum((given >= 0) & (given != labels)))
        n_changed = int(np.sum((given == UNANSWERED) & (present[rows] != labels)))
        unsure_wrong, unsure_right = self.outcomes(answers, inside)
        # Half of alpha for each side: the two bounds are about different counts.
        high = wrong_bounds(len(rows), unsure_wrong, alpha / 2)[1]
        low = wrong_bounds(len(rows), unsure_right, alpha / 2)[0]
        n_open = int(np.sum(given < 0))
        share = (unsure_wrong.sum() + 0.5) / (len(unsure_wrong) + 4.5)
        return Interval(
            low=int(np.clip(low - n_fixed - n_changed, 0, n_open)),
            high=int(np.clip(high - n_fixed + n_changed, 0, n_open)),
            expected=float(share * n_open),
            n_rows=len(rows),
            n_drawn=len(unsure_wrong),
        )


@dataclass(frozen=True)
class Interval:
    """Lower bound, upper bound and estimate of the number of wrong labels; rows; draws."""

    low: int
    high: int
    expected: float
    n_rows: int
    n_drawn: int

    def meet(self, other: Interval) -> Interval:
        """Return the intersection; both intervals hold simultaneously."""
        best = self if self.high - self.low <= other.high - other.low else other
        low, high = max(self.low, other.low), min(self.high, other.high)
        high = max(high, low)
        return Interval(low, high, float(np.clip(best.expected, low, high)), best.n_rows,
                        best.n_drawn)  # fmt: skip


@dataclass(frozen=True)
class Promise:
    """A bound on the error of frozen labels, tested on nested sets of confident rows.

    The null hypothesis of a set: more than ``share`` of the labels outside of the doubtful rows
    are wrong. Hypotheses are tested in this order and each only after all before it were
    rejected, so all are tested at the full ``alpha`` of the frozen labels: a wrong claim needs
    the rejection of the first true one.

    Attributes
    ----------
    frozen : Frozen
    share : float
        Allowed share of wrong labels.
    sizes : tuple of int
        Sizes of the nested sets of most confident rows; the last holds all rows.
    """

    frozen: Frozen
    share: float
    sizes: tuple

    @classmethod
    def plan(cls, frozen: Frozen, share: float) -> Promise:
        """Choose the sets.

        The first has an expected error of half of what is allowed, but at least 30 and at most 60 %
        of the rows: while all rows are audited, larger sets then need more answers than it.
        """
        n = len(frozen.rows)
        expected = np.cumsum(1 - np.sort(frozen.confidence)[::-1])
        fits = np.flatnonzero(expected <= share / 2 * (frozen.n_known + 1 + np.arange(n)))
        first = int(fits[-1]) + 1 if len(fits) else 0
        first = int(np.clip(first, np.ceil(LEAST_FIRST * n), np.ceil(MOST_FIRST * n)))
        sizes = np.unique(np.linspace(first, n, N_STEPS).round().astype(int))
        return cls(frozen, share, tuple(int(s) for s in sizes))

    def inside(self, number: int) -> np.ndarray:
        """Return a mask of the audit's rows that are in a set."""
        return self.frozen.place < self.sizes[number]

    def allowed(self, number: int) -> int:
        """Return how many labels of a set may be wrong."""
        return int(np.floor(self.share * (self.frozen.n_known + self.sizes[number]) + 1e-9))

    def n_kept(self, answers) -> int:
        """Return for how many sets, from the first, the answers prove the promise."""
        needed = np.log(1 / self.frozen.alpha)
        for number in range(len(self.sizes)):
            outcomes, _ = self.frozen.outcomes(answers, self.inside(number))
            found = largest_evidence(self.sizes[number], self.allowed(number), outcomes)
            if found < needed:
                return number
        return len(self.sizes)

    def next_step(self, answers, proven: int) -> tuple[int, int, int] | None:
        """Return the set to prove next, the expected answers, and the rows outside of it.

        Minimizes answers plus rows left for manual labeling; all rows, until
        enough are audited. None if labeling all unproven rows by hand costs no more. The
        estimates decide which rows are asked for, not what is claimed.
        """
        n_drawn = len(self.frozen.outcomes(answers)[0])
        if n_drawn < min(N_EXPLORED, len(self.frozen.rows)):
            number, n = len(self.sizes) - 1, len(self.frozen.rows)
            share = float(np.mean(self._chance_wrong(answers)))
            left = answers_expected(n, self.allowed(number), share, self.frozen.alpha)
            return number, max(N_EXPLORED, left or 0) - n_drawn, 0
        chance = self._chance_wrong(answers)
        frozen, best, most = self.frozen, None, 0.0
        is_open = answers[frozen.rows] < 0
        inside = self.inside(proven - 1) if proven else np.zeros(len(is_open), bool)
        cost = int(np.sum(is_open & ~inside))
        for number in range(proven, len(self.sizes)):
            inside = self.inside(number)
            outcomes, _ = frozen.outcomes(answers, inside)
            n, waiting = self.sizes[number], inside & is_open
            share = float(chance[waiting].mean()) if waiting.any() else 0.0
            left = answers_expected(n, self.allowed(number), share, frozen.alpha,
                                    len(outcomes), int(outcomes.sum()))  # fmt: skip
            if left is None:
                continue
            # Draws from this set also fall into a smaller one, in proportion to its size.
            most = max(most * n / self.sizes[max(number - 1, 0)], left)
            n_left = int(np.sum(is_open & ~inside))
            if most + n_left < cost:
                best, cost = (number, int(np.ceil(most)), n_left), most + n_left
        return best

    def _chance_wrong(self, answers):
        """Return the recalibrated probability that each label is wrong."""
        given = answers[self.frozen.rows]
        known = np.flatnonzero(given >= 0)
        known = known[: len(known) // 5 * 5]  # every fifth answer
        right = given[known] == self.frozen.labels[known]
        fitted = _fitted(self.frozen.confidence[known].tobytes(), right.tobytes())
        return 1 - calibrate(self.frozen.confidence, *fitted)


@lru_cache(maxsize=256)
def _fitted(confidence, right):
    return fit_calibration(np.frombuffer(confidence), np.frombuffer(right, dtype=bool))
