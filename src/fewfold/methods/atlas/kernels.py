"""Kernels on an atlas ([atlas-2014] Section 4): sums over charts of weighted local kernels."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.atlas.encoding import chart_entries

KINDS = ("rbf", "linear", "affine", "quad", "quadcross")
ASSIGNMENTS = ("soft", "hard")
# Values of a chart's kernel computed at once: 1 MB, still in cache when they are added up.
_BLOCK_VALUES = 2**18


def chart_weights(
    code: dict[str, np.ndarray], gamma: float, assignment: str = "soft", relative: bool = False
) -> np.ndarray:
    """Return the weight of each point in each of its charts ([atlas-2014] Eqs. 6 and 10).

    Parameters
    ----------
    code : dict of ndarrays
        An encoding.
    gamma : float
        Soft weights are ``exp(-E / gamma^2)``.
    assignment : {"soft", "hard"}
        Hard weights are 1 in the charts the point belongs to, else 0.
    relative : bool
        Take errors above the point's smallest one. A kernel that is normalized does not change,
        and points far from every chart do not vanish in rounding.

    Returns
    -------
    weights : ndarray of shape (n, q), of the precision of the encoding
    """
    if assignment not in ASSIGNMENTS:
        raise InputError(f"assignment={assignment!r} is unknown. Choose soft or hard.")
    if assignment == "hard":
        # A point whose own charts are not among its q cheapest stands in the cheapest.
        member = code["member"].copy()
        member[~member.any(axis=1), 0] = True
        return member.astype(code["projections"].dtype)
    errors = code["errors"].astype(np.float64)
    if relative:
        errors = errors - errors[:, :1]
    return np.exp(-errors / float(gamma) ** 2).astype(code["projections"].dtype)


def local_kernel(A: np.ndarray, B: np.ndarray, kind: str, sigma: float) -> np.ndarray:
    """Return the kernel of one chart between two sets of projections.

    Parameters
    ----------
    A, B : ndarrays of shapes (a, d) and (b, d)
    kind : {"rbf", "linear", "affine", "quad", "quadcross"}
        Eq. 8, Eq. 7, and the inner products of the features of Eqs. 13, 14 and 15.
    sigma : float
        Scale of the projections: all kinds see ``P / sigma``.

    Returns
    -------
    ndarray of shape (a, b)
    """
    A, B = A / A.dtype.type(sigma), B / B.dtype.type(sigma)
    inner = A @ B.T
    if kind == "rbf":
        inner *= 2
        inner -= np.einsum("nd,nd->n", A, A)[:, None]
        inner -= np.einsum("nd,nd->n", B, B)
        return np.exp(np.minimum(inner, 0, out=inner), out=inner)
    if kind == "linear":
        return inner
    if kind == "affine":
        return 1 + inner
    squares = A**2 @ (B**2).T
    if kind == "quad":
        return 1 + inner + squares
    if kind == "quadcross":
        return 1 + inner + (inner**2 + squares) / 2
    raise InputError(f"kind={kind!r} is unknown. Choose one of {', '.join(KINDS)}.")


def atlas_kernel_rows(
    code_rows: dict[str, np.ndarray],
    code_all: dict[str, np.ndarray],
    gamma: float,
    sigma: float,
    kind: str = "rbf",
    normalize: bool = True,
    assignment: str = "soft",
) -> np.ndarray:
    """Return the atlas kernel between two sets of encoded points ([atlas-2014] Eqs. 5, 6, 12).

    ``K_xy = sum_i w_x^i w_y^i K^i_xy`` over the charts that both points are encoded by.

    Parameters
    ----------
    code_rows, code_all : dicts of ndarrays
        Encodings of ``m`` and ``n`` points.
    gamma, sigma : float
        Scales of the weights and of the local kernels.
    kind : {"rbf", "linear", "affine", "quad", "quadcross"}
    normalize : bool
        Divide by ``sqrt(K_xx K_yy)``; rows with ``K_xx = 0`` stay zero.
    assignment : {"soft", "hard"}

    Returns
    -------
    K : ndarray of shape (m, n), of the precision of the encodings

    Notes
    -----
    Costs O(sum_i m_i n_i d) for m_i and n_i points of chart i, and the memory of the result.

    Examples
    --------
    >>> code = {"charts": np.array([[0], [0]]), "errors": np.array([[0.0], [4.0]]),
    ...         "projections": np.array([[[0.0]], [[1.0]]]), "member": np.ones((2, 1), bool)}
    >>> K = atlas_kernel_rows(code, code, gamma=2.0, sigma=1.0)
    >>> K.round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    from fewfold.methods.atlas._scatter import add_block  # numba is slow to load

    _check_scale("gamma", gamma)
    _check_scale("sigma", sigma)
    weights = _prepare(code_rows, gamma, sigma, kind, normalize, assignment)
    others = weights
    if code_all is not code_rows:
        others = _prepare(code_all, gamma, sigma, kind, normalize, assignment)
    layout = _exponents if kind == "rbf" else _weighted
    left, right = layout(code_rows, weights, sigma, 0), layout(code_all, others, sigma, 1)
    K = np.zeros((len(code_rows["charts"]), len(code_all["charts"])), np.result_type(left, right))
    entries = chart_entries(code_all["charts"], others > 0)
    for chart, (r, i) in chart_entries(code_rows["charts"], weights > 0).items():
        if chart not in entries:
            continue
        c, j = entries[chart]
        B = right[c, j]
        step = max(1, _BLOCK_VALUES // len(c))
        for start in range(0, len(r), step):
            some = r[start : start + step]
            block = _block(left[some, i[start : start + step]], B, kind)
            add_block(K, some, c, block)
    return K


def _exponents(code, weights, sigma, side):
    """Return ``[2 x, s, 1]`` (side 0) or ``[x, 1, s]``, with x = P / sigma, s = log w - |x|^2.

    The product of the two is all that is to be exponentiated: taking squares and weights apart
    would cost as much as the exponentials.
    """
    x = _scaled(code, sigma)
    out = np.ones((*x.shape[:2], x.shape[2] + 2), x.dtype)
    out[..., :-2] = x if side else 2 * x
    with np.errstate(divide="ignore"):  # entries of weight 0 are left out later
        out[..., -1 if side else -2] = np.log(weights) - np.einsum("nqd,nqd->nq", x, x)
    return out


def _weighted(code, weights, sigma, side):
    """Return ``[P / sigma, w]`` of each point in each of its charts."""
    x = _scaled(code, sigma)
    return np.concatenate([x, weights[:, :, None]], axis=2, dtype=x.dtype)


def _scaled(code, sigma):
    return code["projections"] / code["projections"].dtype.type(sigma)


def _block(left, right, kind):
    """Return the weighted kernel of one chart's points, from `_exponents` or `_weighted`."""
    if kind == "rbf":
        block = left @ right.T
        return np.exp(block, out=block)
    block = local_kernel(left[:, :-1], right[:, :-1], kind, 1.0)
    block *= left[:, -1:]
    block *= right[:, -1]
    return block


def kernel_diagonal(
    code: dict[str, np.ndarray],
    gamma: float,
    sigma: float,
    kind: str = "rbf",
    assignment: str = "soft",
    relative: bool = False,
) -> np.ndarray:
    """Return ``K_xx`` of the kernel that is not normalized.

    Parameters
    ----------
    code, gamma, sigma, kind, assignment : see `atlas_kernel_rows`
    relative : bool
        See `chart_weights`.

    Returns
    -------
    ndarray of shape (n,), float64
    """
    weights = chart_weights(code, gamma, assignment, relative).astype(np.float64)
    return np.einsum("nq,nq->n", weights**2, _local_diagonal(code, sigma, kind))


def _local_diagonal(code, sigma, kind):
    if kind == "rbf":
        return np.ones(code["charts"].shape)
    scaled = code["projections"].astype(np.float64) / sigma
    inner = np.einsum("nqd,nqd->nq", scaled, scaled)
    if kind == "linear":
        return inner
    if kind == "affine":
        return 1 + inner
    squares = np.einsum("nqd,nqd->nq", scaled**2, scaled**2)
    return 1 + inner + (squares if kind == "quad" else (inner**2 + squares) / 2)


def _prepare(code, gamma, sigma, kind, normalize, assignment):
    """Return the weights, with the normalization folded in."""
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is unknown. Choose one of {', '.join(KINDS)}.")
    weights = chart_weights(code, gamma, assignment, relative=normalize)
    if not normalize:
        return weights
    own = kernel_diagonal(code, gamma, sigma, kind, assignment, relative=True)
    return (weights / np.sqrt(np.where(own > 0, own, 1))[:, None]).astype(weights.dtype)


def _check_scale(name, value):
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"{name}={value!r}; allowed: numbers above 0.")


def kernel_scales(
    code: dict[str, np.ndarray], n_charts: int = 0, n_labeled: int | None = None
) -> tuple[float, float]:
    """Return ``gamma`` and ``sigma`` from the scale of the errors and projections.

    Parameters
    ----------
    code : dict of ndarrays
        Encoding of typical points; no labels are used.
    n_charts, n_labeled : int, optional
        Charts of the atlas and labeled points; they widen ``sigma`` where labels are few.

    Returns
    -------
    gamma : float
        Root of the mean error on the second cheapest chart, or a later one, by one place per
        100 charts: the finer the atlas, the more charts describe a point equally well. The
        cheapest was fitted to the point itself, and tells little about points not there then.
    sigma : float
        Root mean square distance of two points of one chart, ``sqrt(2 mean |P(x)|^2)`` over the
        cheapest charts, times ``sqrt(1 + 8 n_charts / n_labeled)``: with fewer labels than
        charts, a labeled point must reach across whole charts.
    """
    place = min(max(1, round(n_charts / 100)), 9, code["errors"].shape[1] - 1)
    gamma = np.sqrt(code["errors"][:, place].mean(dtype=np.float64))
    first = code["projections"][:, 0].astype(np.float64)
    sigma = np.sqrt(2 * np.einsum("nd,nd->n", first, first).mean())
    if n_labeled:
        sigma *= np.sqrt(1 + 8 * n_charts / n_labeled)
    # Charts that hold their points exactly have no scale of their own.
    scale = max(gamma, sigma) or 1.0
    return float(max(gamma, 1e-3 * scale)), float(max(sigma, 1e-3 * scale))
