"""Learners on encoded points: dual and primal SVMs, and the nearest neighbor."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from fewfold.graph.neighbors import nearest_neighbors
from fewfold.methods.atlas.arrays import finer_part
from fewfold.methods.atlas.encoding import back_project, take_rows
from fewfold.methods.atlas.features import KERNEL_OF, atlas_features
from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_diagonal, kernel_scales
from fewfold.svm.kernel_svm import KernelSVM, fit_kernel_svm
from fewfold.svm.probability import decisions_to_proba

# Rows whose features are built at once: with cross products, 10 charts of 30 dimensions and two
# atlases a row holds 10 000 values, and building takes five times their memory.
_FEATURE_ROWS = 4096
# Up to this many non-zeros times classes primal SVMs are solved exactly, which takes about a
# minute. Beyond, averaged gradient steps: LETTER's training part, 20 % of it held out, has 3.41 %
# errors then and 3.12 % when solved, at a third of the time.
_BATCH_WORK = 10**9


def default_penalty(mean_diagonal: float, share_labeled: float) -> float:
    """Return the penalty of the margin errors when none is given.

    Parameters
    ----------
    mean_diagonal : float
        Mean of ``K_xx``, 1 for a normalized kernel.
    share_labeled : float
        Share of the points that carry a label.

    Returns
    -------
    float
        From 1 where labels are few, and one that lies among others must not bend the boundary,
        to 10 where every point has one; over ``mean_diagonal``.

    Examples
    --------
    >>> default_penalty(0.5, 0.0)
    2.0
    """
    return (1 + 9 * min(share_labeled, 1.0)) / max(mean_diagonal, 1e-12)


@dataclass(frozen=True)
class KernelOptions:
    """Everything a learner on encoded points needs; see `AtlasSVC`."""

    kernel: str = "rbf"
    assignment: str = "soft"
    normalize: bool = True
    gamma: float = 1.0
    sigma: float = 1.0
    C: float | None = None
    solver: str = "auto"
    scheme: str = "auto"
    balanced: bool = True
    n_charts: int = 1
    share_labeled: float = 0.0
    seed: int = 0
    finer: KernelOptions | None = None

    def scaled(self, gamma: float, sigma: float) -> KernelOptions:
        """Return a copy with both scales multiplied, on the finer atlas too."""
        finer = None if self.finer is None else self.finer.scaled(gamma, sigma)
        return self.replace(gamma=gamma * self.gamma, sigma=sigma * self.sigma, finer=finer)

    def replace(self, **changes) -> KernelOptions:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def matrix(self, code_rows, code_all) -> np.ndarray:
        """Return the kernel between two sets of encoded points, the mean over the atlases."""
        K = atlas_kernel_rows(
            code_rows,
            code_all,
            self.gamma,
            self.sigma,
            KERNEL_OF.get(self.kernel, self.kernel),
            self.normalize,
            self.assignment,
        )
        if self.finer is not None:
            K += self.finer.matrix(finer_part(code_rows), finer_part(code_all))
            K /= 2
        return K

    def features(self, code):
        """Return the sparse features of encoded points, those of both atlases side by side."""
        n = len(code["charts"])
        parts = [
            self._features(take_rows(code, slice(start, start + _FEATURE_ROWS)))
            for start in range(0, max(n, 1), _FEATURE_ROWS)
        ]
        return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")

    def _features(self, code):
        features = atlas_features(
            code,
            self.n_charts,
            self.gamma,
            self.sigma,
            self.kernel,
            self.normalize,
            self.assignment,
        )
        if self.finer is not None:
            both = [features, self.finer._features(finer_part(code))]
            features = sparse.hstack(both, format="csr")
            features.data *= np.float32(np.sqrt(0.5))
        return features

    def penalty(self, code) -> float:
        """Return C: as given, or by `default_penalty`."""
        if self.C is not None:
            return float(self.C)
        if self.normalize:
            return default_penalty(1.0, self.share_labeled)
        kind = KERNEL_OF.get(self.kernel, self.kernel)
        own = float(kernel_diagonal(code, self.gamma, self.sigma, kind, self.assignment).mean())
        if self.finer is not None:
            part, other = finer_part(code), self.finer
            fine = kernel_diagonal(part, other.gamma, other.sigma, kind, self.assignment).mean()
            own = (own + float(fine)) / 2
        return default_penalty(own, self.share_labeled)


def scaled_options(
    code, atlas: dict | None, n_labeled: int | None, gamma=None, sigma=None, **options
) -> KernelOptions:
    """Return options whose scales, where not given, are those of the data.

    Parameters
    ----------
    code : dict of ndarrays
        Encoding of all points.
    atlas : dict of ndarrays, optional
        Tells the number of charts; by default those that some point is encoded by.
    n_labeled : int or None
    gamma, sigma : float or None
    **options
        Other fields of `KernelOptions`.
    """
    n_charts = int(code["charts"].max()) + 1 if atlas is None else len(atlas["means"])
    own_gamma, own_sigma = kernel_scales(code, n_charts, n_labeled)
    if options["kernel"] in KERNEL_OF:
        own_sigma /= 2  # squares and products of the projections are then of size 1 as well
    finer = finer_part(code)
    if finer is not None:
        part = None if atlas is None else finer_part(atlas)
        finer = scaled_options(finer, part, n_labeled, gamma, sigma, **options)
    return KernelOptions(
        gamma=own_gamma if gamma is None else gamma,
        sigma=own_sigma if sigma is None else sigma,
        n_charts=n_charts,
        finer=finer,
        **options,
    )


class _OnAtlas:
    """What learners on encoded points are made of: their options, and the charts."""

    def __init__(self, options: KernelOptions, atlas: dict | None = None):
        self.options, self.atlas = options, atlas


class DualSVM(_OnAtlas):
    """SVMs on the kernel."""

    def fit(self, code, codes, stored=None) -> DualSVM:
        """Train on encoded points and class codes; ``stored``: the kernel among them, if known."""

        def kernel(rows, columns):
            if stored is not None:
                return stored[np.ix_(rows, columns)]
            part = take_rows(code, rows)
            other = part if columns is rows else take_rows(code, columns)
            return self.options.matrix(part, other)

        how = {"scheme": self.options.scheme, "balanced": self.options.balanced}
        svm = fit_kernel_svm(kernel, codes, self.options.penalty(code), **how)
        return self.restore(take_rows(code, svm.support), svm)

    def restore(self, points, svm: KernelSVM) -> DualSVM:
        """Take the state of a fitted learner: encoded support points, and their coefficients."""
        self.points, self.svm = points, svm
        return self

    def shares(self, code) -> np.ndarray:
        """Return the share of each class, of shape (n, n_classes)."""
        return self.kernel_shares(self.options.matrix(code, self.points))

    def kernel_shares(self, K) -> np.ndarray:
        """Return the same from the kernel between points and the support points."""
        return self.svm.proba(K, 5.0, "product")


class PrimalSVM(_OnAtlas):
    """One-versus-rest linear SVMs on the features."""

    def fit(self, code, codes) -> PrimalSVM:
        """Train on encoded points and class codes."""
        from sklearn.linear_model import SGDClassifier
        from sklearn.svm import LinearSVC

        C = self.options.penalty(code)
        features = self.options.features(code)
        solver = self.options.solver
        large = features.nnz * (int(codes.max()) + 1) > _BATCH_WORK
        if solver == "sgd" or (solver == "auto" and large):
            # 10 passes at least, and 100 000 steps where the points are few.
            passes = int(max(10, np.ceil(1e5 / len(codes))))
            svm = SGDClassifier(
                alpha=1 / (C * len(codes)),
                average=passes * len(codes) // 2,  # steps left out: the first ones are far off
                max_iter=passes,
                tol=None,
                random_state=self.options.seed,
            )
        else:
            svm = LinearSVC(C=C, max_iter=5000, random_state=self.options.seed)
            # Features are float32, which this solver would copy to float64 once per class.
            features = features.astype(np.float64)
        svm.fit(features, codes)
        return self.restore(svm.coef_.T, svm.intercept_)

    def restore(self, weights, intercepts) -> PrimalSVM:
        """Take the state of a fitted learner: weights of features, one column per decision."""
        self.weights, self.intercepts = weights, intercepts
        return self

    def shares(self, code) -> np.ndarray:
        """Return the share of each class, of shape (n, n_classes)."""
        decisions = self.options.features(code) @ self.weights + self.intercepts
        if decisions.shape[1] == 1:
            # For two classes the decision counts for one and against the other: already twice.
            return decisions_to_proba(decisions[:, 0], 1.0)
        return decisions_to_proba(decisions, 2.0)


class NearestInAtlas(_OnAtlas):
    """The label of the nearest labeled point, all points moved to their cheapest charts."""

    def fit(self, code, codes) -> NearestInAtlas:
        """Keep the back-projections of encoded points, and class codes."""
        base = back_project(code, self.atlas)
        return self.restore(base, np.asarray(codes), int(np.max(codes)) + 1)

    def restore(self, base, codes, n_classes: int) -> NearestInAtlas:
        """Take the state of a fitted learner: back-projected labeled points and their codes."""
        self.base, self.codes, self.n_classes = base, codes, n_classes
        return self

    def shares(self, code) -> np.ndarray:
        """Return 1 for the class of the nearest point, of shape (n, n_classes)."""
        query = back_project(code, self.atlas)
        nearest = nearest_neighbors(self.base, 1, query=query).indices[:, 0]
        return np.eye(self.n_classes)[self.codes[nearest]]


LEARNERS = {
    "rbf": DualSVM,
    "linear": PrimalSVM,
    "quad": PrimalSVM,
    "quadcross": PrimalSVM,
    "nearest": NearestInAtlas,
}
