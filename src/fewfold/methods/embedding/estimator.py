"""`EmbeddedClassifier`: SVMs, or the nearest label, on one map of all rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fewfold.graph.neighbors import nearest_neighbors
from fewfold.methods.baselines.feature_svm import CHOOSE_ROWS, FeatureSVC
from fewfold.methods.embedding.maps import embed, place_rows
from fewfold.methods.embedding.stage import positions
from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier
from fewfold.methods.parameters import count, one_of
from fewfold.methods.state import Field, Setting, nested, take_nested

_SVM = "svm_"  # begins the names of the SVM's own state
_NEAREST = (
    Field("base_", "float", ("m", "e")),  # labeled positions
    Field("codes_", "int", ("m",), below="k"),
)


@dataclass(eq=False, repr=False)
class EmbeddedClassifier(SemiSupervisedClassifier):
    """Classify rows by their positions on one map of all rows (LLE or LTSA).

    Parameters
    ----------
    kernel : {"linear", "rbf", "nearest"}
        An SVM, or the nearest labeled point.
    C, gamma, choose_rows : see `FeatureSVC`
    method : {"lle", "ltsa"}
        Map that `fit` makes where none is given: locally linear embedding, or local tangent
        space alignment.
    n_dims : int
        Its dimensions; at most as many as X has.
    n_neighbors : int, optional
        Neighbors of each row; by default ``n_dims`` + 2.
    random_state : int

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    embedding_ : ndarray of shape (n_samples, n_dims)
        Columns of length 1.

    Notes
    -----
    Maps take ``8 n^2`` bytes; see `fewfold.methods.embedding.maps.embed`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, kind = load_iris(return_X_y=True)
    >>> y = np.where(np.arange(150) % 5 == 0, kind, -1)
    >>> model = EmbeddedClassifier(n_dims=2, n_neighbors=12, kernel="nearest").fit(X, y)
    >>> bool(np.mean(model.transduction_ == kind) > 0.8)
    True
    """

    _state = (
        CLASSES,
        Field("X_fit_", "float", ("n", "d"), may_be_sparse=True),
        Field("embedding_", "float", ("n", "e")),
        Setting("n_neighbors_", count()),
        Setting("kernel", one_of("linear", "rbf", "nearest")),
    )

    kernel: str = "linear"
    _: KW_ONLY
    C: float | str = "cv"
    gamma: float | str = "cv"
    choose_rows: int = CHOOSE_ROWS
    method: str = "lle"
    n_dims: int = 10
    n_neighbors: int | None = None
    random_state: int = 0

    def fit(self, X, y, *, manifold=None) -> EmbeddedClassifier:
        """Map all rows and fit a classifier to the positions of the labeled ones.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; see `fewfold.labels` for what marks an unlabeled row.
        manifold : fewfold.methods.base.ManifoldModel, optional
            The map of the rows if it was made already, and their positions if they are known.
        """
        if manifold is None:
            X = self._rows(X, ensure_min_samples=2)
        self.X_fit_, self.n_features_in_ = X, X.shape[1]
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        Z = self._read_map(X, manifold)
        self.svm_ = self.base_ = self.codes_ = None
        if self.kernel == "nearest":
            self.base_, self.codes_ = Z[labels.rows], labels.codes
            details = {"n_neighbors": 1}
        else:
            options = {name: getattr(self, name) for name in ("C", "gamma", "choose_rows")}
            self.svm_ = FeatureSVC(self.kernel, random_state=self.random_state, **options)
            self.svm_.classes_ = labels.classes
            self.svm_.learn(Z, labels.rows, labels.codes)
            details = self.svm_.details_
        return self._finish(None, self._proba(Z), details=details)

    def _read_map(self, X, manifold):
        """Take or make the map; return the positions of the rows."""
        if manifold is None:
            n_dims = min(self.n_dims, X.shape[1], max(1, X.shape[0] - 2))
            wanted = n_dims + 2 if self.n_neighbors is None else self.n_neighbors
            wanted = min(wanted, X.shape[0] - 1)
            seed = int(self.random_state or 0)
            self.embedding_ = embed(X, self.method, n_dims, wanted, seed)
            self.n_neighbors_ = int(wanted)
        else:
            self.embedding_ = np.asarray(manifold.arrays["embedding"])
            self.n_neighbors_ = int(manifold.arrays["n_neighbors"])
            if manifold.points is not None:
                return np.asarray(manifold.points["positions"])
        return positions(self.embedding_, self.embedding_.shape)

    def _decide(self, X, points=None):
        if points is None:
            X = self._rows(X, reset=False)
            placed = place_rows(X, self.X_fit_, self.embedding_, self.n_neighbors_)
            Z = positions(placed, self.embedding_.shape)
        else:
            Z = np.asarray(points["positions"])
        return self._proba(Z)

    def _proba(self, Z):
        if self.svm_ is not None:
            return self.svm_.proba(Z)
        nearest = nearest_neighbors(self.base_, 1, query=Z).indices[:, 0]
        return np.eye(len(self.classes_))[self.codes_[nearest]]

    @classmethod
    def _declare(cls, notes: dict) -> tuple:
        if notes.get("kernel") == "nearest":
            return (*cls._state, *_NEAREST)
        of_svm = [
            f for f in FeatureSVC._declare(take_nested(_SVM, dict(notes))) if f is not CLASSES
        ]
        return (*cls._state, *nested(_SVM, of_svm, shared=("k",)))

    def _pack(self) -> dict:
        if self.svm_ is None:
            return {f.name: getattr(self, f.name) for f in (*self._state, *_NEAREST)}
        return super()._pack() | {_SVM + n: v for n, v in self.svm_._pack().items()}

    def _unpack(self, values: dict) -> None:
        svm, self.svm_ = take_nested(_SVM, values), None
        super()._unpack(values)
        if svm:
            self.svm_ = FeatureSVC()
            self.svm_._unpack({"classes_": self.classes_, **svm})
