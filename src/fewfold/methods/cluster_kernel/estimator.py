"""Kernel logistic regression whose kernel knows the clusters of all rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.special import softmax

from fewfold.methods.candidate import CandidateClassifier
from fewfold.methods.cluster_kernel.ensemble import agreement, make_ensemble, memberships
from fewfold.methods.cluster_kernel.logistic import fit_kernel_logistic
from fewfold.methods.parameters import number
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernels import kernel_block, typical_squared


@dataclass(eq=False, repr=False)
class ClusterKernelClassifier(CandidateClassifier):
    """Logistic regression on k-means agreement times a Gaussian.

    K(a, b) = share of the k-means runs that put a and b together
    x exp(-|a - b|^2 / (width * median squared distance)).

    Parameters
    ----------
    n_clusters : int
        1 gives the Gaussian kernel alone.
    n_runs : int
        Runs of k-means, from different starts.
    width : float
        Of the Gaussian, in medians of the squared distance between rows.
    C : float
        Inverse strength of the penalty.
    random_state : int

    Attributes
    ----------
    classes_, transduction_, label_distributions_ : see `CandidateClassifier`

    Notes
    -----
    Preparing costs ``n_runs * iterations * n * n_clusters * n_features`` multiplications, a fit
    ``m^3`` for m labeled rows, and an answer ``m (n_features + n_runs)`` per row.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, group = make_blobs(200, centers=2, random_state=0, cluster_std=0.5)
    >>> y = np.full(200, -1)
    >>> y[[0, 1, 2, 3, 4, 5]] = group[[0, 1, 2, 3, 4, 5]]
    >>> model = ClusterKernelClassifier(n_clusters=2).fit(X, y)
    >>> bool(np.mean(model.transduction_ == group) > 0.99)
    True
    """

    _learned = (
        Field("X_labeled_", "float", ("m", "d")),
        Field("members_", "int", ("m", "runs"), below="clusters"),
        Field("centers_", "float", ("runs", "clusters", "d")),
        Field("A_", "float", ("m", "p")),
        Field("b_", "float", ("p",)),
        Setting("gamma_", number(0)),
    )

    n_clusters: int = 4
    _: KW_ONLY
    n_runs: int = 20
    width: float = 1.0
    C: float = 10.0
    random_state: int = 0

    def _prepare(self, X):
        seed = self.random_state or 0
        if self.n_clusters == 1:
            centers = np.zeros((0, 1, X.shape[1]))
        else:
            centers = make_ensemble(X, self.n_clusters, self.n_runs, seed)
        return {
            "centers": centers,
            "members": memberships(X, centers),
            "median": typical_squared(X, seed),
        }

    def _learn(self, X, shared, rows, codes):
        self.gamma_ = float(1 / (self.width * shared["median"]))
        self.X_labeled_, self.members_ = X[rows], shared["members"][rows]
        self.centers_ = shared["centers"]
        K = self._kernel(self.X_labeled_, self.members_)
        self.A_, self.b_ = fit_kernel_logistic(K, codes, self.C)

    def _proba(self, X, shared, rows):
        if shared is None:
            members = memberships(X, self.centers_)
        else:
            X, members = X[rows], shared["members"][rows]
        return softmax(self._kernel(X, members) @ self.A_ + self.b_, axis=1)

    def _kernel(self, X, members):
        K = kernel_block("rbf", X, self.X_labeled_, gamma=self.gamma_)
        return K * agreement(members, self.members_) if members.shape[1] else K
