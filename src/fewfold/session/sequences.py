"""Anytime-valid bounds on the number of wrong labels among some rows.

Rows are drawn at random without replacement from R rows, K of them labeled wrong. After n draws
with k wrong ones, the probability of exactly this sequence is C(R - n, K - k) / C(R, K). For the
true K, the ratio to it of a mixture of these probabilities over other K is a nonnegative
martingale that starts at 1, and ever exceeds 1 / alpha with probability at most alpha (Ville).
This is betting on a bounded mean without replacement (Waudby-Smith & Ramdas 2024, Section 5) in
its exact form for outcomes 0 and 1, where bets are likelihood ratios (the same, 2020).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

# The mixture of the intervals: Beta(1/2, 4), most of it on shares below a quarter. Any choice is
# valid; this one is near the narrowest for shares of 0.5 to 10 %.
_PRIOR = (0.5, 4.0)
# The mixture of a promise, in equal parts: wrong rows as a share of one more than is allowed.
_GRID = (np.arange(40) / 40) ** 2
MOST_DRAWS = 5000  # horizon of expected draws
_LOOKS = 1.2  # intervals are intersected at numbers of draws that grow by this factor


@lru_cache(maxsize=8)
def _table(size):
    return gammaln(np.arange(size) + 1.0)


def _log_choose(n, k, table):
    """Return log C(n, k), -inf where k is not from 0 to n."""
    n, k = np.broadcast_arrays(n, k)
    fits = (k >= 0) & (k <= n)
    k = np.where(fits, k, 0)
    n = np.maximum(n, 0)
    return np.where(fits, table[n] - table[k] - table[n - k], -np.inf)


def log_likelihood(n_rows: int, n_wrong, seen, wrong_seen) -> np.ndarray:
    """Return the log probability of a sequence of draws, given the number of wrong rows.

    Parameters
    ----------
    n_rows : int
    n_wrong, seen, wrong_seen : int or int arrays that broadcast

    Examples
    --------
    >>> round(float(np.exp(log_likelihood(4, 2, 1, 1))), 6)  # half of four rows are wrong
    0.5
    """
    table = _table(2 ** int(np.ceil(np.log2(n_rows + 2))))
    n_wrong, seen, wrong_seen = np.asarray(n_wrong), np.asarray(seen), np.asarray(wrong_seen)
    top = _log_choose(n_rows - seen, n_wrong - wrong_seen, table)
    with np.errstate(invalid="ignore"):
        return top - _log_choose(np.int64(n_rows), n_wrong, table)


def wrong_bounds(n_rows: int, outcomes, alpha: float) -> tuple[int, int]:
    """Bound the number of wrong rows after some draws.

    Parameters
    ----------
    n_rows : int
        Rows that are drawn from.
    outcomes : bool array of shape (n,)
        Whether each drawn row was wrong, in the order of the draws.
    alpha : float
        Probability with which any of the intervals after 0, 1, 2, ... draws misses the number.

    Returns
    -------
    low, high : int

    Examples
    --------
    >>> low, high = wrong_bounds(1000, np.zeros(300, bool), 0.05)
    >>> low, high < 25
    (0, True)
    """
    outcomes = np.asarray(outcomes, dtype=bool)
    return _bounds(int(n_rows), outcomes.tobytes(), float(alpha))


@lru_cache(maxsize=4096)
def _bounds(n_rows, outcomes, alpha):
    n = len(outcomes)
    total = np.concatenate([[0], np.cumsum(np.frombuffer(outcomes, dtype=bool))]).astype(np.int64)
    # The intervals hold simultaneously at all times, so they may be intersected. The times
    # do not depend on n, except for the last: more draws never widen the interval by much.
    looks = np.unique(np.floor(_LOOKS ** np.arange(np.log(max(n, 2)) / np.log(_LOOKS))))
    seen = np.append(looks[looks < n], n).astype(np.int64)
    wrong = total[seen]
    a, b = _PRIOR
    mixed = betaln(a + wrong, b + seen - wrong) - betaln(a, b)
    least = mixed + np.log(alpha)  # likelihoods below this are too small

    def fits(n_wrong):
        return log_likelihood(n_rows, n_wrong, seen, wrong) > least

    # The likelihood is log-concave in the number of wrong rows: what fits is an interval
    # around its largest value.
    best = np.clip(((n_rows + 1) * wrong) // np.maximum(seen, 1), wrong, n_rows - seen + wrong)
    high = _last(fits, best, n_rows - seen + wrong)
    low = -_last(lambda minus: fits(-minus), -best, -wrong)
    return int(low.max()), int(high.min())


def _last(fits, start, stop):
    """Return, for each time, the last number from start to stop that fits, by bisection."""
    inside, outside = start.copy(), stop + 1
    while np.any(outside - inside > 1):
        middle = (inside + outside) // 2
        good = fits(middle)
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    return inside


def log_evidence(n_rows: int, allowed: int, seen, wrong) -> np.ndarray:
    """Return the evidence that at most ``allowed`` rows are wrong, after numbers of draws.

    If more are wrong, its largest value ever is above log(1 / alpha) with probability at most
    alpha: each ratio is a bet on fewer wrong rows than ``allowed + 1``, unfair to the bettor for
    any larger number too.

    Parameters
    ----------
    n_rows, allowed : int
    seen, wrong : int arrays of shape (m,)
        Draws, and wrong ones among them.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> found = log_evidence(10_000, 200, np.array([150, 200]), np.zeros(2, int))
    >>> bool(found[0] < np.log(20) < found[1])
    True
    """
    seen, wrong = np.asarray(seen, np.int64)[:, None], np.asarray(wrong, np.int64)[:, None]
    if allowed >= n_rows:
        return np.full(len(seen), np.inf)
    fewer, parts = np.unique(np.floor(_GRID * (allowed + 1)).astype(np.int64), return_counts=True)
    top = log_likelihood(n_rows, fewer, seen, wrong)
    bottom = log_likelihood(n_rows, allowed + 1, seen, wrong)[:, 0]
    with np.errstate(invalid="ignore"):
        found = logsumexp(top + np.log(parts / parts.sum()), axis=1) - bottom
    # More wrong rows than allowed were drawn: no bet on fewer is left.
    found[wrong[:, 0] > allowed] = -np.inf
    return found


@lru_cache(maxsize=4096)
def _largest_evidence(n_rows, allowed, outcomes):
    total = np.concatenate([[0], np.cumsum(np.frombuffer(outcomes, dtype=bool))])
    return float(log_evidence(n_rows, allowed, np.arange(len(total)), total).max())


def largest_evidence(n_rows: int, allowed: int, outcomes) -> float:
    """Return the largest evidence after any number of draws, see `log_evidence`."""
    outcomes = np.asarray(outcomes, dtype=bool)
    return _largest_evidence(int(n_rows), int(allowed), outcomes.tobytes())


def answers_expected(n_rows, allowed, share, alpha, seen=0, wrong=0) -> int | None:
    """Return the expected draws that prove a promise if this share of the rows is wrong.

    Parameters
    ----------
    n_rows, allowed : int
    share : float
        Of wrong rows among those not drawn yet.
    alpha : float
    seen, wrong : int
        Draws so far.

    Returns
    -------
    int or None
        None where the share is too near to what is allowed, or above.

    Examples
    --------
    >>> answers_expected(10_000, 200, 0.0, 0.05) < answers_expected(10_000, 200, 0.01, 0.05)
    True
    >>> answers_expected(10_000, 200, 0.03, 0.05) is None
    True
    """
    most = min(n_rows - seen, MOST_DRAWS)
    more = np.unique(np.append(np.geomspace(1, max(most, 1), 48), most).astype(np.int64))
    more = np.concatenate([[0], more[more <= most]])
    # Wrong rows are drawn evenly: the path of the mean.
    path = wrong + np.floor(more * share + 0.5).astype(np.int64)
    found = log_evidence(n_rows, allowed, seen + more, path) >= np.log(1 / alpha)
    return int(more[np.argmax(found)]) if found.any() else None
