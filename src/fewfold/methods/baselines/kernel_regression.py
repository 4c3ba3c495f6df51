"""Kernel regression (Nadaraya-Watson) with a Gaussian kernel, its bandwidth cross-validated."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from fewfold.exceptions import InputError
from fewfold.linalg.distances import nearest_squared, row_blocks, squared_distances
from fewfold.methods.estimators import Learner
from fewfold.methods.parameters import positive
from fewfold.methods.state import Field, Setting
from fewfold.svm.folds import repeated_folds

# Standard errors within which two bandwidths count as equally good.
_EQUAL_ERRORS = 0.5


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
    low = np.sqrt(nearest_squared(d2)) / 4
    return np.geomspace(low, np.sqrt(largest), n_bandwidths)


def choose_bandwidth(
    d2: np.ndarray, y: np.ndarray, bandwidths: np.ndarray, folds: list[np.ndarray]
) -> tuple[float, np.ndarray]:
    """Choose a bandwidth by its cross-validated squared error.

    Bandwidths whose errors exceed the least by less than half a standard error (of the difference,
    sample by sample) count as equal; of those the one nearest to the typical distance between
    neighbors is taken. With a dozen samples the least alone is often an accident.

    Parameters
    ----------
    d2 : ndarray of shape (n_samples, n_samples)
    y : ndarray of shape (n_samples,)
    bandwidths : ndarray of shape (n_bandwidths,)
    folds : list of ndarray of shape (n_samples,), int
        Repeats of the folds, each of at least two different values; errors are averaged.

    Returns
    -------
    bandwidth : float
    errors : ndarray of shape (n_bandwidths,)
        Mean squared error of each.

    Examples
    --------
    >>> d2 = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    >>> choose_bandwidth(d2, np.zeros(3), np.array([0.1, 0.9, 5.0]), [np.arange(3)])[0]
    0.9
    """
    squared = np.zeros((len(bandwidths), len(y)))
    for fold in folds:
        for held_out in np.unique(fold):
            test, train = fold == held_out, fold != held_out
            block = d2[np.ix_(test, train)]
            for i, bandwidth in enumerate(bandwidths):
                values = nadaraya_watson(block, y[train], bandwidth)
                squared[i, test] += (values - y[test]) ** 2
    squared /= len(folds)
    errors = squared.mean(axis=1)
    best = errors.argmin()
    spread = (squared - squared[best]).std(axis=1, ddof=1) / np.sqrt(len(y))
    equal = np.flatnonzero(errors <= errors[best] * (1 + 1e-12) + _EQUAL_ERRORS * spread)
    offset = np.abs(np.log(bandwidths[equal] ** 2 / nearest_squared(d2)))
    return float(bandwidths[equal[offset.argmin()]]), errors


@dataclass(eq=False, repr=False)
class KernelRegressor(RegressorMixin, Learner):
    """Nadaraya-Watson regression with a Gaussian kernel.

    Parameters
    ----------
    bandwidth : float or "cv", default="cv"
        Standard deviation of the kernel; "cv" chooses it by cross-validation on a grid spread
        over the distances of the data, so it follows their scale.
    n_folds : int, default=5
        Folds of the cross-validation; fewer samples than folds are left out one by one. The split
        is repeated where they are few, see `fewfold.svm.folds.repeated_folds`.
    n_bandwidths : int, default=20
        Bandwidths on the grid.
    random_state : int, RandomState or None, default=0
        Splits the samples into folds.

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

    bandwidth: float | str = "cv"
    _: KW_ONLY
    n_folds: int = 5
    n_bandwidths: int = 20
    random_state: int = 0
    _dtype = np.float64
    _state = (
        Field("X_fit_", "float", ("s", "d"), may_be_sparse=True),
        Field("y_fit_", "float", ("s",)),
        Setting("bandwidth_", positive()),
    )

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
        rng = check_random_state(self.random_state)
        folds = repeated_folds(n, self.n_folds, rng)
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
        X = self._rows(X, reset=False)
        values = np.empty(X.shape[0])
        for rows, d2 in row_blocks(X, self.X_fit_):
            values[rows] = nadaraya_watson(d2, self.y_fit_, self.bandwidth_)
        return values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A local average cannot extrapolate, which the generic score test asks for.
        tags.regressor_tags.poor_score = False
        return tags
