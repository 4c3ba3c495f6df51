"""What grows with pairs of rows, refused before any job starts where no computer holds it."""

from __future__ import annotations

from fewfold.exceptions import ConfigError
from fewfold.methods.registry import methods

# More than the memory of large computers and the room of most disks.
LARGEST_GB = 500.0


def check_pairs(plan, name: str, method: str) -> None:
    """Refuse a method on a dataset where what it holds for pairs of rows is beyond all bounds.

    Raises
    ------
    ConfigError
        Naming what grows, how large it would be, and what scales instead.
    """
    entry, rows = plan.config["methods"][method], plan.n_rows(name)
    record, labels = methods()[entry["learner"]], plan.largest_budget(name)
    place = f"config: methods.{method} on {name!r}"
    if record.holds_all_pairs is not None:
        key, default = record.holds_all_pairs
        size = 8e-9 * rows**2
        if rows <= entry.get(key, default) and size > LARGEST_GB:
            raise ConfigError(
                f"{place}: with {key}: {entry[key]} all pairs of the {rows} rows are held, "
                f"{size:.0f} GB; allowed: {LARGEST_GB:.0f}. Lower {key} (default {default}), or "
                "skip the method there."
            )
    for kernel in plan.used("kernels", method):
        is_stored, among = plan.stores_kernel(name, kernel), "all rows"
        size = plan.kernel_gb(name, kernel)
        if not is_stored:  # blocks of it are computed, but a kernel SVM looks at all labeled pairs
            size, among = 4e-9 * labels**2, "each other"
        if size > LARGEST_GB:
            raise ConfigError(
                f"{place}: the kernel {kernel!r} between up to {labels} labeled rows and {among} "
                f"takes {size:.0f} GB; allowed: {LARGEST_GB:.0f}. Lower labels or trials, or "
                "take a method whose cost grows with the rows alone (linear_svm, diffusion, knn)."
            )
