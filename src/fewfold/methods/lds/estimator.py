"""Low-density separation: transductive SVMs on features that know the shape of all rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse
from scipy.special import softmax

from fewfold.exceptions import InputError
from fewfold.methods.candidate import CandidateClassifier
from fewfold.methods.lds.features import landmark_axes, landmarks
from fewfold.methods.lds.geodesic import geodesic_distances
from fewfold.methods.lds.tsvm import Labeling, fit_tsvms, unlabeled_mean
from fewfold.methods.parameters import count, number, one_of
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernels import kernel_block, typical_squared

FEATURES = ("geodesic", "rbf", "linear")
# A difference of 1 between the scores of two classes counts as odds of e^2.
_SHARPNESS = 2.0
_SMALLEST = 1e-12


@dataclass(eq=False, repr=False)
class LowDensityClassifier(CandidateClassifier):
    """Transductive SVM whose boundary avoids dense regions ([lds-2005]).

    Squared hinge on labeled rows, ``exp(-3 f^2)`` on unlabeled ones, annealed, with the share of
    each class fixed; one class against the rest.

    Parameters
    ----------
    features : {"geodesic", "rbf", "linear"}
        Principal features of the Gaussian kernel of density-sensitive graph distances, of the
        Gaussian kernel of plain distances, or of the rows themselves.
    rho : float
        Exponent of the graph distances, per mean edge length.
    n_neighbors : int
        Of the graph.
    width : float
        Of the Gaussian, in medians of the squared distance.
    n_features : int
        Principal features kept.
    C : float
        Weight of a labeled row.
    unlabeled_weight : float
        What all unlabeled rows weigh together, relative to all labeled ones.
    priors : "labels", "equal" or array of shape (n_classes,)
        Share of each class. Shares of the labels are taken with one more row of each class.
    max_landmarks : int
        With more rows, the kernel is taken against this many of them.
    random_state : int

    Attributes
    ----------
    classes_, transduction_, label_distributions_ : see `CandidateClassifier`

    Notes
    -----
    Preparing the geodesic features costs ``s n log n`` for s landmarks and ``s^3`` (at most);
    a fit about ``200 n n_features n_classes`` multiplications. New rows: geodesic features are
    the mean of those of the nearest rows, weighted by inverse squared distances; the other two
    kinds are exact.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> y[[0, 1, 2, 3]] = moon[[0, 1, 2, 3]]
    >>> model = LowDensityClassifier().fit(X, y)
    >>> bool(np.mean(model.transduction_ == moon) > 0.99)
    True
    """

    _learned = (
        Field("base_", "float", ("s", "d")),
        Field("axes_", "float", ("t", "q")),
        Field("mean_", "float", ("q",)),
        Field("W_", "float", ("q", "c")),
        Field("shift_", "float", ("c",)),
        Setting("features_", one_of(*FEATURES)),
        Setting("gamma_", number(0)),
        Setting("n_neighbors_", count()),
    )

    features: str = "geodesic"
    _: KW_ONLY
    rho: float = 4.0
    n_neighbors: int = 5
    width: float = 1.0
    n_features: int = 100
    C: float = 30.0
    unlabeled_weight: float = 1.0
    priors: str = "labels"
    max_landmarks: int = 1500
    random_state: int = 0

    def _prepare(self, X):
        if self.features not in FEATURES:
            raise InputError(f"features={self.features!r}; allowed: {', '.join(FEATURES)}.")
        if self.features == "linear":
            return linear_features(X, self.n_features)
        seed = self.random_state or 0
        chosen = landmarks(len(X), self.max_landmarks, np.empty(0, np.int64), seed)
        if self.features == "rbf":
            gamma = 1 / (self.width * typical_squared(X, seed))
            K = kernel_block("rbf", X, X[chosen], gamma=gamma)
            axes = landmark_axes(K[chosen], self.n_features)
            return {"Z": K @ axes, "base": X[chosen], "axes": axes, "gamma": float(gamma)}
        lengths = edge_lengths(X, self.n_neighbors)
        G = geodesic_distances(lengths, chosen, self.rho) ** 2
        K = np.exp(-G.T / (self.width * np.median(G)))
        Z = K @ landmark_axes(K[chosen], self.n_features)
        return {"Z": Z, "base": X, "axes": Z, "gamma": 0.0}

    @staticmethod
    def fit_each(models, X, shared, labels, n_classes: int) -> None:
        """Fit models of the same settings to labels of each, (rows, codes), at once.

        Each is as `fit_codes` fits it alone.
        """
        found = [
            (model, (rows, model._begin(X, codes, n_classes)))
            for model, (rows, codes) in zip(models, labels)
        ]
        found = [pair for pair in found if len(pair[0].present_) > 1]
        if found:
            learning, theirs = zip(*found)
            LowDensityClassifier._learn_together(learning, shared, theirs)

    def _learn(self, X, shared, rows, codes):
        self._learn_together([self], shared, [(rows, codes)])

    @staticmethod
    def _learn_together(models, shared, labels):
        """Train models of the same settings at once; each is what it would be alone."""
        Z, labelings = shared["Z"], []
        for model, (rows, codes) in zip(models, labels):
            shares = model._shares(codes)
            signs = np.where(codes[:, None] == np.arange(len(shares)), 1.0, -1.0)
            if len(shares) == 2:
                signs, shares = signs[:, 1:], shares[1:]
            labelings.append(Labeling(rows, signs, shares))
        weights = {"C": models[0].C, "unlabeled_weight": models[0].unlabeled_weight}
        for model, labeling, W in zip(models, labelings, fit_tsvms(Z, labelings, **weights)):
            model.W_, model.mean_ = W, unlabeled_mean(Z, labeling.rows)
            model.shift_ = 2 * labeling.shares - 1
            model.base_, model.axes_, model.gamma_ = shared["base"], shared["axes"], shared["gamma"]
            model.features_, model.n_neighbors_ = model.features, int(model.n_neighbors)

    def _shares(self, codes):
        k = len(self.present_)
        if isinstance(self.priors, str):
            counts = (
                np.bincount(codes, minlength=k) + 1.0 if self.priors == "labels" else np.ones(k)
            )
        else:
            counts = np.asarray(self.priors, dtype=float)[self.present_]
        return counts / counts.sum()

    def _check(self):
        p, (s, d), t = len(self.present_), self.base_.shape, len(self.axes_)
        if len(self.shift_) != (1 if p == 2 else p):
            raise InputError(f"{type(self).__name__}: {len(self.shift_)} scores for {p} classes.")
        if t != (d if self.features_ == "linear" else s) or s < 1:
            raise InputError(
                f"{type(self).__name__}: 'axes_' has {t} rows for a base of {s} x {d}."
            )

    def _proba(self, X, shared, rows):
        Z = self._new_features(X) if shared is None else shared["Z"][rows]
        F = (Z - self.mean_) @ self.W_ + self.shift_
        if F.shape[1] == 1:
            F = np.hstack([-F, F]) / 2
        return softmax(_SHARPNESS * F, axis=1)

    def _new_features(self, X):
        if self.features_ == "linear":
            return (X - self.base_[0]) @ self.axes_
        if self.features_ == "rbf":
            return kernel_block("rbf", X, self.base_, gamma=self.gamma_) @ self.axes_
        distances, found = nearest_rows(self.base_, X, self.n_neighbors_)
        weights = 1 / np.maximum(distances, _SMALLEST) ** 2
        weights /= weights.sum(axis=1, keepdims=True)
        return np.einsum("ij,ijp->ip", weights, self.axes_[found])


def linear_features(X, n_features: int) -> dict:
    """Return principal components, scaled so that rows have a mean squared norm of 1."""
    middle = X.mean(axis=0)
    centered = X - middle
    _, vectors = np.linalg.eigh(centered.T @ centered)
    axes = vectors[:, ::-1][:, :n_features]
    Z = centered @ axes
    scale = np.sqrt(np.mean(np.sum(Z**2, axis=1))) or 1.0
    return {"Z": Z / scale, "base": middle[None], "axes": axes / scale, "gamma": 0.0}


def nearest_rows(base, X, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and indices of each row's nearest rows in ``base``."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=min(n_neighbors, len(base))).fit(base).kneighbors(X)


def edge_lengths(X, n_neighbors: int) -> sparse.csr_array:
    """Return the neighbor graph of the rows with lengths as values (never 0)."""
    distances, found = nearest_rows(X, X, n_neighbors + 1)
    n, k = found.shape
    rows = np.repeat(np.arange(n), k)
    values = np.maximum(distances.ravel(), _SMALLEST)
    is_other = rows != found.ravel()
    entries = (values[is_other], (rows[is_other], found.ravel()[is_other]))
    return sparse.csr_array(entries, shape=(n, n))
