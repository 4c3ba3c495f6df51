"""The jobs that a plan asks for: what each reads, what sets it, and which code it depends on.

A rule of the workflow is a line of this table: ``unpack(jobs.inputs("build_graph"))`` gives its
inputs, `fewfold.pipeline.layout` its outputs. Snakemake's graph of jobs, the estimate and the
report's picture of the rules all follow from the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from fewfold.config import resources
from fewfold.config.plan import Plan
from fewfold.config.sizes import cut_into, draws_figures, job_sizes, kind_of
from fewfold.exceptions import ConfigError
from fewfold.graph.settings import GraphSettings
from fewfold.methods.registry import REFERENCES, manifolds, sections
from fewfold.pipeline import layout
from fewfold.pipeline.file_digests import file_digest
from fewfold.pipeline.provenance import script_digest, templates_digest

# A new entry in the table of parts changes no result of the others; their modules count.
TABLE = ("fewfold.methods.registry",)

# Keys of an entry that name other entries, or that only decide how the work is cut.
REFERENCE_KEYS = ("graph", "manifold", "kernel", "learner", "type", "tile_rows", "max_gb")

# Settings of a graph that do not change which neighbors are found.
WEIGHT_KEYS = ("weights", "bandwidth", "symmetrize", "tile_rows")


# Stages that read the dataset's own files only, whatever the config says. `fetch_dataset`: none,
# the user's files count by their content, which the settings hold. Dates say too little, and
# Snakemake would take {x} in a path for a wildcard.
READS = {
    "fetch_dataset": (),
    "draw_map": ("prepare_features",),
    "index_neighbors": ("prepare_features",),
    "make_copies": ("prepare_features", "draw_splits"),
}


class Job(NamedTuple):
    """One job: its stage, its wildcards, and the stages that made its inputs."""

    stage: str
    wildcards: SimpleNamespace
    after: frozenset


def plain(settings: dict, leave_out: tuple = ()) -> dict:
    """Return a key-sorted plain dict: Snakemake compares params by their text."""
    return {k: settings[k] for k in sorted(settings) if k not in leave_out}


def flat_paths(tree) -> list[str]:
    """Return every path in nested dicts and lists, in order, each once.

    Examples
    --------
    >>> flat_paths({"a": ["x", "y"], "b": {"c": "x"}})
    ['x', 'y']
    """
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return list(dict.fromkeys(path for part in parts for path in flat_paths(part)))


class Jobs:
    """Functions of the wildcards over a plan, as the rules need them.

    Parameters
    ----------
    plan : Plan
    root : path-like
        The checkout: stage scripts are below ``scripts``.
    """

    def __init__(self, plan: Plan, root: Path | str = "."):
        self.plan, self.config, self.root = plan, plan.config, Path(root)
        self.seed = plan.run["seed"]

    # --- the graph of jobs ---------------------------------------------------------------

    def inputs(self, stage: str) -> Callable[[object], dict]:
        """Return the function from wildcards to a stage's inputs, {name: path or paths}."""
        if stage in READS:
            return lambda wildcards: self._rows(wildcards, *READS[stage])
        return getattr(self, f"_{stage}_inputs")

    def walk(self, targets: Iterable[str] = layout.TARGETS) -> list[Job]:
        """List the jobs behind targets, each once, those that wait for others first."""
        found, todo, seen = [], [layout.producer(path) for path in targets], set()
        while todo:
            job = todo.pop()
            if job in seen or job is None:
                continue
            seen.add(job)
            stage, wildcards = job[0], SimpleNamespace(**dict(job[1]))
            before = [layout.producer(p) for p in flat_paths(self.inputs(stage)(wildcards))]
            found.append(Job(stage, wildcards, frozenset(b[0] for b in before if b)))
            todo.extend(before)
        return found

    def edges(self, targets: Iterable[str] = layout.TARGETS) -> list[list[str]]:
        """Return the pairs of rules of which the second reads what the first wrote, sorted."""
        return sorted({(first, job.stage) for job in self.walk(targets) for first in job.after})

    # --- data ----------------------------------------------------------------------------

    def _path(self, stage, wildcards, output=None, **more):
        return layout.path(stage, output, **{"dataset": wildcards.dataset, **more})

    def source_settings(self, wildcards) -> dict:
        """What to fetch."""
        entry = self.plan.dataset(wildcards.dataset)
        settings = {"source": entry["source"], "options": plain(entry.get("options", {}))}
        if entry.get("image_shape"):
            settings["image_shape"] = list(entry["image_shape"])
        if entry["source"] == "file":
            paths = [entry["options"].get(key) for key in ("path", "labels")]
            settings["digests"] = {path: file_digest(path) for path in paths if path}
        return settings

    def _raw(self, wildcards, what):
        """What preparing starts from: the fetched source, or a file that a command stored."""
        entry = self.plan.dataset(wildcards.dataset)
        if entry["source"] == "stored":
            return {"raw": entry["options"][what]}
        return {"raw": self._path("fetch_dataset", wildcards)}

    def _prepare_features_inputs(self, wildcards):
        return self._raw(wildcards, "features")

    def _prepare_labels_inputs(self, wildcards):
        return self._raw(wildcards, "labels")

    def holdout_settings(self, wildcards) -> dict:
        """Which rows are held out."""
        entry = self.plan.dataset(wildcards.dataset)
        return {
            "holdout": entry.get("holdout", 0.2),
            "protocol": entry["protocol"],
            "seed": self.seed,
        }

    def feature_settings(self, wildcards) -> dict:
        """How rows are scaled and projected."""
        entry = self.plan.dataset(wildcards.dataset)
        return {
            **self.holdout_settings(wildcards),
            "scale": entry.get("scale", "none"),
            "divide_by": float(entry.get("divide_by", 1)),
            "pca": entry.get("pca"),
        }

    def label_settings(self, wildcards) -> dict:
        """Which rows are held out, and how labeled rows are drawn."""
        entry = self.plan.dataset(wildcards.dataset)
        draws = {
            "dataset": wildcards.dataset,
            "labels_per_draw": list(entry["labels"]),
            "seed": self.seed,
            **{key: entry[key] for key in ("draw", "evaluate", "protocol", "trials")},
        }
        return {"held_out": self.holdout_settings(wildcards), "draws": plain(draws)}

    # --- what an entry of graphs, manifolds, kernels or methods reads ----------------------

    def _kind(self, section, name):
        entry = self.config[section][name]
        return entry["learner"] if section == "methods" else entry.get("type")

    def _graph_file(self, wildcards, graph):
        return {"graph": self._path("build_graph", wildcards, graph=graph)}

    def _manifold_files(self, wildcards, manifold):
        found = {"manifold": self._path("fit_manifold", wildcards, manifold=manifold)}
        if manifolds()[self._kind("manifolds", manifold)].encodes:
            found["points"] = self._path("encode_points", wildcards, manifold=manifold)
        return found

    def _kernel_file(self, wildcards, kernel):
        """The matrix: a file that joins its tiles, or its only tile."""
        if not self.plan.stores_kernel(wildcards.dataset, kernel):
            return {}
        if self.plan.kernel_tiles(wildcards.dataset, kernel) == 1:
            stage, more = "compute_kernel_tile", {"tile": 0}
        else:
            stage, more = "join_kernel", {}
        return {"kernel": self._path(stage, wildcards, kernel=kernel, **more)}

    def _referred(self, wildcards, section, name):
        """The files of the entries that an entry names."""
        readers = {
            "graphs": self._graph_file,
            "manifolds": self._manifold_files,
            "kernels": self._kernel_file,
        }
        entry, files = self.config[section][name], {}
        for other, key in REFERENCES.items():
            if entry.get(key):
                files |= readers[other](wildcards, entry[key])
        return files

    def _rows(self, wildcards, *stages):
        found = {}
        for stage in stages:
            rule, output = layout.WRITTEN_BY.get(stage, (stage, None))
            name = output or next(iter(layout.OUTPUTS[rule]))
            found[name] = self._path(stage, wildcards)
        return found

    def part_code(self, stage: str, section: str) -> Callable[[object], str]:
        """Return the function from wildcards to the digest of a stage and its part's module."""

        def digest(wildcards):
            part = sections()[section][self._kind(section, getattr(wildcards, section[:-1]))]
            return self.code(stage, part.module, leave_out=TABLE)

        return digest

    # --- graphs --------------------------------------------------------------------------

    def _build_graph_inputs(self, wildcards):
        count = self.plan.graph_tiles(wildcards.dataset, wildcards.graph)
        if self._searches_itself(wildcards):
            return self._rows(wildcards, "prepare_features")
        at = partial(self._path, "search_neighbors", wildcards, graph=wildcards.graph)
        found = {"tiles": [at(tile=tile) for tile in range(count)]}
        if self.plan.explores(wildcards.dataset, wildcards.graph):
            found |= self._rows(wildcards, "prepare_features")
        return found

    def _searches_itself(self, wildcards):
        """Whether a graph is built where it is searched: plain distances of few rows."""
        entry = plain(self.config["graphs"][wildcards.graph], ("tile_rows",))
        few = self.plan.graph_tiles(wildcards.dataset, wildcards.graph) == 1
        return few and GraphSettings.from_dict(entry).is_plain

    def _extend_graph_inputs(self, wildcards):
        return {
            **self._rows(wildcards, "prepare_features"),
            **self._graph_file(wildcards, wildcards.graph),
        }

    def _search_neighbors_inputs(self, wildcards):
        if self.plan.has_index(wildcards.dataset, wildcards.graph):
            return {"index": self._path("index_neighbors", wildcards, graph=wildcards.graph)}
        return self._rows(wildcards, "prepare_features")

    def index_settings(self, wildcards) -> dict:
        """Which neighbors are searched, in all tiles."""
        return {"search": plain(self.config["graphs"][wildcards.graph], WEIGHT_KEYS)}

    def search_settings(self, wildcards) -> dict:
        """Which neighbors are searched, and in which tile."""
        return {
            **self.index_settings(wildcards),
            "tile": int(wildcards.tile),
            "n_tiles": self.plan.graph_tiles(wildcards.dataset, wildcards.graph),
        }

    def graph_settings(self, wildcards) -> dict:
        """How a graph is weighed."""
        shape = self.plan.image_shape(wildcards.dataset)
        return {
            "graph_settings": plain(self.config["graphs"][wildcards.graph], ("tile_rows",)),
            "image_shape": list(shape) if shape else None,
        }

    def graph_code(self, stage: str) -> Callable[[object], str]:
        """Return the digest's function: plain graphs need no code of invariant metrics."""

        def digest(wildcards):
            entry = plain(self.config["graphs"][wildcards.graph], ("tile_rows",))
            invariant = () if not GraphSettings.from_dict(entry).is_plain else _RERANK
            return self.code(stage, leave_out=invariant)

        return digest

    # --- manifolds, kernels, copies --------------------------------------------------------

    def _fit_manifold_inputs(self, wildcards):
        return {
            **self._rows(wildcards, "prepare_features"),
            **self._referred(wildcards, "manifolds", wildcards.manifold),
        }

    def manifold_settings(self, wildcards) -> dict:
        """How a manifold is fitted."""
        entry = self.config["manifolds"][wildcards.manifold]
        others = manifolds()[entry["type"]].encoder_options
        return {
            "kind": entry["type"],
            "options": plain(entry, (*REFERENCE_KEYS, *others)),
            "seed": self.seed,
        }

    def _encode_points_inputs(self, wildcards):
        files = self._rows(wildcards, "prepare_features")
        files["manifold"] = self._path("fit_manifold", wildcards, manifold=wildcards.manifold)
        reads = manifolds()[self._kind("manifolds", wildcards.manifold)].encoder_reads
        if "splits" in reads:
            files |= self._rows(wildcards, "draw_splits")
        if "graph" in reads:
            files |= self._referred(wildcards, "manifolds", wildcards.manifold)
        return files

    def encoding_settings(self, wildcards) -> dict:
        """How rows are encoded: a change refits no manifold."""
        entry = self.config["manifolds"][wildcards.manifold]
        own = manifolds()[entry["type"]].encoder_options
        return {"kind": entry["type"], "options": {k: entry[k] for k in own if k in entry}}

    def encoding_code(self, wildcards) -> str:
        """Return the digest of the stage and of the module that encodes."""
        part = manifolds()[self._kind("manifolds", wildcards.manifold)]
        return self.code("encode_points", part.encoder_module, leave_out=TABLE)

    def _compute_kernel_tile_inputs(self, wildcards):
        files = self._referred(wildcards, "kernels", wildcards.kernel)
        return {**self._rows(wildcards, "prepare_features", "draw_splits"), **files}

    def kernel_settings(self, wildcards) -> dict:
        """Which kernel, and which tile of it."""
        entry = self.config["kernels"][wildcards.kernel]
        return {
            "kernel": plain(entry, ("tile_rows", "max_gb", *REFERENCES.values())),
            "tile": int(wildcards.tile),
            "n_tiles": self.plan.kernel_tiles(wildcards.dataset, wildcards.kernel),
        }

    def _join_kernel_inputs(self, wildcards):
        count = self.plan.kernel_tiles(wildcards.dataset, wildcards.kernel)
        at = partial(self._path, "compute_kernel_tile", wildcards, kernel=wildcards.kernel)
        return {"tiles": [at(tile=tile) for tile in range(count)]}

    def join_settings(self, wildcards) -> dict:
        """What a joined kernel was made with."""
        return plain(self.config["kernels"][wildcards.kernel], ("tile_rows", "max_gb"))

    def copies_settings(self, wildcards) -> dict:
        """The settings behind a copies file's name: those of any method that reads it."""
        found = self.plan.transforms(wildcards.dataset)
        if wildcards.transform not in found:
            raise ConfigError(f"No method of this run uses copies {wildcards.transform!r}.")
        return {"transform": found[wildcards.transform]}

    # --- training ------------------------------------------------------------------------

    def _train_method_inputs(self, wildcards):
        from fewfold.transforms.naming import transform_key

        files = self._rows(wildcards, "prepare_features", "prepare_labels", "draw_splits")
        for method in self.plan.batch(wildcards.dataset, wildcards.method):
            files |= self._referred(wildcards, "methods", method)
        graph = None if method != wildcards.method else self.plan.read_graph(method)
        if graph:
            files |= self._graph_file(wildcards, graph)
            if self.plan.n_held_out(wildcards.dataset):
                files["extension"] = self._path("extend_graph", wildcards, graph=graph)
        transform = self.plan.transform_of(wildcards.dataset, method)
        if transform is not None:
            key = transform_key(transform)
            files["copies"] = self._path("make_copies", wildcards, transform=key)
        return files

    def training_settings(self, wildcards) -> dict:
        """Which learners with their options, by the names of their methods, and which trials."""
        entries = {
            method: self.config["methods"][method]
            for method in self.plan.batch(wildcards.dataset, wildcards.method)
        }
        return {
            "dataset": wildcards.dataset,
            "methods": {
                method: {"learner": entry["learner"], "options": plain(entry, REFERENCE_KEYS)}
                for method, entry in entries.items()
            },
            "first": int(wildcards.first),
            "last": int(wildcards.last),
            "figures": draws_figures(self.plan, wildcards),
        }

    def training_code(self, wildcards) -> str:
        """Digest of the learners' code, and of their figures' where the job draws them."""
        batch = self.plan.batch(wildcards.dataset, wildcards.method)
        parts = [sections()["methods"][self._kind("methods", method)] for method in batch]
        modules = {part.module for part in parts}
        leave_out = TABLE
        if draws_figures(self.plan, wildcards):
            modules |= {part.figures.split(":")[0] for part in parts if part.figures}
        else:
            leave_out = (*TABLE, "fewfold.report.pictures")
        return self.code("train_method", *sorted(modules), leave_out=leave_out)

    def trained(self, dataset: str, method: str, output: str = "predictions") -> list[str]:
        """Return the files of a method's predictions or metrics, one per batch of trials."""
        trained_as = self.plan.batch_of(dataset, method)
        at = partial(layout.path, "train_method", output, dataset=dataset, method=trained_as)
        return [at(first=first, last=last) for first, last in self.plan.trial_batches(dataset)]

    # --- tables and report -----------------------------------------------------------------

    def _collect_metrics_inputs(self, wildcards):
        parts = (p for pair in self.plan.pairs for p in self.trained(*pair, "metrics"))
        return {"parts": list(dict.fromkeys(parts))}

    def report_files(self) -> dict:
        """Return the paths that the report reads, for each dataset."""
        return {name: self._report_files(name) for name in self.plan.run["datasets"]}

    def _report_files(self, name):
        methods, at = self.plan.methods_for(name), partial(layout.path, dataset=name)
        return {
            "features": at("prepare_features"),
            "labels": at("prepare_labels"),
            "splits": at("draw_splits"),
            "map": at("draw_map"),
            "graphs": {g: at("build_graph", graph=g) for g in self.plan.used("graphs", *methods)},
            "manifolds": {
                m: at("fit_manifold", manifold=m) for m in self.plan.used("manifolds", *methods)
            },
            "predictions": {m: self.trained(name, m)[0] for m in methods},
        }

    def _make_report_inputs(self, wildcards):
        return {**layout.OUTPUTS["collect_metrics"], "stages": flat_paths(self.report_files())}

    def report_settings(self, wildcards) -> dict:
        """What the report shows besides its files."""
        skipped = [
            [name, method, reason]
            for name in self.plan.run["datasets"]
            for method, reason in self.plan.skipped(name).items()
        ]
        return {"config": self.config, "skipped": skipped, "edges": self.edges()}

    # --- code and resources ----------------------------------------------------------------

    def code(self, stage: str, *modules: str, leave_out: tuple = ()) -> str:
        """Digest of the library code behind a rule: a fix re-runs it, a comment does not."""
        script = self.root / "scripts" / f"{stage}.py"
        return script_digest(script, *modules, leave_out=leave_out)

    def templates(self, *packages: str) -> str:
        """Digest of the HTML templates of packages."""
        return templates_digest(*packages)

    def requests(self, stage: str) -> dict:
        """Return what a job of this stage asks a scheduler for; twice as much each attempt."""

        def mem_mb(wildcards, attempt):
            sizes, kind = job_sizes(self.plan, stage, wildcards), kind_of(self.plan, wildcards)
            return resources.grow(resources.memory_mb(stage, sizes, kind), attempt)

        def runtime(wildcards, attempt):
            sizes, kind = job_sizes(self.plan, stage, wildcards), kind_of(self.plan, wildcards)
            jobs = cut_into(self.plan, stage, wildcards)
            return resources.grow(resources.runtime_min(stage, sizes, kind, jobs), attempt)

        return {"mem_mb": mem_mb, "runtime": runtime}


_RERANK = ("fewfold.graph.rerank", "fewfold.graph.exploring")
