"""Folds of a cross-validation over few labeled rows."""

from __future__ import annotations

import warnings

import numpy as np

N_FOLDS = 5


def stratified_folds(targets, seed: int, n_folds: int = N_FOLDS, *, rare: str = "refuse"):
    """Return stratified folds of the labeled points, or None if they are too few.

    Parameters
    ----------
    targets : array of shape (n,)
        Classes.
    seed : int
    n_folds : int
        At most; never more than a class has points.
    rare : {"refuse", "keep"}
        A class of a single point: no folds at all, since its fold's training part would not
        know it; or folds as many as the largest class allows, of which those are left out whose
        training part has one class only.

    Returns
    -------
    list of (train, test) or None

    Examples
    --------
    >>> len(stratified_folds([0, 0, 0, 1, 1], 0)), stratified_folds([0, 0, 1], 0)
    (2, None)
    >>> len(stratified_folds([0, 0, 0, 1], 0, rare="keep"))
    2
    """
    from sklearn.model_selection import StratifiedKFold

    targets = np.asarray(targets)
    counts = np.unique(targets, return_counts=True)[1]
    most = int(counts.min() if rare == "refuse" else counts.max())
    if most < 2:
        return None
    splitter = StratifiedKFold(min(n_folds, most), shuffle=True, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes smaller than the folds
        folds = list(splitter.split(np.zeros(len(targets)), targets))
    return [f for f in folds if rare == "refuse" or len(np.unique(targets[f[0]])) > 1] or None


def plain_folds(n_samples: int, seed: int, n_folds: int = N_FOLDS):
    """Return folds of values to predict, or None if there are fewer than two points for each.

    Parameters
    ----------
    n_samples, seed, n_folds : int

    Returns
    -------
    list of (train, test) or None
    """
    from sklearn.model_selection import KFold

    if n_samples < 2 * n_folds:
        return None
    splitter = KFold(n_folds, shuffle=True, random_state=seed % 2**32)
    return list(splitter.split(np.zeros(n_samples)))


def repeated_folds(n_samples: int, n_folds: int, rng) -> list[np.ndarray]:
    """Split samples into folds at random, several times where they are few.

    With a dozen samples one split decides little: about a hundred are held out in all, in ten
    splits of 10 samples and one from 100 on.

    Parameters
    ----------
    n_samples, n_folds : int
        With at most as many samples as folds each is left out once, and once is enough.
    rng : RandomState

    Returns
    -------
    folds : list of ndarray of shape (n_samples,), int
        The fold of each sample, of equal sizes, for each repeat.

    Examples
    --------
    >>> from sklearn.utils import check_random_state
    >>> folds = repeated_folds(20, 5, check_random_state(0))
    >>> len(folds), np.bincount(folds[0]).tolist()
    (5, [4, 4, 4, 4, 4])
    """
    if n_samples <= n_folds:
        return [np.arange(n_samples)]
    repeats = int(np.clip(np.ceil(100 / n_samples), 1, 10))
    return [rng.permutation(n_samples) % n_folds for _ in range(repeats)]
