"""What a job takes, from the sizes the plan knows: seconds, memory, storage.

The cost models are fitted to measurements (docs/notes/scaling.md): cost_model.csv, which
`benchmarks/scaling.py cost-model` writes from data/measured/scaling.csv.
Requests to a scheduler leave room above them, and a job that still asks for too little is tried
again with more (`grow`). They do not change a result, and are no part of the config.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from fewfold.methods.registry import sections

# Room that a request leaves above the cost model, for other data, and for machines that are slower.
SPARE_MEMORY, SPARE_TIME = 1.5, 5.0
LEAST_MB, LEAST_MIN = 500, 3

# For want of a measurement, a metric is taken to cost what its nearest relative does.
LIKE = {
    "cosine": "euclidean", "precomputed": "euclidean", "tangent": "deformation",
    "orbit": "deformation", "exploring": "deformation", "approximate": "euclidean",
}  # fmt: skip
# The jobs of `fewfold label` were measured on many rows, family by family. Up to so many, there are
# candidates that look at pairs: a job is taken to cost at least what the most expensive method
# does.
LABEL_STAGES = ("prepare_candidates", "examine_candidates", "label_rows")
MANY_ROWS = 50_000
LABEL_COLUMNS = 30  # measured; what more there are is held about three times, in float32
# What works on the columns as they came, whatever they are reduced to: two stages, and a metric.
RAW, PIXELS = ("fetch_dataset", "prepare_features"), "deformation"
# Charts are fitted to a sample of more rows (`fewfold.methods.atlas.fitting.MOST_ROWS`).
MOST_FITTED = {("fit_manifold", "atlas"): 100_000}
# The section of records whose kinds a stage has.
SECTION = {"train_method": "methods", "fit_manifold": "manifolds", "encode_points": "manifolds",
           "compute_kernel_tile": "kernels"}  # fmt: skip


class Sizes(NamedTuple):
    """What a stage's cost depends on.

    Attributes
    ----------
    n, d : int
        Rows and columns.
    labels : int
        Labeled rows: of the largest draw, or for kernels and copies of all draws.
    fits : int
        Cells (trial and budget) of a training job.
    """

    n: int
    d: int
    labels: int = 100
    fits: int = 1


class CostModel(NamedTuple):
    """``base + factor fits (n / 1000)^n (labels / 100)^labels (d / D)^d``, D the columns measured.

    Examples
    --------
    >>> CostModel(2.0, 1.0, 2.0, 0.0, 0.0).at(Sizes(2000, 50))
    6.0
    """

    base: float
    factor: float
    n: float
    labels: float
    d: float

    def at(self, sizes: Sizes, columns: int = 50) -> float:
        """Return the model's value."""
        grows = (sizes.n / 1000) ** self.n * (max(sizes.labels, 1) / 100) ** self.labels
        return self.base + self.factor * sizes.fits * grows * (sizes.d / columns) ** self.d


class Need(NamedTuple):
    """What a job takes: CPU seconds, peak memory in MB, bytes that it leaves on disk."""

    cpu_s: float
    memory_mb: float
    storage: float


def _read_models() -> dict[tuple[str, str], list[CostModel]]:
    """Return {(stage, kind): models of CPU seconds, MB of memory and bytes on disk}."""
    found: dict = {}
    with open(Path(__file__).with_name("cost_model.csv"), newline="", encoding="utf-8") as file:
        for row in list(csv.reader(file))[1:]:
            found.setdefault((row[0], row[1]), []).append(CostModel(*map(float, row[3:])))
    return found


COST_MODELS = _read_models()


def known_kind(stage: str, kind: str) -> str:
    """Return the kind whose measured cost model stands for this one."""
    if (stage, kind) not in COST_MODELS:
        record = sections()[SECTION[stage]].get(kind) if stage in SECTION else None
        kind = (record.cost_like if record else LIKE.get(kind)) or kind
    return kind if (stage, kind) in COST_MODELS else ""


def columns_measured(stage: str, kind: str) -> int:
    """Return the columns of the data that a stage was measured on: pixels, or components."""
    return 784 if stage in RAW or kind == PIXELS else 50


def need(stage: str, sizes: Sizes, kind: str = "") -> Need:
    """Return what the whole of a stage takes, before it is cut into tiles.

    Parameters
    ----------
    stage : str
        A rule's name.
    sizes : Sizes
    kind : str
        Metric of a graph, type of a manifold or kernel, or learner. A stage that was measured
        for other kinds only is taken to cost what its most expensive kind does.

    Examples
    --------
    >>> small, large = (need("search_neighbors", Sizes(n, 50), "euclidean") for n in (10**4, 10**6))
    >>> large.cpu_s > 1000 * small.cpu_s
    True
    """
    needs = []
    if stage in LABEL_STAGES and sizes.n <= MANY_ROWS:
        needs.append(need("train_method", sizes))
    found = known_kind(stage, kind)
    keys = (
        [(stage, found)]
        if (stage, found) in COST_MODELS
        else [k for k in COST_MODELS if k[0] == stage]
    )
    columns = columns_measured(stage, found)
    sizes = sizes._replace(n=min(sizes.n, MOST_FITTED.get((stage, found), sizes.n)))
    if stage != "train_method":
        sizes = sizes._replace(fits=1)
    needs += [
        Need(
            seconds.at(sizes, columns),
            memory.at(sizes._replace(fits=1), columns),
            storage.at(sizes, columns),
        )
        for seconds, memory, storage in map(COST_MODELS.get, keys)
    ]
    if stage in LABEL_STAGES:
        wider = 3 * 4e-6 * sizes.n * max(0, sizes.d - LABEL_COLUMNS)
        needs = [one._replace(memory_mb=one.memory_mb + wider) for one in needs]
    return Need(*(max(values) for values in zip(*needs)))


def grow(value: float, attempt: int) -> int:
    """Return the request of an attempt: doubled each time, rounded up."""
    return int(value * 2 ** (attempt - 1)) + 1


def memory_mb(stage: str, sizes: Sizes, kind: str = "") -> float:
    """Return the memory that a stage's job asks for."""
    return max(LEAST_MB, SPARE_MEMORY * need(stage, sizes, kind).memory_mb)


def runtime_min(stage: str, sizes: Sizes, kind: str = "", jobs: int = 1) -> float:
    """Return the minutes that one of a stage's ``jobs`` asks for."""
    return LEAST_MIN + SPARE_TIME * need(stage, sizes, kind).cpu_s / jobs / 60
