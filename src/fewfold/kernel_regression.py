"""Kernel regression (Nadaraya-Watson) with a Gaussian kernel, its bandwidth cross-validated."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.exceptions import InputError

# Rows predicted at once: the table of distances stays near 64 MB.
_BLOCK_FLOATS = 2**23


def squared_distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances between rows, never negative.

    Parameters
    ----------
    A : array or sparse array of shape (n_a, n_features)
    B : array or sparse array of shape (n_b, n_features)

    Returns
    -------
    d2 : ndarray of shape (n_a, n_b)

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0]])).tolist()
    [[1.0], [4.0]]
    """
    from scipy import sparse

    if not sparse.issparse(A) and A.shape[1] <= 32:
        from scipy.spatial.distance import cdist

        # Differences first: exact for close rows, where the product formula loses digits.
        return cdist(A, B, "sqeuclidean")
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(A, B, squared=True)


def nadaraya_watson(d2: np.ndarray, y: np.ndarray, bandwidth: float) -> np.ndarray:
    """Average the targets with weights ``exp(-d2 / (2 bandwidth^2))``.

    Parameters
    ----------
    d2 : ndarray of shape (n_queries, n_samples)
        Squared distances.
    y : ndarray of shape (n_samples,)
    bandwidth : float
        Above 0.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Far from all samples the value of the nearest one: the weights are taken relative to
        the largest, so they never all underflow.

    Examples
    --------
    >>> nadaraya_watson(np.array([[1.0, 1.0], [0.0, 1e6]]), np.array([0.0, 4.0]), 1.0).tolist()
    [2.0, 0.0]
    """
    exponent = (d2 - d2.min(axis=1, keepdims=True)) / (-2.0 * bandwidth**2)
    weights = np.exp(exponent, out=exponent)
    return (weights @ y) / weights.sum(axis=1)


def bandwidth_grid(d2: np.ndarray, n_bandwidths: int = 20) -> np.ndarray:
    """Spread bandwidths from a quarter of the typical nearest distance to the largest distance.

    Parameters
    ----------
    d2 : ndarray of shape (n_samples, n_samples)
        Squared distances between the samples.
    n_bandwidths : int

    Returns
    -------
    bandwidths : ndarray of shape (n_bandwidths,), growing geometrically
        ``[1.0]`` when all samples coincide.

    Examples
    --------
    >>> bandwidth_grid(np.array([[0.0, 16.0], [16.0, 0.0]]), 3).tolist()
    [1.0, 2.0, 4.0]
    """
    largest = d2.max(initial=0.0)
    if largest == 0:
        return np.array([1.0])
    others = np.where(d2 > 0, d2, np.inf)
    nearest = others.min(axis=1)
    low = np.sqrt(np.median(nearest[np.isfinite(nearest)])) / 4
    return np.geomspace(low, np.sqrt(largest), n_bandwidths)


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


def choose_bandwidth(
    d2: np.ndarray, y: np.ndarray, bandwidths: np.ndarray, folds: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    """Choose the bandwidth of least cross-validated squared error.

    Parameters
    ----------
    d2 : ndarray of shape (n_samples, n_samples)
    y : ndarray of shape (n_samples,)
    bandwidths : ndarray of shape (n_bandwidths,)
    folds : list of ndarray of shape (n_samples,), int
        Deals of the samples, each of at least two different values; errors are averaged.

    Returns
    -------
    bandwidth : float
        The largest of the best ones: the smoothest.
    errors : ndarray of shape (n_bandwidths,)
        Mean squared error of each.
    """
    errors = np.zeros(len(bandwidths))
    for fold in folds:
        for held_out in np.unique(fold):
            test, train = fold == held_out, fold != held_out
            block = d2[np.ix_(test, train)]
            for i, bandwidth in enumerate(bandwidths):
                values = nadaraya_watson(block, y[train], bandwidth)
                errors[i] += ((values - y[test]) ** 2).sum()
    errors /= len(y) * len(folds)
    best = np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[-1]
    return float(bandwidths[best]), errors


class KernelRegressor(RegressorMixin, BaseEstimator):
    """Nadaraya-Watson regression with a Gaussian kernel.

    Parameters
    ----------
    bandwidth : float or "cv", default="cv"
        Standard deviation of the kernel; "cv" chooses it by cross-validation on a grid spread
        over the distances of the data, so it follows their scale.
    n_folds : int, default=5
        Folds of the cross-validation; fewer samples than folds are left out one by one.
    n_bandwidths : int, default=20
        Bandwidths on the grid.
    n_repeats : int or "auto", default="auto"
        Deals of the folds: ten for 10 samples, one from 100 on (see `repeats_for`).
    random_state : int, RandomState or None, default=0
        Deals the samples to the folds.

    Attributes
    ----------
    bandwidth_ : float
    bandwidths_, cv_errors_ : ndarray
        The grid and its errors; empty when nothing was cross-validated.
    X_fit_, y_fit_ : ndarray
        The samples.

    Notes
    -----
    Fitting costs O(n_samples**2 * n_bandwidths), predicting O(n_queries * n_samples).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = KernelRegressor().fit(X, X.ravel() ** 2)
    >>> bool(abs(model.predict([[0.5]])[0] - 0.25) < 0.01)
    True
    """

    def __init__(
        self, bandwidth="cv", *, n_folds=5, n_bandwidths=20, n_repeats="auto", random_state=0
    ):
        self.bandwidth = bandwidth
        self.n_folds = n_folds
        self.n_bandwidths = n_bandwidths
        self.n_repeats = n_repeats
        self.random_state = random_state

    def fit(self, X, y):
        """Store the samples and choose the bandwidth.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, multi_output=False
        )
        y = y.astype(np.float64)
        self.bandwidths_ = self.cv_errors_ = np.empty(0)
        if self.bandwidth != "cv":
            if isinstance(self.bandwidth, str) or not self.bandwidth > 0:
                raise InputError(
                    f"bandwidth={self.bandwidth!r} is not allowed. Give 'cv' or a number above 0."
                )
            self.bandwidth_ = float(self.bandwidth)
        else:
            self._cross_validate(X, y)
        self.X_fit_, self.y_fit_ = X, y
        return self

    def _cross_validate(self, X, y):
        if isinstance(self.n_folds, str) or self.n_folds < 2:
            raise InputError(f"n_folds={self.n_folds!r} is not allowed. Give at least 2.")
        d2 = squared_distances(X, X)
        self.bandwidths_ = bandwidth_grid(d2, self.n_bandwidths)
        n = X.shape[0]
        if n < 2 or len(self.bandwidths_) == 1:
            self.bandwidth_ = float(self.bandwidths_[0])
            return
        folds = deal_folds(n, self.n_folds, self.n_repeats, check_random_state(self.random_state))
        self.bandwidth_, self.cv_errors_ = choose_bandwidth(d2, y, self.bandwidths_, folds)

    def predict(self, X) -> np.ndarray:
        """Average the targets around each row.

        Parameters
        ----------
        X : array or sparse array of shape (n_queries, n_features)

        Returns
        -------
        values : ndarray of shape (n_queries,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        values = np.empty(X.shape[0])
        step = max(1, _BLOCK_FLOATS // len(self.y_fit_))
        for start in range(0, len(values), step):
            d2 = squared_distances(X[start : start + step], self.X_fit_)
            values[start : start + step] = nadaraya_watson(d2, self.y_fit_, self.bandwidth_)
        return values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # A local average cannot extrapolate, which the generic score test asks for.
        tags.regressor_tags.poor_score = False
        return tags
