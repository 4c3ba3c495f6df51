"""What a whole config would take: jobs, CPU time, memory and storage, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fewfold.plan.parts import MANIFOLDS
from fewfold.plan.resources import Sizes, need

# Beside a job's own work: Snakemake, and handing the job over (benchmarks/workflow.py overhead).
SECONDS_PER_JOB = 0.5
METHODS_MEASURED = 11  # in the report of the runs that the laws come from


@dataclass(frozen=True)
class Stage:
    """The jobs of one stage of one dataset.

    Attributes
    ----------
    rule, dataset, kind : str
    jobs : int
    cpu_s, storage : float
        Of all jobs together; seconds, bytes.
    memory_mb : float
        Of one job.
    """

    rule: str
    dataset: str
    kind: str
    jobs: int
    cpu_s: float
    memory_mb: float
    storage: float


def stages(plan) -> list[Stage]:
    """List the stages of a plan with what each takes.

    Parameters
    ----------
    plan : fewfold.plan.plan.Plan
    """
    found = [stage for name in plan.run["datasets"] for stage in _of_dataset(plan, name)]
    largest = max((sizes_of(plan, name) for name in plan.run["datasets"]), key=lambda s: s.n)
    found.append(_stage("collect_metrics", "", "", 1, largest))
    report = _stage("make_report", "", "", 1, largest)
    share = len(plan.pairs) / METHODS_MEASURED
    return [*found, replace(report, storage=share * report.storage)]


def sizes_of(plan, name, *, all_draws=False) -> Sizes:
    """Return the sizes of a dataset's jobs; with ``all_draws`` the rows that any draw labels."""
    entry, shape, labels = plan.dataset(name), plan.describe(name), plan.largest_budget(name)
    if all_draws:
        labels = min(plan.n_rows(name), labels * entry["trials"])
    fits = len(entry["labels"]) * min(entry["trials"], plan.run["trials_per_job"])
    return Sizes(shape.n_samples, columns_of(plan, name), labels, fits)


def columns_of(plan, name) -> int:
    """Return the columns that stages after `prepare_features` see."""
    asked, raw = plan.dataset(name).get("pca"), plan.describe(name).n_features
    return min(int(asked), raw) if asked and asked >= 1 else raw


def _stage(rule, dataset, kind, jobs, sizes):
    """A stage of equal jobs, each of these sizes."""
    one = need(rule, sizes, kind)
    return Stage(
        rule, dataset, kind, jobs, jobs * one.cpu_s, one.memory_mb, jobs * one.storage
    )  # fmt: skip


def _of_dataset(plan, name):
    raw = sizes_of(plan, name)._replace(d=plan.describe(name).n_features)
    sizes, methods = sizes_of(plan, name), plan.methods_for(name)
    any_draw = sizes_of(plan, name, all_draws=True)
    if plan.dataset(name)["source"] != "imported":
        yield _stage("fetch_dataset", name, "", 1, raw)
    yield _stage("prepare_features", name, "", 1, raw)
    for rule in ("prepare_labels", "draw_splits", "draw_map"):
        yield _stage(rule, name, "", 1, sizes)
    yield from _graphs(plan, name, methods, sizes)
    for manifold in sorted({m for method in methods for m in plan.manifolds_of(method)}):
        kind = plan.config["manifolds"][manifold]["type"]
        yield _stage("fit_manifold", name, kind, 1, sizes)
        if MANIFOLDS[kind].encodes:
            yield _stage("encode_points", name, "", 1, sizes)
    for kernel in sorted({k for method in methods for k in plan.kernels_of(method)}):
        kind, tiles = plan.config["kernels"][kernel]["type"], plan.kernel_tiles(name, kernel)
        part = any_draw._replace(labels=-(-any_draw.labels // tiles))
        yield _stage("compute_kernel_tile", name, kind, tiles, part)
        yield _stage("join_kernel", name, "", 1, sizes)
    for _ in plan.transforms(name):
        yield _stage("make_copies", name, "", 1, any_draw)
    batches = len(plan.trial_batches(name))
    for method in methods:
        kind = plan.chain(method).learner
        yield _stage("train_method", name, kind, batches, sizes)
        yield _stage("evaluate_method", name, "", 1, sizes)
        if plan.has_figures(method):
            yield _stage("draw_figures", name, kind, 1, sizes._replace(fits=1))


def _graphs(plan, name, methods, sizes):
    extended = {plan.read_graph(m) for m in methods} if plan.n_held_out(name) else set()
    for graph in sorted({g for method in methods for g in plan.graphs_of(method)}):
        kind, tiles = plan.config["graphs"][graph].get("metric", ""), plan.graph_tiles(name, graph)
        whole, start = (need("search_neighbors", s, kind) for s in (sizes, sizes._replace(n=1)))
        yield Stage("search_neighbors", name, kind, tiles,
                    whole.cpu_s + (tiles - 1) * start.cpu_s, whole.memory_mb,
                    whole.storage)  # fmt: skip
        yield _stage("build_graph", name, "", 1, sizes)
        if graph in extended:
            yield _stage("extend_graph", name, kind, 1, sizes)


@dataclass(frozen=True)
class Estimate:
    """The sums over all stages.

    Attributes
    ----------
    stages : list of Stage
    jobs : int
        As Snakemake counts them, with its own `all`.
    cpu_s : float
        Of all jobs.
    memory_mb : float
        Of the largest job.
    storage : float
        Bytes.
    """

    stages: list[Stage]
    jobs: int
    cpu_s: float
    memory_mb: float
    storage: float

    def wall_s(self, cores: int, slowness: float = 1.0) -> float:
        """Return the least time on so many cores: the work shared out, or the longest job."""
        longest = max(stage.cpu_s / stage.jobs for stage in self.stages)
        return slowness * (max(self.cpu_s / cores, longest) + SECONDS_PER_JOB * self.jobs)


def estimate(plan) -> Estimate:
    """Add up what a plan's stages take."""
    found = stages(plan)
    return Estimate(
        found,
        1 + sum(stage.jobs for stage in found),
        sum(stage.cpu_s for stage in found),
        max(stage.memory_mb for stage in found),
        sum(stage.storage for stage in found),
    )
