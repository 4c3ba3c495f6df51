"""`fewfold doctor --plan`: what a config would cost on this computer."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from fewfold.config.defaults import merge
from fewfold.config.estimate import Estimate, estimate
from fewfold.config.paths import resolve_paths
from fewfold.config.plan import Plan
from fewfold.config.reading import read_config
from fewfold.system.memory import allowed_cores
from fewfold.system.outputs import nearest_folder

# CPU seconds of `exercise` on the machine on which the cost models were measured.
REFERENCE_S = 0.0046


def plan_of(configfiles) -> Plan:
    """Return the plan of config files over the defaults.

    Raises
    ------
    ConfigError
        For a file that cannot be read, or a config that is not valid.
    """

    from fewfold.config.schema import read_schema, validate
    from fewfold.system.location import project_root

    root, config = project_root(), {}
    for path in (root / "config/config.yaml", *map(Path, configfiles)):
        config = merge(config, read_config(path, "--plan"))
    config = resolve_paths(config, configfiles)
    validate(config, read_schema(root))
    return Plan(config)


def exercise() -> float:
    """Return the CPU seconds that a fixed piece of work takes here: products and plain Python.

    The least of many short turns: other programs disturb some of them. Of this thread alone:
    where cores are busy, the helpers of a product count their waiting as work.
    """
    import numpy as np

    X = np.ones((300, 300), np.float32)
    taken = []
    for _ in range(25):
        start = time.thread_time()
        X @ X
        sum(i * i for i in range(100_000))
        taken.append(time.thread_time() - start)
    return min(taken)


def duration(seconds: float) -> str:
    """Write seconds with the unit that fits: seconds, minutes, hours, days or years.

    Examples
    --------
    >>> [duration(s) for s in (5, 200, 9000, 10**6, 10**9)]
    ['5 s', '3.3 min', '2.5 h', '11.6 days', '31.7 years']
    """
    for least, unit, name in (
        (2 * 365 * 86400, 365 * 86400, "years"), (2 * 86400, 86400, "days"), (2 * 3600, 3600, "h"),
        (120, 60, "min"),
    ):  # fmt: skip
        if seconds >= least:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.0f} s"


def _size(count):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.0f} {unit}" if unit in ("B", "kB") else f"{count:.1f} {unit}"
        count /= 1000
    return ""


def show_plan(configfiles, folder: Path, echo=print) -> Estimate:
    """Print what a config would take here, and what would not fit."""
    import psutil

    plan = plan_of(configfiles)
    found = estimate(plan)
    speed = exercise() / REFERENCE_S
    cores, place = allowed_cores(), nearest_folder(folder)
    free, memory = shutil.disk_usage(place).free, psutil.virtual_memory().available
    echo(f"jobs     {found.jobs}")
    echo(f"CPU      {duration(speed * found.cpu_s)} in all jobs")
    echo(f"time     {duration(found.wall_s(cores, speed))} on {cores} idle cores, or more")
    echo(f"memory   {_size(1e6 * found.memory_mb)} in the largest job; {_size(memory)} free here")
    echo(f"storage  {_size(found.storage)}; {_size(free)} free in {place}")
    echo("")
    echo(f"{'stage':<22}{'kind':<17}{'dataset':<17}{'jobs':>6}{'CPU':>12}{'memory':>10}"
         f"{'storage':>10}")  # fmt: skip
    for stage in sorted(found.stages, key=lambda s: -s.cpu_s)[:12]:
        echo(f"{stage.rule:<22}{stage.kind:<17}{stage.dataset:<17}{stage.jobs:>6}"
             f"{duration(speed * stage.cpu_s):>12}{_size(1e6 * stage.memory_mb):>10}"
             f"{_size(stage.storage):>10}")  # fmt: skip
    if len(found.stages) > 12:
        echo(f"... and {len(found.stages) - 12} cheaper ones (docs/scaling.md).")
    for dataset in plan.run["datasets"]:
        for kernel, size in plan.large_kernels(dataset).items():
            echo(
                f"note: the kernel {kernel} of {dataset} would take up to {size:.0f} GB, above its"
            )
            echo("max_gb: it is not stored, and the learner computes the blocks that it needs.")
    if 1e6 * found.memory_mb > memory:
        echo("warning: the largest job does not fit into the memory that is free here.")
    if found.storage > free:
        echo("warning: the results do not fit on the disk; choose another --out.")
    return found
