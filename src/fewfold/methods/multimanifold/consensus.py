"""Which of the partitions from several covers to keep."""

from __future__ import annotations

import numpy as np

from fewfold.methods.multimanifold.decision import voronoi_parts

# A ratio cut this many times the best of the covers is a local optimum.
_DEAR_CUT = 2.0


def consensus(Z: np.ndarray, partitions: list) -> tuple[int, float]:
    """Choose the partition that the others agree with most.

    Where a walk starts decides which points are kept, and sometimes where the graph is cut. Each
    partition is carried to all points by its Voronoi cells; the one with the largest mean
    adjusted Rand index with the others is chosen, on a tie the one with the smaller ratio cut.
    Partitions that cut more than twice as much as the best are not considered: with two equal
    places to cut (left and right of a dense region) a walk sometimes ends in between.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
    partitions : list of Partition

    Returns
    -------
    index : int
    agreement : float
        Its mean index; 1 for a single partition.
    """
    if len(partitions) == 1:
        return 0, 1.0
    from sklearn.metrics import adjusted_rand_score

    spread = [voronoi_parts(p.points, p.part, Z) for p in partitions]
    n = len(partitions)
    agree = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            agree[i, j] = agree[j, i] = adjusted_rand_score(spread[i], spread[j])
    mean = agree.sum(axis=1) / (n - 1)
    cuts = np.array([p.ratio_cut for p in partitions])
    sound = np.flatnonzero(cuts <= _DEAR_CUT * cuts.min())
    order = sorted(sound, key=lambda i: (-round(mean[i], 9), cuts[i]))
    return int(order[0]), float(mean[order[0]])
