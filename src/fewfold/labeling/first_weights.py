"""Prior weights of the candidates, from the features alone.

With few labels, held-out predictions are weak evidence, so prior weights matter. They follow from
three things that need no held-out label. The first two fade with more labels: with m labels
the labels have weight ``t = m^2 / (m^2 + BELIEF^2)`` and the rows ``1 - t``:

- graph candidates assume that neighbors are similar. The share of the rows' variance explained by
  the mean of their neighbors, as odds to the power ``1 - t``, is their prior weight (the odds are
  0.1 for g241c, 3 for Digit1, 16 for COIL);
- supervised candidates, which use labels alone, have weight ``t``;
- a candidate that assumes equal classes is weighted by the probability of equal classes, given the
  label counts (`fewfold.labeling.priors.chance_of_equal_classes`).
"""

from __future__ import annotations

import numpy as np

BELIEF = 20.0
# Trees assume no scale, metric or smoothness: the most robust of the supervised candidates.
# In regression, where trees predict steps, all families have equal weight (docs/notes/answer.md).
EMPHASIS, EMPHASIS_NUMBERS = {"trees": 10.0}, {}
GRAPH = ("geodesic", "diffusion", "images", "eigenbasis")
LABELS_ONLY = ("trees", "linear", "rbf")
_N_NEIGHBORS, _SAMPLE = 5, 1500
_LEAST_SHARE, _MOST_SHARE = 0.05, 0.99
_LEAST = 0.02


def explained_by_neighbors(X, *, n_neighbors: int = _N_NEIGHBORS, seed: int = 0) -> float:
    """Return the share of the rows' variance that the mean of their neighbors explains.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_neighbors : int
    seed : int
        Seed of the sample of 1500 rows, if there are more.

    Returns
    -------
    float
        1 minus the mean squared distance to the mean of the neighbors over the total variance;
        between 0.05 and 0.99.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise, curve = rng.normal(size=(300, 50)), np.linspace(0, 6, 300)
    >>> bool(explained_by_neighbors(noise) < 0.4)
    True
    >>> bool(explained_by_neighbors(np.column_stack([np.cos(curve), np.sin(curve)])) > 0.9)
    True
    """
    from sklearn.neighbors import NearestNeighbors

    X = np.asarray(X, dtype=np.float64)
    if len(X) > _SAMPLE:
        X = X[np.random.default_rng(seed).choice(len(X), _SAMPLE, replace=False)]
    k = min(n_neighbors, len(X) - 1)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    if k < 1 or total == 0:
        return _LEAST_SHARE
    found = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    left = np.sum((X - X[found].mean(axis=1)) ** 2)
    return float(np.clip(1 - left / total, _LEAST_SHARE, _MOST_SHARE))


def first_weights(
    families,
    shares,
    n_labels: int,
    *,
    explained: float | None = None,
    even: float | None = None,
    numbers: bool = False,
) -> np.ndarray:
    """Return the prior weights of the candidates.

    Parameters
    ----------
    families : sequence of str
        Of each candidate; a family shares one weight.
    shares : sequence of "labels", "equal" or None
        What each candidate assumes of the sizes of the classes.
    n_labels : int
    explained : float, optional
        From `explained_by_neighbors`; by default graph candidates count as others do.
    even : float, optional
        From `chance_of_equal_classes`; by default both assumptions count the same.
    numbers : bool
        Whether the target is a number: families by `EMPHASIS_NUMBERS`, not by `EMPHASIS`.

    Returns
    -------
    ndarray, positive and summing to 1

    Examples
    --------
    >>> families, shares = ["trees", "geodesic", "geodesic"], [None, "labels", "equal"]
    >>> first_weights(families, shares, 10, explained=0.8, even=0.9).round(2).tolist()
    [0.4, 0.06, 0.54]
    """
    emphasis = EMPHASIS_NUMBERS if numbers else EMPHASIS
    rows_count = BELIEF**2 / (n_labels**2 + BELIEF**2)
    likely = {"equal": even, "labels": None if even is None else 1 - even}
    within = np.array([likely.get(s) for s in shares], dtype=float)
    within = np.where(np.isnan(within), 1.0, np.maximum(2 * within, _LEAST))
    weights = np.empty(len(within))
    for place, family in enumerate(families):
        alike = [j for j, other in enumerate(families) if other == family]
        weight = emphasis.get(family, 1.0) * within[place] / within[alike].sum()
        if family in LABELS_ONLY:
            weight *= 1 - rows_count
        elif family in GRAPH and explained is not None:
            weight *= (explained / (1 - explained)) ** rows_count
        weights[place] = weight
    return weights / weights.sum()
