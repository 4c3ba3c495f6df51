"""`AtlasSVC`: support vector machines on the kernels and features of an atlas."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.atlas.arrays import finer_part
from fewfold.atlas.encoding import encode, take_rows
from fewfold.atlas.features import KERNEL_OF
from fewfold.atlas.kernels import kernel_scales
from fewfold.atlas.learners import LEARNERS, KernelOptions, choose_options
from fewfold.atlas.model import Atlas
from fewfold.estimator_parts import VotingMixin
from fewfold.exceptions import InputError
from fewfold.kernel_machines import SCHEMES

UNLABELLED = -1
# New rows predicted at a time: the kernel block against 20 000 support rows takes 330 MB.
_BLOCK_ROWS = 4096


class AtlasSVC(VotingMixin, ClassifierMixin, BaseEstimator):
    """Classify points by support vector machines on an atlas of all points ([atlas-2014]).

    The atlas is fitted to all rows, labelled or not; the machine to the labelled ones.

    Parameters
    ----------
    kernel : {"rbf", "linear", "quad", "quadcross", "nearest"}
        "rbf" is the dual machine on Eq. 12; "linear", "quad" and "quadcross" are
        primal machines on Eqs. 13-15, one-versus-rest; "nearest" takes the label of the nearest
        labelled point inside the charts.
    assignment : {"soft", "hard"}
        Weights by reconstruction error, or membership only (Eq. 6).
    normalize : bool
        Divide the kernel by ``sqrt(K_xx K_yy)``; False is the published variant.
    gamma, sigma : float, optional
        Scales of the weights and of the local kernels. Default: from the errors and projections
        of the data.
    C : float, optional
        Penalty of the margin errors. Default: 1 where labels are few to 10 where all
        points have one, over the mean ``K_xx``.
    solver : {"auto", "batch", "sgd"}
        Primal machines by coordinate descent, or by averaged stochastic gradient descent;
        "auto" takes the second where the features have more than 10^9 non-zeros times classes.
    scheme : {"auto", "pairs", "rest"}
        Dual machines for pairs of classes, or for each class against the rest; "auto" takes the
        rest for up to 2000 labels.
    q : int
        Charts that encode a point.
    cv : int, optional
        Choose ``gamma``, ``sigma`` and ``C``, where not given, by this many folds of the
        labelled points.
    atlas : Atlas or dict, optional
        An `Atlas` with the options wanted, or what `fit_atlas` returned for the same rows.
    random_state : int, RandomState or None
    verbose : bool

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Labels of all training rows; given labels are kept.
    atlas_ : dict of ndarrays
    options_ : KernelOptions
        Scales and penalty used.

    Notes
    -----
    ``y == -1`` (numbers) marks unlabelled rows.

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

    def __init__(
        self,
        kernel="rbf",
        *,
        assignment="soft",
        normalize=True,
        gamma=None,
        sigma=None,
        C=None,
        solver="auto",
        scheme="auto",
        q=10,
        cv=None,
        atlas=None,
        random_state=0,
        verbose=False,
    ):
        self.kernel = kernel
        self.assignment = assignment
        self.normalize = normalize
        self.gamma = gamma
        self.sigma = sigma
        self.C = C
        self.solver = solver
        self.scheme = scheme
        self.q = q
        self.cv = cv
        self.atlas = atlas
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y) -> AtlasSVC:
        """Fit the atlas to all rows and the machine to the labelled ones.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Labels; -1 = unlabelled.

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=2
        )
        labelled, codes = self._read_labels(y)
        self.check_options()
        self.atlas_ = self._fit_atlas(X)
        code = encode(X, self.atlas_, self.q, np.arange(X.shape[0]))
        self.fit_code(code, labelled, codes)
        shares = self.shares(code)
        self.transduction_ = self.classes_[shares.argmax(axis=1)]
        self.transduction_[labelled] = self.classes_[codes]
        self.transduction_shares_ = shares
        return self

    def fit_code(self, code: dict[str, np.ndarray], labelled, codes) -> AtlasSVC:
        """Fit the machine to encoded points.

        Parameters
        ----------
        code : dict of ndarrays
            Encoding of all points; its scale gives the defaults.
        labelled : int array of shape (n_labelled,)
        codes : int array of shape (n_labelled,)
            Class codes from 0; each occurs.

        Returns
        -------
        self
        """
        own = take_rows(code, labelled)
        share = len(own["charts"]) / len(code["charts"])
        options = self._options(code, getattr(self, "atlas_", None), len(own["charts"]), share)
        if self.cv is not None:
            free = [name for name in ("gamma", "sigma", "C") if getattr(self, name) is None]
            options = choose_options(own, codes, options, free, self.cv)
        options = options.replace(C=options.penalty(own))
        self.options_ = options
        self.learner_ = LEARNERS[self.kernel](options).fit(own, codes)
        return self

    def _options(self, code, atlas, n_labelled, share):
        n_charts = int(code["charts"].max()) + 1 if atlas is None else len(atlas["means"])
        gamma, sigma = kernel_scales(code, n_charts, n_labelled)
        if self.kernel in KERNEL_OF:
            sigma /= 2  # squares and products of the projections are then of size 1 as well
        finer = finer_part(code)
        if finer is not None:
            part = None if atlas is None else finer_part(atlas)
            finer = self._options(finer, part, n_labelled, share)
        return KernelOptions(
            kernel=self.kernel,
            assignment=self.assignment,
            normalize=self.normalize,
            gamma=gamma if self.gamma is None else self.gamma,
            sigma=sigma if self.sigma is None else self.sigma,
            C=self.C,
            solver=self.solver,
            scheme=self.scheme,
            n_charts=n_charts,
            share_labeled=share,
            seed=_seed(self.random_state),
            finer=finer,
        )

    def predict_proba(self, X) -> np.ndarray:
        """Return the share of each class in the votes: an ordering, not calibrated.

        The training rows and graph are not touched.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return self.shares(encode(X, self.atlas_, self.q))

    def shares(self, code: dict[str, np.ndarray]) -> np.ndarray:
        """Return the share of each class for encoded points, of shape (n, n_classes)."""
        n = len(code["charts"])
        parts = [
            self.learner_.shares(take_rows(code, slice(start, start + _BLOCK_ROWS)))
            for start in range(0, n, _BLOCK_ROWS)
        ]
        return np.concatenate(parts)

    def _fit_atlas(self, X):
        if isinstance(self.atlas, dict):
            if len(self.atlas["interior"]) != X.shape[0]:
                raise InputError(
                    f"The atlas given holds {len(self.atlas['interior'])} points, X has "
                    f"{X.shape[0]} rows. Fit it to the same rows."
                )
            return self.atlas
        if self.atlas is None:
            model = Atlas(random_state=self.random_state, verbose=self.verbose)
        else:
            model = clone(self.atlas)
        return model.fit(X).atlas_

    def _read_labels(self, y):
        check_classification_targets(y)
        known = np.ones(len(y), bool)
        if np.issubdtype(np.asarray(y).dtype, np.number):
            known = y != UNLABELLED
        self.classes_ = np.unique(y[known])
        if len(self.classes_) < 2:
            raise InputError(
                f"AtlasSVC needs labels of 2 classes or more, found {len(self.classes_)} class. "
                "Give labelled points of each class; -1 marks unlabelled ones."
            )
        labelled = np.flatnonzero(known)
        return labelled, np.searchsorted(self.classes_, y[labelled])

    def check_options(self) -> None:
        """Refuse options that are unknown or out of range."""
        choices = {
            "kernel": tuple(LEARNERS),
            "assignment": ("soft", "hard"),
            "solver": ("auto", "batch", "sgd"),
            "scheme": SCHEMES,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name}={getattr(self, name)!r} is unknown. "
                    f"Choose one of {', '.join(allowed)}."
                )
        for name in ("gamma", "sigma", "C", "q"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}={value!r}: allowed are numbers above 0.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _seed(random_state):
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
