"""Folds of a cross-validation, dealt several times where samples are few."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError


def fold_of(n_samples: int, n_folds: int, rng) -> np.ndarray:
    """Deal samples to folds of equal size at random.

    Parameters
    ----------
    n_samples, n_folds : int
    rng : RandomState

    Returns
    -------
    fold : ndarray of shape (n_samples,), int

    Examples
    --------
    >>> from sklearn.utils import check_random_state
    >>> np.bincount(fold_of(7, 3, check_random_state(0))).tolist()
    [3, 2, 2]
    """
    return rng.permutation(n_samples) % n_folds


def repeats_for(n_samples: int, n_repeats: int | str = "auto") -> int:
    """How often to deal the folds: with a dozen samples one deal decides little.

    Parameters
    ----------
    n_samples : int
    n_repeats : int or "auto"
        "auto" holds out about a hundred samples in all: ten deals of 10, one from 100 on.

    Returns
    -------
    n_repeats : int

    Examples
    --------
    >>> [repeats_for(n) for n in (5, 12, 20, 640)], repeats_for(20, 2)
    ([10, 9, 5, 1], 2)
    """
    if n_repeats == "auto":
        return int(np.clip(np.ceil(100 / n_samples), 1, 10))
    if isinstance(n_repeats, (str, bool)) or int(n_repeats) != n_repeats or n_repeats < 1:
        raise InputError(
            f"n_repeats={n_repeats!r} is not allowed. Give 'auto' or a whole number of at least 1."
        )
    return int(n_repeats)


def deal_folds(n_samples: int, n_folds: int, n_repeats: int | str, rng) -> list[np.ndarray]:
    """Deal samples to folds, several times where they are few.

    Parameters
    ----------
    n_samples, n_folds : int
        With at most as many samples as folds each is left out once, and once is enough.
    n_repeats : int or "auto"
        See :func:`repeats_for`.
    rng : RandomState

    Returns
    -------
    folds : list of ndarray of shape (n_samples,), int

    Examples
    --------
    >>> from sklearn.utils import check_random_state
    >>> len(deal_folds(20, 5, "auto", check_random_state(0)))
    5
    """
    repeats = repeats_for(n_samples, n_repeats)
    if n_samples <= n_folds:
        return [np.arange(n_samples)]
    return [fold_of(n_samples, n_folds, rng) for _ in range(repeats)]
