"""`AtlasSVC`: SVMs on the kernels and features of an atlas."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone

from fewfold.exceptions import InputError
from fewfold.methods.atlas.arrays import coarse_part
from fewfold.methods.atlas.encoding import encode, encoding_width, take_rows
from fewfold.methods.atlas.features import KERNEL_OF
from fewfold.methods.atlas.kernel_stage import level_of
from fewfold.methods.atlas.learners import LEARNERS, scaled_options
from fewfold.methods.atlas.model import Atlas
from fewfold.methods.atlas.selection import GRID, PUBLISHED_GRID, choose_options
from fewfold.methods.atlas.state import HEAD, declare, pack, unpack
from fewfold.methods.estimators import SemiSupervisedClassifier, seed_of
from fewfold.methods.variants import PUBLISHED, option

# New rows predicted at a time: the kernel block against 20 000 support rows takes 330 MB.
_BLOCK_ROWS = 4096

VARIANTS = {
    "default": {
        "normalize": True, "scheme": "auto", "balanced": True, "solver": "auto", "cv": None,
    },
    "published": {
        "normalize": False, "scheme": "pairs", "balanced": False, "solver": "sgd", "cv": 5,
    },
}  # fmt: skip


@dataclass(eq=False, repr=False)
class AtlasSVC(SemiSupervisedClassifier):
    """Classify points by SVMs on an atlas of all points ([atlas-2014]).

    The atlas is fitted to all rows, labeled or not; the SVM to the labeled ones.

    Parameters
    ----------
    kernel : {"rbf", "linear", "quad", "quadcross", "nearest"}
        "rbf" is the dual SVM on Eq. 12; "linear", "quad" and "quadcross" are primal SVMs on
        Eqs. 13-15, one-versus-rest; "nearest" takes the label of the nearest labeled point,
        all points moved to their cheapest charts (Eq. 3).
    variant : {"default", "published"}
        "published" is the paper's algorithm: one atlas (a finer one is ignored), the plain
        kernel, pairs of classes without weights (primal SVMs: one-versus-rest by averaged
        gradient steps, projections as they are), gamma, sigma and C by 5 folds of the labeled
        points. Options that are given come first. What the paper leaves open, and the value
        taken: ``docs/methods/atlas.md``.
    assignment : {"soft", "hard"}
        Weights by reconstruction error, or membership only (Eq. 6).
    normalize : bool, optional
        Divide the kernel by ``sqrt(K_xx K_yy)``. Default: True; published: False.
    balanced : bool, optional
        In pairs of classes, errors of the smaller one weigh more. Default: True; published:
        False.
    gamma, sigma : float, optional
        Scales of the weights and of the local kernels. Default: from the errors and projections
        of the data.
    C : float, optional
        Penalty of the margin errors. Default: 1 where labels are few to 10 where all
        points have one, over the mean ``K_xx``.
    solver : {"auto", "batch", "sgd"}, optional
        Primal SVMs by coordinate descent, or by averaged stochastic gradient descent;
        "auto", the default, takes the second where the features have more than 10^9 non-zeros
        times classes. Published: "sgd".
    scheme : {"auto", "pairs", "rest"}, optional
        Dual SVMs for pairs of classes, or for each class against the rest; "auto", the default,
        takes the rest for up to 2000 labels. Published: "pairs".
    q : int
        Charts that encode a point.
    cv : int, optional
        Choose ``gamma``, ``sigma`` and ``C``, where not given, by this many folds of the
        labeled points, or of 2000 of them. Default: not; published: 5.
    atlas : Atlas, optional
        An `Atlas` with the options wanted. A fitted one is given to `fit` as ``manifold``.
    random_state : int, RandomState or None
        Seed of the atlas's proposals and of the SVM's folds.
    verbose : bool
        Show progress bars while the atlas is fitted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training rows; given labels are kept.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
    atlas_ : dict of ndarrays
    options_ : KernelOptions
        Scales and penalty used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> ring = np.repeat([1.0, 2.0], 100)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    >>> y = np.full(200, -1)
    >>> y[:20], y[100:120] = 0, 1
    >>> model = AtlasSVC(atlas=Atlas(n_dims=1, mdl=0.1)).fit(ring, y)
    >>> float(np.mean(model.transduction_ == np.repeat([0, 1], 100))) > 0.9
    True
    """

    _state = HEAD

    kernel: str = "rbf"
    _: KW_ONLY
    variant: str = "default"
    assignment: str = "soft"
    normalize: bool | None = None
    balanced: bool | None = None
    gamma: float | None = None
    sigma: float | None = None
    C: float | None = None
    solver: str | None = None
    scheme: str | None = None
    q: int = 10
    cv: int | None = None
    atlas: Atlas | None = None
    random_state: int = 0
    verbose: bool = False

    def fit(self, X, y, *, manifold=None, kernel=None) -> AtlasSVC:
        """Fit the atlas to all rows and the SVM to the labeled ones.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Classes; -1, NaN, None, "" or "-1" marks unlabeled rows (`fewfold.labels`).
        manifold : fewfold.methods.base.ManifoldModel, optional
            The atlas of the rows if it was fitted already, and their encoding if it is known.
        kernel : fewfold.pipeline.kernel_files.KernelMatrix, optional
            Stored rows of the kernel, used where they have the scales that are wanted.

        Returns
        -------
        self
        """
        if manifold is None:
            X = self._rows(X, ensure_min_samples=2)
        else:
            self.n_features_in_ = X.shape[1]
        labels = self._read_labels(y, X.shape[0], min_classes=2)
        code = self._read_atlas(X, manifold)
        shares = self.fit_code(code, labels.rows, labels.codes, kernel).stored_shares_
        shares = self.shares(code) if shares is None else shares
        details = {
            "gamma": self.options_.gamma,
            "sigma": self.options_.sigma,
            "C": self.options_.C,
            "n_charts": len(self.atlas_["means"]),
        }
        return self._finish(labels, shares, details=details)

    def _read_atlas(self, X, manifold):
        """Take or fit the atlas; return the encoding of the rows."""
        if manifold is None:
            own = {"finer": None, "max_features": None} if self._is_published else {}
            model = Atlas(random_state=self.random_state, verbose=self.verbose, **own)
            model = model if self.atlas is None else clone(self.atlas)
            self.atlas_ = model.set_params(q=self.q).fit(X).atlas_
        else:
            self.atlas_ = manifold.arrays
            if len(self.atlas_["interior"]) != X.shape[0]:
                raise InputError(
                    f"The atlas given holds {len(self.atlas_['interior'])} points, X has "
                    f"{X.shape[0]} rows. Fit it to the same rows."
                )
        self.atlas_ = self._levels(self.atlas_)
        if manifold is None or manifold.points is None:
            return encode(X, self.atlas_, self.q, np.arange(X.shape[0]))
        return {n: np.asarray(value) for n, value in self._levels(manifold.points).items()}

    @property
    def _is_published(self):
        return self.variant == PUBLISHED

    def _levels(self, arrays):
        """Return the arrays of the atlases in use: one as published, else all there are."""
        return coarse_part(arrays) if self._is_published else dict(arrays)

    def fit_code(self, code: dict[str, np.ndarray], labeled, codes, kernel=None) -> AtlasSVC:
        """Fit the SVM to encoded points.

        Parameters
        ----------
        code : dict of ndarrays
            Encoding of all points; its scale gives the defaults.
        labeled : int array of shape (n_labeled,)
            The labeled rows.
        codes : int array of shape (n_labeled,)
            Class codes from 0; each occurs.
        kernel : KernelMatrix, optional
            See `fit`.

        Returns
        -------
        self
        """
        own = take_rows(code, labeled)
        share = len(own["charts"]) / len(code["charts"])
        options = self._options(code, getattr(self, "atlas_", None), len(own["charts"]), share)
        cv = option(self, VARIANTS, "cv")
        if cv is not None:
            grid = PUBLISHED_GRID if self._is_published else GRID
            options = choose_options(own, codes, options, self._free(), cv, grid)
        options = options.replace(C=options.penalty(own))
        self.options_ = options
        self.q_ = encoding_width(code)
        atlas = getattr(self, "atlas_", None)
        self.learner_, self.stored_shares_ = LEARNERS[self.kernel](options, atlas), None
        stored = self._stored(kernel, labeled)
        if stored is None:
            self.learner_.fit(own, codes)
            return self
        self.learner_.fit(own, codes, stored[:, labeled])
        self._support = np.asarray(labeled)[self.learner_.svm.support]
        K = stored[self.learner_.svm.support]
        self.stored_shares_ = self._kernel_shares(K[:, : kernel.n])
        return self

    def _free(self):
        """Return the names of the scales and penalty that are to be chosen."""
        names = [name for name in ("gamma", "sigma", "C") if getattr(self, name) is None]
        fixed = {"gamma"} if self.assignment == "hard" else set()
        if self._is_published and self.kernel in KERNEL_OF:
            fixed |= {"sigma"}  # Eqs. 13-15 have none
        return [name for name in names if name not in fixed]

    def _stored(self, kernel, rows):
        """Return the rows of a stored kernel with the scales in use; None if there are none."""
        self._level = self._support = None
        if kernel is None or kernel.type != "atlas" or self.kernel != "rbf":
            return None
        self._level = kernel.level({"n_labeled": len(rows), **level_of(self.options_)})
        return None if self._level is None else kernel.all_rows(rows, self._level)

    def _kernel_shares(self, K):
        """Return the shares of points from support rows of the kernel, a block at a time."""
        parts = [
            self.learner_.kernel_shares(K[:, start : start + _BLOCK_ROWS].T)
            for start in range(0, K.shape[1], _BLOCK_ROWS)
        ]
        return np.concatenate(parts)

    def _options(self, code, atlas, n_labeled, share):
        by_variant = {n: option(self, VARIANTS, n) for n in VARIANTS[self.variant] if n != "cv"}
        sigma = self.sigma
        if self._is_published:
            n_labeled = None  # sigma that widens where labels are few is ours
            sigma = 1.0 if sigma is None and self.kernel in KERNEL_OF else sigma
        return scaled_options(
            code,
            atlas,
            n_labeled,
            self.gamma,
            sigma,
            kernel=self.kernel,
            assignment=self.assignment,
            C=self.C,
            share_labeled=share,
            seed=seed_of(self.random_state),
            **by_variant,
        )

    def _decide(self, X, points=None, kernel=None):
        if kernel is not None and getattr(self, "_support", None) is not None:
            shares = self._kernel_shares(kernel.all_rows(self._support, self._level)[:, kernel.n :])
            return shares
        if points is None:
            points = encode(self._rows(X, reset=False), self.atlas_, self.q_)
        return self.shares({n: np.asarray(v) for n, v in self._levels(points).items()})

    def decision_function(self, X) -> np.ndarray:
        """Return a score per class, or of the second class if there are two.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares

    def shares(self, code: dict[str, np.ndarray]) -> np.ndarray:
        """Return the share of each class for encoded points.

        Parameters
        ----------
        code : dict of ndarrays
            Encoding of n points, see `Atlas.encode`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Shares order the classes; they are not calibrated.
        """
        n = len(code["charts"])
        parts = [
            self.learner_.shares(take_rows(code, slice(start, start + _BLOCK_ROWS)))
            for start in range(0, n, _BLOCK_ROWS)
        ]
        return np.concatenate(parts)

    _declare = staticmethod(declare)

    def _pack(self) -> dict:
        return pack(self)

    def _unpack(self, values: dict) -> None:
        self.classes_, self.q_ = values["classes_"], values["q"]
        self.atlas_, self.options_, self.learner_ = unpack(values)
