"""Charts to start from, and what a chart costs."""

from __future__ import annotations

import numpy as np

from fewfold.graph.neighbors import nearest_neighbors
from fewfold.methods.atlas.charts import Charts, fit_charts
from fewfold.methods.atlas.settings import AtlasSettings


def propose_charts(Z: np.ndarray, settings: AtlasSettings, rng: np.random.Generator) -> Charts:
    """Fit charts to the nearest points of random points.

    Parameters
    ----------
    Z : ndarray of shape (n, r)
    settings : AtlasSettings
    rng : Generator

    Returns
    -------
    Charts
        ``n_proposals`` of them, of dimension ``n_dims``.
    """
    n = len(Z)
    count = settings.n_proposals or max(1, min(round(6 * np.sqrt(n)), n // 5))
    seeds = rng.choice(n, min(count, n), replace=False)
    least = max(5, 2 * (settings.n_dims or 1))
    size = settings.proposal_size or max(least, min(100, n // 10))
    size = min(size, n)
    found = nearest_neighbors(Z, size, query=Z[seeds]).indices
    n_dims = settings.n_dims or _local_dims(Z, found)
    return fit_charts(Z, list(found), min(n_dims, Z.shape[1]), Z.dtype)


def _local_dims(Z, found, share=0.95, most=30):
    """Return the directions that hold most of the variance of the median proposal."""
    needed = []
    for rows in found[:200]:
        values = np.linalg.svd(Z[rows] - Z[rows].mean(axis=0), compute_uv=False) ** 2
        total = values.sum()
        if total > 0:
            needed.append(1 + np.count_nonzero(np.cumsum(values) < share * total))
    return int(np.clip(np.median(needed), 1, most)) if needed else 1


def default_neighbors(charts: Charts, known: np.ndarray | None = None) -> int:
    """Return the neighbors that share a point's chart: one for every 8 dimensions, 2 at least.

    No more than are known already: a graph of few neighbors serves as it is.
    """
    k = max(2, round(charts.directions.shape[1] / 8))
    return k if known is None or known.ndim != 2 else max(1, min(k, known.shape[1]))


def default_mdl(errors: np.ndarray, charts: Charts, settings: AtlasSettings) -> float:
    """Return the cost of a chart: as set, or by the errors of the proposals."""
    if settings.mdl is not None:
        return float(settings.mdl)
    mean_error = errors.min(axis=1).mean(dtype=np.float64)
    return float(settings.mdl_factor * (1 + charts.directions.shape[1]) * mean_error)
