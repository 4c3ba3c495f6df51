"""The space an atlas works in: the leading principal components of its points."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def reduce_space(X, max_features: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return origin and orthonormal basis of the space the atlas works in.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features)
    max_features : int or None

    Returns
    -------
    origin : ndarray of shape (n_features,)
    basis : ndarray of shape (n_features, max_features)
        Of shape (0, 0) if the rows keep their features.

    Notes
    -----
    What the leading components leave of a row adds the same amount to its error on every chart:
    the assignment does not change as long as charts lie in their span.
    """
    n, D = X.shape
    if max_features is None or min(n, D) <= max_features:
        return np.asarray(X.mean(axis=0), np.float64).ravel(), np.zeros((0, 0))
    from sklearn.decomposition import PCA

    if sparse.issparse(X):
        pca = PCA(max_features, svd_solver="arpack", random_state=0).fit(X)
    else:
        solver = "covariance_eigh" if D <= max(n, 1000) else "randomized"
        pca = PCA(max_features, svd_solver=solver, random_state=0).fit(X)
    return pca.mean_.astype(np.float64), np.ascontiguousarray(pca.components_.T, np.float64)


def to_reduced(X, origin: np.ndarray, basis: np.ndarray, dtype) -> np.ndarray:
    """Map rows into the space the atlas works in."""
    if basis.size == 0:
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return np.ascontiguousarray(X - origin, dtype=dtype)
    return np.ascontiguousarray(X @ basis - origin @ basis, dtype=dtype)
