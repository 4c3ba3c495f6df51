"""k-means clusters, named by the labels in them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fewfold.labels import read_labels
from fewfold.methods.estimators import CLASSES, SemiSupervisedClassifier
from fewfold.methods.state import Field


@dataclass(eq=False, repr=False)
class NamedKMeans(SemiSupervisedClassifier):
    """k-means clusters, each named by the majority of its labeled rows, if there are any.

    Parameters
    ----------
    n_clusters : int, optional
        By default one per class.
    n_classes : int, optional
        Needed where no row has a label; clusters are then numbered.
    n_init : int
    random_state : int
    """

    _state = (
        CLASSES,
        Field("centers_", "float", ("c", "d")),
        Field("names_", "int", ("c",), low=-1),
    )

    n_clusters: int | None = None
    _: KW_ONLY
    n_classes: int | None = None
    n_init: int = 10
    random_state: int = 0
    _dtype = None

    def fit(self, X, y):
        """Cluster all rows; name the clusters by the labels."""
        from sklearn.cluster import KMeans

        X = self._rows(X)
        self._check_parameters()
        # Told how many classes there are, it knows that they are numbered from 0.
        labels = read_labels(
            y, X.shape[0], name="NamedKMeans", min_classes=0, numbered=self.n_classes is not None
        )
        count = int(self.n_clusters or self.n_classes or max(1, labels.n_classes))
        seed = self.random_state % 2**31
        model = KMeans(count, n_init=int(self.n_init), random_state=seed)
        cluster = model.fit_predict(X)
        self.centers_, self.classes_ = model.cluster_centers_, np.arange(count)
        self.names_ = np.arange(count)
        if len(labels.rows):
            self.classes_ = labels.classes
            votes = np.zeros((count, labels.n_classes))
            np.add.at(votes, (cluster[labels.rows], labels.codes), 1)
            # A cluster without a labeled row stays unknown.
            self.names_ = np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), -1)
        codes = self.names_[cluster]
        proba = np.eye(len(self.classes_))[np.maximum(codes, 0)]
        return self._finish(None, proba, codes >= 0, details={"inertia": float(model.inertia_)})

    def _decide(self, X):
        from sklearn.metrics import pairwise_distances_argmin

        X = self._rows(X, reset=False)
        codes = self.names_[pairwise_distances_argmin(X, self.centers_)]
        return np.eye(len(self.classes_))[np.maximum(codes, 0)], codes >= 0
