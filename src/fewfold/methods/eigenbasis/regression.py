"""Least squares on the eigenvectors of a graph: fit, leave-one-out, probabilities, new points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.special import log_softmax

from fewfold.exceptions import InputError

EXTENSIONS = ("nystrom", "harmonic")
# Strengths tried by ridge="loo".
_RIDGES = (0.0, *np.logspace(-6, 1, 15).tolist())
# A share of few labels may leave too few vectors to tell the classes apart; so many are tried
# beside it, and the penalty keeps them smooth (docs/notes/eigenbasis.md).
MANY_VECTORS = 200
# Rough vectors cost the square of their eigenvalue.
SMOOTHNESS = 2.0
# Constant vectors cost nothing; this keeps the division by their penalty finite.
_LEAST_PENALTY = 1e-10
# Responses of opposite classes lie 2 apart; without labels left to check on, this scale calls
# such a gap 98 % sure.
_DEFAULT_SCALE = 2.0


def vector_count(
    n_vectors: int | float,
    n_labeled: int,
    n_available: int,
    n_classes: int,
    minimum: int | None = None,
    maximum: int | None = None,
) -> int:
    """Turn a number, or a share of the labeled rows, into a number of eigenvectors.

    Parameters
    ----------
    n_vectors : int or float
        An int is the number itself; a float in (0, 1] is a share of ``n_labeled``.
    n_labeled, n_available, n_classes : int
    minimum : int, optional
        At least so many when a share is given; by default one per class, since fewer cannot
        tell the classes apart.
    maximum : int, optional
        At most so many when a share is given.

    Examples
    --------
    >>> [vector_count(p, 100, 500, 10) for p in (0.2, 0.01, 7)]
    [20, 10, 7]
    """
    is_share = isinstance(n_vectors, float | np.floating)
    if is_share and not 0 < n_vectors <= 1 or not is_share and n_vectors < 1:
        raise InputError(
            f"n_vectors={n_vectors!r}: give a whole number of at least 1, or a share of the "
            "labels between 0 and 1 (as 0.2)."
        )
    if not is_share:
        count = int(n_vectors)
    else:
        count = max(round(n_vectors * n_labeled), n_classes if minimum is None else minimum, 1)
        count = min(count, maximum or count)
    if count > n_available:
        raise InputError(
            f"n_vectors={n_vectors} with {n_labeled} labels asks for {count} eigenvectors, but the "
            f"basis holds {n_available}. Compute a larger basis, or lower n_vectors."
        )
    return count


def many_vectors(n_vectors: int | float, count: int, n_points: int, minimum: int | None) -> int:
    """Return the larger number of eigenvectors that is tried beside ``count``.

    200, but at most a fifth of the points; ``count`` itself where the caller has set the number
    or a minimum.

    Examples
    --------
    >>> [many_vectors(0.2, 10, n, None) for n in (60_000, 500)], many_vectors(0.2, 10, 500, 1)
    ([200, 100], 10)
    """
    if minimum is not None or not isinstance(n_vectors, float | np.floating):
        return count
    return max(count, min(MANY_VECTORS, n_points // 5))


def reached_columns(eigenvectors: np.ndarray, reached: np.ndarray, count: int) -> np.ndarray:
    """Choose the first ``count`` eigenvectors supported on components with labels.

    Parameters
    ----------
    eigenvectors : ndarray of shape (n, p)
    reached : bool ndarray of shape (n,)
        Points in a component that holds a label.
    count : int

    Returns
    -------
    int ndarray
        Columns in order; with one component, simply the first ``count``.
    """
    if reached.all():
        return np.arange(min(count, eigenvectors.shape[1]))
    inside = np.einsum("ij,ij->j", eigenvectors[reached], eigenvectors[reached])
    total = np.einsum("ij,ij->j", eigenvectors, eigenvectors)
    return np.flatnonzero(inside > 1e-6 * total)[:count]


@dataclass(frozen=True)
class BasisFit:
    """A least-squares fit, with its leave-one-out responses.

    Attributes
    ----------
    coefficients : ndarray of shape (p, n_outputs)
    left_out : ndarray of shape (n_labeled, n_outputs)
        Response for each labeled row by the fit to the others; NaN where that is undefined.
    ridge : float
    """

    coefficients: np.ndarray
    left_out: np.ndarray
    ridge: float


def fit_basis(
    E, targets, eigenvalues, ridge: float | str = 0.0, smoothness: float = SMOOTHNESS
) -> BasisFit:
    """Fit targets by least squares on eigenvectors ([eigenbasis-2002] Step 3).

    Minimizes ``mean((targets - E a)^2) + ridge * sum(s_j a_j^2)``, with ``s_j`` the
    eigenvalues to the power of ``smoothness``, divided by their mean. With 1 the penalty is the
    smoothness functional of the paper's Section 4. Columns of ``E`` should have a mean square
    near 1.

    Parameters
    ----------
    E : ndarray of shape (n_labeled, p)
    targets : ndarray of shape (n_labeled, n_outputs)
    eigenvalues : ndarray of shape (p,)
    ridge : float or "loo"
        0 is plain least squares (of least norm, if there are fewer rows than vectors). "loo"
        takes the strength with the smallest leave-one-out error.
    smoothness : float
        Power of the eigenvalues in the penalty.

    Returns
    -------
    BasisFit

    Examples
    --------
    >>> import numpy as np
    >>> fit = fit_basis(np.ones((2, 1)), np.array([[0.0], [1.0]]), np.zeros(1))
    >>> fit.coefficients.round(6).tolist(), fit.left_out.round(6).tolist()
    ([[0.5]], [[1.0], [0.0]])
    """
    E, targets = np.asarray(E, np.float64), np.asarray(targets, np.float64)
    if ridge != "loo" and (isinstance(ridge, str) or not ridge >= 0):
        raise InputError(f"ridge={ridge!r}: give a number of at least 0, or 'loo'.")
    strengths = _RIDGES if ridge == "loo" else (float(ridge),)
    stretch = np.asarray(eigenvalues, np.float64) ** smoothness
    if not stretch.max(initial=0) > 0:  # nothing to penalize
        strengths = (0.0,)
        stretch = np.ones(E.shape[1])
    stretch = np.sqrt(np.maximum(stretch / stretch.mean(), _LEAST_PENALTY))
    # In the scaled coefficients the penalty is round: one decomposition serves all strengths.
    round_fit = _Decomposed(E / stretch, targets) if max(strengths) > 0 else None
    fits = []
    for strength in strengths:
        if strength > 0:
            scaled, left_out = round_fit.solve(strength * len(E))
            fits.append(BasisFit(scaled / stretch[:, None], left_out, strength))
        else:
            fits.append(BasisFit(*_Decomposed(E, targets).solve(0.0), 0.0))
    return min(fits, key=lambda fit: left_out_error(fit, targets))


def left_out_error(fit: BasisFit, targets: np.ndarray) -> float:
    """Return the mean squared error of left-out responses; unknown ones count as 0."""
    return float(np.mean((np.nan_to_num(fit.left_out) - targets) ** 2))


class _Decomposed:
    """Singular value decomposition of a least-squares problem."""

    def __init__(self, E, targets):
        self.targets = targets
        U, s, self.Vt = linalg.svd(E, full_matrices=False, check_finite=False)
        keep = s > s[0] * max(E.shape) * np.finfo(float).eps if len(s) and s[0] > 0 else s > 0
        self.U, self.s, self.Vt = U[:, keep], s[keep], self.Vt[keep]
        self.projected = self.U.T @ targets

    def solve(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients and the left-out responses."""
        shrunk = self.s**2 / (self.s**2 + strength)
        coefficients = self.Vt.T @ ((shrunk / self.s)[:, None] * self.projected)
        leverage = ((self.U**2) @ shrunk)[:, None]
        response = self.U @ (shrunk[:, None] * self.projected)
        free = 1 - leverage
        with np.errstate(invalid="ignore", divide="ignore"):
            left_out = response - leverage * self.targets
            left_out = left_out / np.where(free > 1e-8, free, np.nan)
        return coefficients, left_out


def signed_targets(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return one-against-all targets: +1 in the column of the class, -1 elsewhere."""
    targets = np.full((len(codes), n_classes), -1.0)
    targets[np.arange(len(codes)), codes] = 1.0
    return targets


def response_scale(left_out: np.ndarray, codes: np.ndarray) -> float:
    """Choose b of ``softmax(b * responses)`` by the likelihood of left-out responses.

    Falls back on a fixed scale when fewer than five rows have a left-out response.
    """
    usable = np.isfinite(left_out).all(axis=1)
    if usable.sum() < 5 or left_out.shape[1] < 2:
        return _DEFAULT_SCALE
    F, c = left_out[usable], codes[usable]

    def loss(log_scale):
        return -log_softmax(np.exp(log_scale) * F, axis=1)[np.arange(len(c)), c].mean()

    # Bounded: a perfect draw must not claim certainty, nor a hopeless one exact ignorance.
    found = optimize.minimize_scalar(loss, bounds=(np.log(0.1), np.log(10.0)), method="bounded")
    return float(np.exp(found.x))


def extend_vectors(
    eigenvalues, eigenvectors, extension, laplacian: str, how: str = "nystrom"
) -> np.ndarray:
    """Extend eigenvectors to new points, from their values at the points' neighbors.

    Parameters
    ----------
    eigenvalues : ndarray of shape (p,)
    eigenvectors : ndarray of shape (n, p), or of shape (n, n_outputs) with "harmonic"
    extension : csr_array of shape (n_new, n)
        Weights of the new points over the old ones.
    laplacian : {"unnormalized", "symmetric", "random_walk"}
        The Laplacian the vectors belong to. For "symmetric" the vectors must have been divided
        by the root of the degrees, and what is returned is so too.
    how : {"nystrom", "harmonic"}
        "harmonic" is the weighted mean of the neighbors. "nystrom" divides it by
        ``1 - lambda`` (``1 - lambda / d`` if unnormalized), as the eigenvalue equation does at
        the graph's own points.

    Returns
    -------
    ndarray of shape (n_new, p)
        Zero for points without neighbors.
    """
    if how not in EXTENSIONS:
        raise InputError(f"extension={how!r} is unknown. Choose one of {', '.join(EXTENSIONS)}.")
    extension = sparse.csr_array(extension)
    d = np.asarray(extension.sum(axis=1)).ravel()
    mean = (extension @ eigenvectors) / np.where(d > 0, d, 1)[:, None]
    if how == "harmonic":
        return mean
    relative = (
        eigenvalues / np.where(d > 0, d, 1)[:, None]
        if laplacian == "unnormalized"
        else (eigenvalues[None, :])
    )
    # Beyond 1 the equation has no smooth continuation; the bound keeps the division tame.
    return mean / (1 - np.minimum(relative, 0.9))
