"""What a whole config would take: jobs, CPU time, memory and storage, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass

from fewfold.config.jobs import Jobs
from fewfold.config.resources import need
from fewfold.config.sizes import cut_into, job_sizes, kind_of

# Beside a job's own work: Snakemake, and handing the job over (benchmarks/workflow.py overhead).
SECONDS_PER_JOB = 0.5
METHODS_MEASURED = 11  # in the report of the runs that the cost models come from


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
    plan : fewfold.config.plan.Plan
    """
    found: dict = {}
    for job in Jobs(plan).walk():
        dataset = getattr(job.wildcards, "dataset", "")
        kind, sizes = kind_of(plan, job.wildcards), job_sizes(plan, job.stage, job.wildcards)
        found.setdefault((job.stage, dataset, kind), []).append((job, sizes))
    return [_stage(plan, *key, jobs) for key, jobs in found.items()]


def _stage(plan, rule, dataset, kind, jobs):
    cpu_s = storage = 0.0
    for job, sizes in jobs:
        one = need(rule, sizes, kind)
        parts = cut_into(plan, rule, job.wildcards)
        start = need(rule, sizes._replace(n=1), kind).cpu_s if parts > 1 else 0.0
        cpu_s += start + (one.cpu_s - start) / parts
        storage += one.storage / parts
    if rule == "make_report":
        storage *= len(plan.pairs) / METHODS_MEASURED
    memory = max(need(rule, sizes, kind).memory_mb for _, sizes in jobs)
    return Stage(rule, dataset, kind, len(jobs), cpu_s, memory, storage)


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
