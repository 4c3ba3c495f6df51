"""How a neighbor graph is built. Nothing slow is imported here: every plan of a run reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from fewfold.exceptions import InputError
from fewfold.graph.user_functions import as_plain, resolved, resolved_options

PLAIN_METRICS = ("euclidean", "cosine", "precomputed")

# Up to this many rows, candidates in Euclidean distance hold enough of the neighbors under an
# invariant metric.
FEW_TO_EXPLORE = 80_000
# Up to this many rows "auto" compares every pair: 4 CPU seconds with 50 columns.
EXACT_ROWS = 20_000


def is_approximate(method: str, n_rows: int) -> bool:
    """Whether neighbors among so many rows are searched approximately.

    Examples
    --------
    >>> [is_approximate("auto", n) for n in (20_000, 20_001)]
    [False, True]
    """
    return method == "approximate" or (method == "auto" and n_rows > EXACT_ROWS)


@dataclass(frozen=True)
class GraphSettings:
    """How a neighbor graph is built; the fields are the keys of a config's ``graphs`` entry.

    Attributes
    ----------
    n_neighbors : int
        Neighbors kept per point.
    metric : str or callable
        "euclidean", "cosine", "precomputed", or a name of `fewfold.graph.rerank`
        ("deformation", "tangent", ...), which re-ranks candidates; or a function. The import
        path of a function is resolved by `from_config` and `build_graph` alone.
    method : {"auto", "exact", "approximate"}
        How (candidate) neighbors are searched; see `fewfold.graph.neighbors.nearest_neighbors`.
    min_recall : float
        Share of the true neighbors that an approximate search must find.
    weights, bandwidth : see `fewfold.graph.weights.directed_weights`
    symmetrize : {"union", "mutual", "mean"}
    canonicalize : list of str
        Canonical forms applied to each row before the search ("center", "deskew", ...).
    image_shape : list of int, optional
        Shape of one row seen as an image (or signal), for canonical forms and metrics.
    candidates : int
        Candidates per point that a re-ranking metric looks at.
    candidate_dims : int
        Principal components in which the candidates are searched (0: all features).
    metric_options : dict
        Options of the re-ranking metric.
    """

    n_neighbors: int = 10
    metric: str = "euclidean"
    method: str = "auto"
    min_recall: float = 0.99
    weights: str = "self_tuning"
    bandwidth: float | None = None
    symmetrize: str = "union"
    canonicalize: list = field(default_factory=list)
    image_shape: list | None = None
    candidates: int = 30
    candidate_dims: int = 60
    metric_options: dict = field(default_factory=dict)

    @classmethod
    def from_dict(cls, settings: dict) -> GraphSettings:
        """Make settings from a plain dict, refusing unknown keys.

        Nothing is imported: a dict may come from a file of unknown origin.
        """
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(settings) - known)
        if unknown:
            raise InputError(
                f"Unknown graph settings {unknown}. Allowed: {', '.join(sorted(known))}."
            )
        return cls(**settings)

    @classmethod
    def from_config(cls, settings: dict) -> GraphSettings:
        """Make settings from a user's own config, importing the functions that it names."""
        return cls.from_dict(settings).with_user_functions()

    def with_user_functions(self) -> GraphSettings:
        """Import metrics given as "package.module:function".

        For settings from a user's own config or Python call only, never for those of a file.
        """
        options = self.metric_options
        if isinstance(options, dict):
            options = resolved_options(options)
        return replace(self, metric=resolved(self.metric), metric_options=options)

    def to_dict(self) -> dict:
        """Return a plain dict, as stored in a graph file."""
        return {f.name: as_plain(getattr(self, f.name)) for f in fields(self)}

    def for_images(self, image_shape) -> GraphSettings:
        """Fill in the dataset's image shape where the settings need one and have none."""
        if self.is_plain or self.image_shape or image_shape is None:
            return self
        return replace(self, image_shape=list(image_shape))

    @property
    def is_plain(self) -> bool:
        """Whether the search needs neither canonical forms nor re-ranking."""
        return self.metric in PLAIN_METRICS and not self.canonicalize

    def explores(self, n_rows: int) -> bool:
        """Whether neighbors of so many rows are improved by `fewfold.graph.exploring`.

        Examples
        --------
        >>> GraphSettings(metric="deformation").explores(100_000), GraphSettings().explores(100_000)
        (True, False)
        """
        return self.metric not in PLAIN_METRICS and n_rows > FEW_TO_EXPLORE
