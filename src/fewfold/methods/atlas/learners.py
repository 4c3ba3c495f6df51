"""Learners on encoded points: dual and primal SVMs, nearest neighbor, choice of scales."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.atlas.arrays import finer_part
from fewfold.methods.atlas.encoding import chart_entries, take_rows
from fewfold.methods.atlas.features import KERNEL_OF, atlas_features
from fewfold.methods.atlas.kernels import atlas_kernel_rows, kernel_diagonal, kernel_scales
from fewfold.svm.folds import stratified_folds
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


class DualSVM:
    """SVMs on the kernel."""

    def __init__(self, options: KernelOptions):
        self.options = options

    def fit(self, code, codes, stored=None) -> DualSVM:
        """Train on encoded points and class codes; ``stored``: the kernel among them, if known."""

        def kernel(rows, columns):
            if stored is not None:
                return stored[np.ix_(rows, columns)]
            part = take_rows(code, rows)
            other = part if columns is rows else take_rows(code, columns)
            return self.options.matrix(part, other)

        C, scheme = self.options.penalty(code), self.options.scheme
        svm = fit_kernel_svm(kernel, codes, C, scheme=scheme, balanced=True)
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


class PrimalSVM:
    """One-versus-rest linear SVMs on the features."""

    def __init__(self, options: KernelOptions):
        self.options = options

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


class NearestInAtlas:
    """The label of the nearest labeled point, measured inside the charts."""

    def __init__(self, options: KernelOptions):
        self.options = options

    def fit(self, code, codes) -> NearestInAtlas:
        """Keep the encoded points and class codes."""
        return self.restore(code, np.asarray(codes), int(np.max(codes)) + 1)

    def restore(self, points, codes, n_classes: int) -> NearestInAtlas:
        """Take the state of a fitted learner: encoded labeled points and their class codes."""
        self.points, self.codes, self.n_classes = points, codes, n_classes
        return self

    def shares(self, code) -> np.ndarray:
        """Return 1 for the class of the nearest point; equal shares where no chart is common."""
        nearest, distance = nearest_in_atlas(code, self.points)
        shares = np.eye(self.n_classes)[self.codes[nearest]]
        shares[np.isinf(distance)] = 1 / self.n_classes
        return shares


def nearest_in_atlas(
    code: dict[str, np.ndarray], base: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest encoded point inside the charts.

    The squared distance of two points is the least, over charts both are encoded by, of
    ``|P(x) - P(y)|^2 + E(x) + E(y)``: along the chart, and off it on either side.

    Parameters
    ----------
    code, base : dicts of ndarrays
        Encodings of ``m`` and ``n`` points.

    Returns
    -------
    nearest : int ndarray of shape (m,)
        0 where no chart is common.
    squared : ndarray of shape (m,)
        Squared distances; infinite where no chart is common.
    """
    m = len(code["charts"])
    nearest, squared = np.zeros(m, int), np.full(m, np.inf)
    entries = chart_entries(base["charts"])
    for chart, (r, i) in chart_entries(code["charts"]).items():
        if chart not in entries:
            continue
        c, j = entries[chart]
        A = code["projections"][r, i].astype(np.float64)
        B = base["projections"][c, j].astype(np.float64)
        d2 = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
        d2 += code["errors"][r, i][:, None] + base["errors"][c, j]
        best = d2.argmin(axis=1)
        value = d2[np.arange(len(r)), best]
        better = value < squared[r]
        nearest[r[better]], squared[r[better]] = c[best[better]], value[better]
    return nearest, squared


LEARNERS = {
    "rbf": DualSVM,
    "linear": PrimalSVM,
    "quad": PrimalSVM,
    "quadcross": PrimalSVM,
    "nearest": NearestInAtlas,
}

# Factors tried around the default scales and penalty.
_GRID = {"gamma": (0.7, 1.0, 1.4), "sigma": (0.5, 1.0, 2.0), "C": (0.5, 1.0, 5.0)}


def choose_options(
    code: dict[str, np.ndarray],
    codes: np.ndarray,
    options: KernelOptions,
    free: list[str],
    n_folds: int,
) -> KernelOptions:
    """Choose scales and penalty by cross-validation on labeled points only.

    Parameters
    ----------
    code : dict of ndarrays
        Encoding of the labeled points.
    codes : int ndarray of shape (n_labeled,)
    options : KernelOptions
        Values that stay, and the middle of the grid.
    free : list of str
        Which of "gamma", "sigma" and "C" to choose.
    n_folds : int
        At most the size of the smallest class is used.

    Returns
    -------
    KernelOptions
        Those of least error; of equals, the nearest to the middle of the grid.
    """
    if n_folds < 2:
        raise InputError(f"cv={n_folds}: allowed are numbers from 2 up, or None.")
    folds = stratified_folds(codes, 0, n_folds)
    if folds is None or options.kernel == "nearest":
        return options  # a class seen once leaves nothing to validate on
    middle = options.replace(C=options.penalty(code))
    tried = []
    for factors in product(*(_GRID[name] for name in free)):
        by = dict(zip(free, factors))
        trial = middle.scaled(by.get("gamma", 1.0), by.get("sigma", 1.0))
        trial = trial.replace(C=middle.C * by.get("C", 1.0))
        wrong = 0
        for train, test in folds:
            learner = LEARNERS[options.kernel](trial).fit(take_rows(code, train), codes[train])
            guess = learner.shares(take_rows(code, test)).argmax(axis=1)
            wrong += np.count_nonzero(guess != codes[test])
        away = sum(abs(np.log(f)) for f in factors)
        tried.append((wrong, away, len(tried), trial))
    return min(tried)[3] if tried else options
