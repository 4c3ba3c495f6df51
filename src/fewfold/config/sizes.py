"""The sizes that the cost of a job follows from, before any data are read."""

from __future__ import annotations

from fewfold.config.resources import PIXELS, RAW, Sizes, known_kind


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


def kind_of(plan, wildcards) -> str:
    """Return a job's metric of the graph, type of the manifold or kernel, or learner, or "".

    A graph whose search is approximate is of the kind "approximate", one whose neighbors are
    improved afterwards "exploring". A job of `fewfold label` that examines candidates is of their
    family.
    """
    if hasattr(wildcards, "method"):
        first = plan.batch(wildcards.dataset, wildcards.method)[0]
        return plan.config["methods"][first]["learner"]
    of_others = any(hasattr(wildcards, name) for name in ("graph", "kernel"))
    if "label" in plan.config and hasattr(wildcards, "tile") and not of_others:
        return _family(plan, wildcards)
    if hasattr(wildcards, "graph") and plan.is_approximate(wildcards.dataset, wildcards.graph):
        return "approximate"
    if hasattr(wildcards, "graph") and plan.explores(wildcards.dataset, wildcards.graph):
        return "exploring"
    for wildcard, section, key in (
        ("graph", "graphs", "metric"),
        ("manifold", "manifolds", "type"),
        ("kernel", "kernels", "type"),
    ):
        if hasattr(wildcards, wildcard):
            return plan.config[section][getattr(wildcards, wildcard)].get(key, "")
    return ""


def _family(plan, wildcards) -> str:
    """Return the family of the candidates that one job examines."""
    from fewfold.methods.members import named_members

    names = plan.config["label"]["batches"][int(wildcards.tile)]
    return named_members(plan.describe(wildcards.dataset).task, names)[0].family


def cut_into(plan, stage, wildcards) -> int:
    """Return how many jobs share the work that a stage's sizes stand for."""
    if stage == "search_neighbors":
        return plan.graph_tiles(wildcards.dataset, wildcards.graph)
    return 1


def job_sizes(plan, stage, wildcards) -> Sizes:
    """Return the sizes of one job; without a dataset, those of the largest."""
    if not hasattr(wildcards, "dataset"):
        return max(sizes_of(plan, name) for name in plan.run["datasets"])
    name = wildcards.dataset
    is_of_pixels = known_kind(stage, kind_of(plan, wildcards)) == PIXELS
    if stage in RAW or is_of_pixels:
        return sizes_of(plan, name)._replace(d=plan.describe(name).n_features)
    if stage == "train_method" and hasattr(wildcards, "method"):
        sizes = sizes_of(plan, name)
        return sizes._replace(fits=sizes.fits * len(plan.batch(name, wildcards.method)))
    sizes = sizes_of(plan, name, all_draws=stage in ("compute_kernel_tile", "make_copies"))
    if stage == "compute_kernel_tile":
        tiles = plan.kernel_tiles(name, wildcards.kernel)
        return sizes._replace(labels=-(-sizes.labels // tiles))
    return sizes


def draws_figures(plan, wildcards) -> bool:
    """Whether a training job draws its method's pictures: that of the first trials, for reports."""
    first = int(wildcards.first) == 0 and "label" not in plan.config
    return first and any(map(plan.has_figures, plan.batch(wildcards.dataset, wildcards.method)))
