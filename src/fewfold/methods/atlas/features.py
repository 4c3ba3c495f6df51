"""Sparse feature vectors on an atlas, for linear learners in the primal."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.atlas.kernels import chart_weights, kernel_diagonal

# Kind of features -> kind of kernel with the same inner products.
KERNEL_OF = {"linear": "affine", "quad": "quad", "quadcross": "quadcross"}


def local_features(P: np.ndarray, kind: str) -> np.ndarray:
    """Return the features of points in one chart, without the chart's weight.

    Parameters
    ----------
    P : ndarray of shape (..., d)
        Projections.
    kind : {"linear", "quad", "quadcross"}
        ``[1, P]``, ``[1, P, P^2]`` and ``[1, P, lower triangle of P P^T]``
        ([atlas-2014] Eqs. 13-15).

    Returns
    -------
    ndarray of shape (..., width)

    Examples
    --------
    >>> local_features(np.array([2.0, 3.0]), "quadcross").tolist()
    [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    """
    one = np.ones_like(P[..., :1])
    if kind == "linear":
        return np.concatenate([one, P], axis=-1)
    if kind == "quad":
        return np.concatenate([one, P, P**2], axis=-1)
    if kind == "quadcross":
        row, column = np.tril_indices(P.shape[-1])
        return np.concatenate([one, P, P[..., row] * P[..., column]], axis=-1)
    raise InputError(f"kind={kind!r} is unknown. Choose one of {', '.join(KERNEL_OF)}.")


def atlas_features(
    code: dict[str, np.ndarray],
    n_charts: int,
    gamma: float,
    sigma: float,
    kind: str = "linear",
    normalize: bool = True,
    assignment: str = "soft",
) -> sparse.csr_array:
    """Return one sparse feature vector per point: its weighted features in each of its charts.

    Parameters
    ----------
    code : dict of ndarrays
        Encoding of ``n`` points.
    n_charts : int
        Charts of the atlas.
    gamma, sigma : float
        Scale of the weights, and what projections are divided by.
    kind : {"linear", "quad", "quadcross"}
    normalize : bool
        Scale every vector to length 1, as the normalized kernel does.
    assignment : {"soft", "hard"}

    Returns
    -------
    F : csr_array of shape (n, n_charts * width), float32
        ``F @ F.T`` is the kernel of kind "affine", "quad" or "quadcross".

    Notes
    -----
    A row holds ``q * width`` values, ``width`` = 1 + d, 1 + 2 d or 1 + d + d (d + 1) / 2.
    """
    weights = chart_weights(code, gamma, assignment, relative=normalize)
    if normalize:
        kernel = KERNEL_OF.get(kind, kind)
        own = kernel_diagonal(code, gamma, sigma, kernel, assignment, relative=True)
        weights = (weights / np.sqrt(own)[:, None]).astype(np.float32)
    local = local_features((code["projections"] / np.float32(sigma)), kind)
    local *= weights[:, :, None]
    n, q, width = local.shape
    # Charts in increasing order keep the column numbers of each row sorted.
    order = np.argsort(code["charts"], axis=1)
    charts = np.take_along_axis(code["charts"], order, 1).astype(np.int64)
    local = np.take_along_axis(local, order[:, :, None], 1)
    columns = charts[:, :, None] * width + np.arange(width)
    small = n_charts * width < 2**31 and n * q * width < 2**31
    kind_of_index = np.int32 if small else np.int64
    features = sparse.csr_array(
        (
            local.ravel(),
            columns.ravel().astype(kind_of_index),
            np.arange(0, n * q * width + 1, q * width, dtype=kind_of_index),
        ),
        shape=(n, n_charts * width),
    )
    if assignment == "hard":
        features.eliminate_zeros()
    return features
