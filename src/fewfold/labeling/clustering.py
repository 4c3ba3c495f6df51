"""Clustering without labels: k-means on the smoothest eigenvectors of the graph."""

from __future__ import annotations

import numpy as np

from fewfold.labeling.weighing import Combination
from fewfold.methods.base import CLASSIFICATION
from fewfold.methods.members import ROWS_GRAPH, named_members

METHOD = "spectral clustering"
EXTENDED_BY = "diffusion"  # of a state that gives new rows their neighbors' groups


def cluster_answer(task, n_clusters: int, seed: int):
    """Group rows by k-means on the graph's smoothest functions (spectral clustering).

    Parameters
    ----------
    task : Task
    n_clusters, seed : int

    Returns
    -------
    members, states, combination
        For the model file: new rows take the mean of their neighbors' groups.
    arrays, notes : dict
        Of the answer. Groups are numbered by size, the largest first. The confidence is the share
        of the nearest center in exp(-distance^2), not calibrated.
    """
    from fewfold.methods.eigenbasis.basis import compute_basis

    graph = task.graphs[ROWS_GRAPH]
    basis = compute_basis(graph, max(n_clusters + 1, 2), random_state=seed)
    proba, label = grouped(basis["eigenvectors"], n_clusters, seed)
    rest = proba.copy()
    rest[np.arange(len(rest)), label] = -1
    arrays = {
        "label": label,
        "confidence": proba.max(axis=1),
        "second": rest.argmax(axis=1),
        "given": np.zeros(len(label), dtype=bool),
        "proba": proba,
    }
    comparison = {"estimate": None, "table": [], "reason": "there are no labels",
                  "members": [{"name": METHOD, "family": METHOD, "weight": 1.0}],
                  "failed": {}}  # fmt: skip
    notes = {"comparison": comparison, "task": "clustering", "warnings": [],
             "calibration_error": None}  # fmt: skip
    (member,) = named_members(CLASSIFICATION, [EXTENDED_BY])
    model = member.build(CLASSIFICATION)
    model.classes_ = np.arange(n_clusters)
    model.graph_, model.X_fit_ = graph, task.X
    model._finish(None, proba)
    return [member], [model.to_arrays()], Combination(np.ones(1), np.ones(1)), arrays, notes


def grouped(vectors, n_clusters: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the groups in each row, and each row's group.

    Parameters
    ----------
    vectors : ndarray of shape (n, at least n_clusters)
        Eigenvectors, smoothest first.
    n_clusters, seed : int
    """
    from sklearn.cluster import KMeans

    rows = np.asarray(vectors[:, :n_clusters], dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1)
    model = KMeans(n_clusters, n_init=20, random_state=seed).fit(rows)
    order = np.argsort(-np.bincount(model.labels_, minlength=n_clusters), kind="stable")
    distance = model.transform(rows)[:, order] ** 2
    width = max(float(np.median(distance.min(axis=1))), 1e-12)
    score = np.exp(-(distance - distance.min(axis=1, keepdims=True)) / (2 * width))
    return score / score.sum(axis=1, keepdims=True), distance.argmin(axis=1)
