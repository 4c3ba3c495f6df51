"""`Atlas`: the charts of a set of points, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fewfold.methods.atlas.encoding import encode
from fewfold.methods.atlas.features import atlas_features
from fewfold.methods.atlas.fitting import MOST_ROWS, fit_atlas
from fewfold.methods.atlas.kernels import kernel_scales
from fewfold.methods.atlas.settings import AtlasSettings


@dataclass(eq=False, repr=False)
class Atlas(TransformerMixin, BaseEstimator, AtlasSettings):
    """Cover points with overlapping affine charts found by graph cuts ([atlas-2014]).

    Parameters
    ----------
    n_dims : int, optional
        Dimension of the charts. Default: the directions that hold 95 % of the variance of the
        median proposal, at most 30.
    mdl : float, optional
        Cost of a chart in use. Default: by the scale of the errors, see ``mdl_factor``.
    mdl_factor : float
        Default cost in units of the mean error of ``n_dims + 1`` points; larger: fewer charts.
    finer : float, optional
        Cost of the charts of a second, finer atlas, as a share of the first's; None: no second.
    n_neighbors : int, optional
        Neighbors that must share the chart whose interior holds a point. Default: one for every
        8 dimensions of the charts, 2 at least.
    n_proposals, proposal_size : int, optional
        Charts to start from, and nearest points each is fitted to.
    n_candidates : int
        An expansion considers the points that have the chart among this many cheapest.
    potts : float
        Cost of a pair of neighbors in different interiors.
    max_rounds : int
        Rounds of assignment and refitting, at most.
    max_features : int or None
        Rows are first projected on this many principal components, if they have more.
    q : int
        Charts that encode a point.
    random_state : int, RandomState or None
        Seed of the proposals.
    verbose : bool
        Show progress bars.

    Attributes
    ----------
    atlas_ : dict of ndarrays
        Charts and assignment, as returned by `fit_atlas`.
    interior_ : ndarray of shape (n_samples,)
        Chart whose interior holds each training row.
    energy_ : ndarray
        Energy after every move; it never rises.
    n_charts_ : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 300)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> atlas = Atlas(n_dims=1).fit(circle)
    >>> atlas.encode(circle, q=2)["charts"].shape
    (300, 2)
    """

    q: int = field(default=10, kw_only=True)
    random_state: int = field(default=0, kw_only=True)
    verbose: bool = field(default=False, kw_only=True)

    def fit(self, X, y=None, *, neighbors=None) -> Atlas:
        """Fit the charts.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : ignored
        neighbors : Neighbors or int array, optional
            Nearest rows of each row; searched if left out.

        Returns
        -------
        self
        """
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=2
        )
        with progress_bar(self.verbose) as progress:
            self.atlas_ = fit_atlas(
                X,
                self,
                neighbors=neighbors,
                random_state=self.random_state,
                progress=progress,
            )
        self.interior_ = self.atlas_["interior"]
        self.energy_ = self.atlas_["energy"]
        self.n_charts_ = len(self.atlas_["means"])
        code = encode(X[:: -(-X.shape[0] // MOST_ROWS)], self.atlas_, self.q)
        self.gamma_, self.sigma_ = kernel_scales(code, self.n_charts_)
        self._n_features_out = self.n_charts_ * (1 + self.atlas_["directions"].shape[1])
        return self

    def encode(self, X, q: int | None = None, rows=None) -> dict[str, np.ndarray]:
        """Encode rows, in training or new, by their charts.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        q : int, optional
            Charts that encode a row. Default: the parameter ``q``.
        rows : int array of shape (n_samples,), optional
            The numbers of these rows among the training rows, whose members are known.

        Returns
        -------
        dict of ndarrays
            Charts, errors and projections, see `fewfold.methods.atlas.encoding.encode`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return encode(X, self.atlas_, self.q if q is None else q, rows)

    def transform(self, X):
        """Return the features of AtlasLinear ([atlas-2014] Eq. 13), rows of length 1.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)

        Returns
        -------
        csr_array of shape (n_samples, n_charts * (1 + n_dims))
        """
        X = np.asarray(X) if not hasattr(X, "dtype") else X
        code = self.encode(X)
        features = atlas_features(code, self.n_charts_, self.gamma_, self.sigma_)
        return features.astype(np.float32 if X.dtype == np.float32 else np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class progress_bar:
    """Context that yields a callable for `fit_atlas`, backed by tqdm, or None."""

    def __init__(self, show: bool):
        self.show = show
        self.bar = None

    def __enter__(self):
        return self._update if self.show else None

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def _update(self, stage, done, total):
        from tqdm import tqdm

        if self.bar is None or self.bar.desc != stage:
            if self.bar is not None:
                self.bar.close()
            self.bar = tqdm(total=total, desc=stage)
        self.bar.total = total
        self.bar.update(done - self.bar.n)
