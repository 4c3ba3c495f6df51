"""Options of an atlas."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from fewfold.methods.atlas import ATLAS_PARAMETERS
from fewfold.methods.parameters import check_parameters


@dataclass(eq=False)
class AtlasSettings:
    """Options of `fit_atlas`; None means a value that adapts to the data.

    Attributes
    ----------
    n_dims : int, optional
        Dimension of the charts. Default: the directions that hold 95 % of the variance of the
        median proposal, at most 30.
    mdl : float, optional
        Cost of a chart in use. Default: ``mdl_factor * (n_dims + 1)`` times the mean error of a
        point on its cheapest proposal. A chart reconstructs ``n_dims + 1`` points exactly, so
        one that is cheaper than their errors pays for itself without describing any others.
    mdl_factor : float
        Larger: fewer, larger charts.
    finer : float, optional
        Cost of the charts of a second, finer atlas as a share of ``mdl``; None for one atlas
        only. Kernels and features are means over both.
    n_neighbors : int, optional
        Neighbors that must share the chart whose interior holds a point. Default: one for every
        8 dimensions of the charts, 2 at least. With more dimensions, the nearest neighbors of a
        point lie in fewer of the directions in which charts have to overlap.
    n_proposals : int, optional
        Default: ``6 sqrt(n)``, at most one per 5 points.
    proposal_size : int, optional
        Nearest points a proposal is fitted to. Default: a tenth of the points, from
        ``2 n_dims`` (5 at least) to 100.
    n_candidates : int
        An expansion considers the points that have the chart among this many cheapest.
    potts : float
        Cost of a pair of neighbors in different interiors.
    max_rounds : int
        Rounds of assignment and refitting; fewer if the energy falls by less than 0.1 %.
    max_features : int or None
        Rows are first projected on this many principal components, if they have more.
    """

    n_dims: int | None = None
    _: KW_ONLY
    mdl: float | None = None
    mdl_factor: float = 12.0
    finer: float | None = 0.25
    n_neighbors: int | None = None
    n_proposals: int | None = None
    proposal_size: int | None = None
    n_candidates: int = 20
    potts: float = 0.0
    max_rounds: int = 4
    max_features: int | None = 150

    def check(self) -> None:
        """Refuse values out of range."""
        own = {p.name: getattr(self, p.name) for p in ATLAS_PARAMETERS if hasattr(self, p.name)}
        check_parameters("The atlas", ATLAS_PARAMETERS, own)
