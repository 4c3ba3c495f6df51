"""From a valid config to the chains, files and jobs it asks for."""

from __future__ import annotations

import hashlib
import json
from difflib import get_close_matches
from functools import cache, cached_property

from fewfold.config.limits import check_pairs
from fewfold.exceptions import ConfigError, InputError
from fewfold.graph.settings import GraphSettings, is_approximate
from fewfold.methods.registry import REFERENCES, methods, sections
from fewfold.system.outputs import RUN_OUTPUTS, refuse_overwriting

# Light methods of datasets up to this size are trained in one job, under this name.
LIGHT_ROWS, BATCH = 20_000, "light"

# A kernel matrix larger than this is not stored where its learner can do without.
KERNEL_GB = 4.0

# What a dataset may say otherwise than ``run`` says.
_OVERRIDES = ("labels", "trials", "draw", "evaluate", "protocol")


def with_implied_manifolds(config: dict) -> dict:
    """Return a config in which methods name the manifold stage that their record implies.

    The stage's settings are those of the method's entry, its name is its type, followed by a
    digest where it has settings: equal ones are shared.
    """
    found, made = dict(config.get("methods") or {}), dict(config.get("manifolds") or {})
    for name in config["run"]["methods"]:
        entry = found.get(name)
        record = methods().get(entry["learner"]) if entry else None
        if record is None or record.implies is None or not record.implies.by(entry):
            continue
        kind = record.implies.manifold
        known = {p.name for p in sections()["manifolds"][kind].parameters}
        if entry.get("manifold"):
            twice = sorted((known | {"graph"}) & set(entry))
            if twice:
                raise ConfigError(
                    f"config: methods.{name}.{twice[0]} is a setting of its manifold "
                    f"{entry['manifold']!r}. Set it there, or name no manifold."
                )
            continue
        stage = {key: entry[key] for key in sorted(entry) if key in known or key == "graph"}
        digest = hashlib.sha256(json.dumps(stage, sort_keys=True).encode()).hexdigest()[:8]
        stage = {"type": kind, **stage}
        key = kind if len(stage) == 1 and made.get(kind, stage) == stage else f"{kind}_{digest}"
        made[key], found[name] = stage, {**entry, "manifold": key}
    return {**config, "methods": found, "manifolds": made}


class Plan:
    """A checked config: every name exists, every chain fits together.

    Parameters
    ----------
    config : dict
        Already valid under the schema.

    Raises
    ------
    ConfigError
        Before any job starts, naming the place.
    """

    def __init__(self, config: dict):
        self.config = config = with_implied_manifolds(config)
        self.run = config["run"]
        self._describe = cache(self._describe_uncached)
        for name in self.run["datasets"]:
            self._entry("datasets", name, "run.datasets")
        for name in self.run["methods"]:
            self._entry("methods", name, "run.methods")
            self._check_chain("methods", name, f"methods.{name}", ())
        for name in self.run["datasets"]:
            self._check_dataset(name)

    # --- names and references ------------------------------------------------------------

    def _entry(self, section, name, place):
        known = self.config.get(section, {})
        if name in known:
            return known[name]
        near = get_close_matches(str(name), known, 1, 0.5)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ConfigError(
            f"config: {place} names {name!r}, which is not under {section}. {hint}"
            f"Known {section}: {', '.join(sorted(known)) or 'none'}."
        )

    def _kind(self, section, entry):
        return entry["learner"] if section == "methods" else entry.get("type")

    def _check_chain(self, section, name, place, above):
        if (section, name) in above:
            raise ConfigError(f"config: {place} refers to itself. Remove one of the references.")
        entry = self._entry(section, name, place)
        if section == "graphs":
            return
        part = sections()[section][self._kind(section, entry)]
        wanted, may = part.needs.required(), part.needs.optional()
        for other, key in REFERENCES.items():
            target = entry.get(key)
            here = f"{section}.{name}.{key}"
            if target is None:
                if other in wanted:
                    raise ConfigError(
                        f"config: {section}.{name} ({self._kind(section, entry)}) needs a {key}. "
                        f"Add '{key}: <name under {other}>'."
                    )
                continue
            if other not in wanted and other not in may:
                uses = [REFERENCES[o] for o in (*wanted, *may)]
                raise ConfigError(
                    f"config: {here} is given, but {self._kind(section, entry)} does not use a "
                    f"{key}; it uses {' and '.join(uses) or 'the features only'}. Remove it."
                )
            found = self._entry(other, target, here)
            types = part.needs.manifold if other == "manifolds" else ()
            if types and found["type"] not in types:
                raise ConfigError(
                    f"config: {here} names {target!r} of type {found['type']!r}; "
                    f"{self._kind(section, entry)} needs type {' or '.join(types)}."
                )
            self._check_chain(other, target, here, (*above, (section, name)))

    # --- datasets ------------------------------------------------------------------------

    def dataset(self, name: str) -> dict:
        """Return a dataset's entry with the settings of ``run`` filled in."""
        entry = dict(self.config["datasets"][name])
        for key in _OVERRIDES:
            entry.setdefault(key, self.run[key])
        return entry

    def _describe_uncached(self, name):
        from fewfold.datasets import describe

        entry = self.config["datasets"][name]
        try:
            return describe(entry["source"], **entry.get("options", {}))
        except (InputError, TypeError) as error:
            raise ConfigError(f"config: datasets.{name}: {error}") from error

    def describe(self, name: str):
        """Return the shape of a dataset before it is loaded."""
        return self._describe(name)

    def n_held_out(self, name: str) -> int:
        """Return how many rows an inductive dataset holds out."""
        entry = self.dataset(name)
        if entry["protocol"] != "inductive":
            return 0
        shape = self.describe(name)
        if entry.get("holdout", 0.2) == "official":
            return shape.n_test
        return min(max(1, round(entry.get("holdout", 0.2) * shape.n_samples)), shape.n_samples - 1)

    def n_rows(self, name: str) -> int:
        """Return the number of training rows."""
        return self.describe(name).n_samples - self.n_held_out(name)

    def _check_dataset(self, name):
        entry, shape = self.dataset(name), self.describe(name)
        place = f"config: datasets.{name}"
        self._check_paths(entry, place)
        official = entry["evaluate"] == "test" or (
            entry["protocol"] == "inductive" and entry.get("holdout", 0.2) == "official"
        )
        if official and not shape.n_test:
            raise ConfigError(
                f"{place}: evaluation on official test rows, but {entry['source']} has none. "
                "Use evaluate: unlabeled, or protocol: inductive with holdout: 0.2."
            )
        if entry["draw"] == "given" and not shape.n_splits:
            raise ConfigError(f"{place}: draw: given, but {entry['source']} has no label splits.")
        needed = entry["trials"] * self.largest_budget(name)
        available = shape.n_samples - (shape.n_test or 0)
        if entry["draw"] == "disjoint" and needed > available:
            raise ConfigError(
                f"{place}: draw: disjoint needs trials x labels = {needed} rows that may be "
                f"labeled, the dataset has at most {available}. Lower trials or labels."
            )
        for budget in entry["labels"]:
            if not isinstance(budget, float) and budget > shape.n_samples:
                raise ConfigError(
                    f"{place}: labels: {budget}, but the dataset has {shape.n_samples} rows."
                )
        for method in self.methods_for(name):
            self._check_features(name, method)
            check_pairs(self, name, method)
        for method in entry.get("skip", {}):
            self._entry("methods", method, f"datasets.{name}.skip")

    def _check_paths(self, entry, place):
        if entry["source"] != "file":
            return
        options = entry["options"]
        files = [options[key] for key in ("path", "labels") if options.get(key)]
        outputs = [*RUN_OUTPUTS, *(f"results/{name}" for name in self.run["datasets"])]
        try:
            refuse_overwriting(outputs, files)
        except InputError as error:
            raise ConfigError(f"{place}.options: {error}") from error

    def _check_features(self, name, method):
        """Graphs and transforms that look at images need a dataset whose rows are images."""
        for graph in self.used("graphs", method):
            settings = self.config["graphs"][graph]
            uses_images = settings.get("canonicalize") or settings.get("metric") in (
                "deformation",
                "tangent",
                "orbit",
            )
            if uses_images and not (settings.get("image_shape") or self.image_shape(name)):
                raise ConfigError(
                    f"config: graphs.{graph} (used by {method}) works on images, but rows of "
                    f"{name!r} have no image shape. Give datasets.{name}.image_shape, or skip "
                    f"{method} there."
                )

        from fewfold.transforms.naming import OF_IMAGES, names_in

        spec = self.config["methods"][method].get("transform")
        of_images = sorted(set(names_in(spec or [])) & set(OF_IMAGES))
        if of_images and not self.image_shape(name):
            raise ConfigError(
                f"config: methods.{method}.transform names {of_images[0]!r}, a transform of "
                f"images, but rows of {name!r} have no image shape. Give "
                f"datasets.{name}.image_shape, or skip {method} there."
            )

    def image_shape(self, name: str):
        """Return the image shape of a dataset's rows, or None."""
        entry = self.config["datasets"][name]
        return entry.get("image_shape") or self.describe(name).image_shape

    # --- what runs -----------------------------------------------------------------------

    def skipped(self, name: str) -> dict:
        """Return the methods not run on a dataset, with the reason."""
        entry = self.dataset(name)
        reasons = dict(entry.get("skip", {}))
        for method in self.run["methods"]:
            learner = self.config["methods"][method]["learner"]
            if self.describe(name).task not in methods()[learner].tasks:
                reasons.setdefault(method, f"{learner} does not do {self.describe(name).task}")
        return {m: r for m, r in reasons.items() if m in self.run["methods"]}

    def methods_for(self, name: str) -> list[str]:
        """Return the methods that run on a dataset."""
        skipped = self.skipped(name)
        return [m for m in self.run["methods"] if m not in skipped]

    def batch(self, name: str, method: str) -> list[str]:
        """Return the methods that one training job holds: ``method`` alone, or a batch by name."""
        return self._light(name) if method == BATCH else [method]

    def batch_of(self, name: str, method: str) -> str:
        """Return the name under which a method is trained: its own, or that of its batch."""
        return BATCH if method in self._light(name) else method

    def _light(self, name):
        """The methods whose fits are too short for a job each: see `Method.light`."""
        if "label" in self.config or self.n_rows(name) > LIGHT_ROWS or BATCH in self.run["methods"]:
            return []
        found, kernels = [], set()
        for method in self.methods_for(name):
            entry = self.config["methods"][method]
            record = methods()[entry["learner"]]
            if not record.light or self.used("graphs", method) or self.used("manifolds", method):
                continue
            # A job reads one kernel: a method of another one is trained alone.
            uses = {entry.get("kernel")} if record.needs.kernel != "no" else set()
            if not kernels or uses <= kernels:
                found.append(method)
                kernels |= uses
        return found if len(found) > 1 else []

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """All (dataset, method) that run."""
        found = [(d, m) for d in self.run["datasets"] for m in self.methods_for(d)]
        if not found:
            raise ConfigError("config: nothing to run: every method is skipped on every dataset.")
        return found

    def used(self, section: str, *names: str) -> list[str]:
        """Return every graph, manifold or kernel in the chains of methods, sorted."""
        found = (pair for name in names for pair in self._collect("methods", name))
        return sorted({entry for other, entry in found if other == section})

    def read_graph(self, method: str) -> str | None:
        """Return the graph that a method's training itself reads: its own, or its manifold's."""
        entry = self.config["methods"][method]
        if entry.get("graph") or not entry.get("manifold"):
            return entry.get("graph")
        return self.config["manifolds"][entry["manifold"]].get("graph")

    def transform_of(self, name: str, method: str):
        """Return the transform whose copies a method learns from, or None."""
        from fewfold.transforms.naming import transform_or_default

        entry = self.config["methods"][method]
        if not methods()[entry["learner"]].needs.copies:
            return None
        if entry.get("kernel") and self.stores_kernel(name, entry["kernel"]):
            return None  # they are in the kernel
        return transform_or_default(entry.get("transform"), self.image_shape(name))

    def has_figures(self, method: str) -> bool:
        """Whether a method draws pictures of its own; an oracle has nothing to show."""
        entry = self.config["methods"][method]
        method = methods()[entry["learner"]]
        return bool(method.figures) and not method.is_oracle(entry)

    def transforms(self, name: str) -> dict:
        """Return {key: transform} of the copies that a dataset's methods read."""
        from fewfold.transforms.naming import transform_key

        found = [self.transform_of(name, method) for method in self.methods_for(name)]
        return {transform_key(spec): spec for spec in found if spec is not None}

    def _collect(self, section, name):
        entry = self.config[section][name]
        for other, key in REFERENCES.items():
            if section != "graphs" and entry.get(key):
                yield other, entry[key]
                yield from self._collect(other, entry[key])

    def largest_budget(self, name: str) -> int:
        """Return an upper bound of the labels in one draw."""
        return max(self.budgets(name))

    def budgets(self, name: str) -> list[int]:
        """Return upper bounds of the labels in the draws of each budget."""
        rows = self.n_rows(name)
        counts = (
            max(1, round(b * rows)) if isinstance(b, float) else b
            for b in self.dataset(name)["labels"]
        )
        return [min(count, rows) for count in counts]

    def trial_batches(self, name: str) -> list[tuple[int, int]]:
        """Cut the trials into the batches that one training job holds."""
        trials, step = self.dataset(name)["trials"], self.run["trials_per_job"]
        return [(first, min(first + step, trials)) for first in range(0, trials, step)]

    def kernel_rows(self, name: str, kernel: str) -> int:
        """Return the most rows that a kernel's matrices hold: those that some draw may label."""
        entry, n = self.dataset(name), self.n_rows(name)
        settings = self.config["kernels"][kernel]
        record = sections()["kernels"][settings["type"]]
        if not record.is_by_budget(settings):
            return min(n, entry["trials"] * self.largest_budget(name))
        rows = sum(entry["trials"] * count for count in self.budgets(name))
        return record.matrices * rows

    def kernel_tiles(self, name: str, kernel: str) -> int:
        """Return the number of tile jobs of a kernel."""
        rows = self.kernel_rows(name, kernel)
        return -(-rows // self.config["kernels"][kernel].get("tile_rows", 4000))

    def kernel_gb(self, name: str, kernel: str) -> float:
        """Return the most that a kernel's matrices take, stored densely."""
        return 4e-9 * self.kernel_rows(name, kernel) * self.describe(name).n_samples

    def stores_kernel(self, name: str, kernel: str) -> bool:
        """Whether a kernel is stored; a learner that can do without computes a larger one's blocks.

        Kernels that a learner must have, or that another kernel is made of, are stored always.
        """
        entries = self.config["methods"], self.config["kernels"]
        using = [entry for section in entries for entry in section.values()
                 if entry.get("kernel") == kernel]  # fmt: skip
        optional = all(
            "learner" in entry and methods()[entry["learner"]].needs.kernel == "may"
            for entry in using
        )
        most = self.config["kernels"][kernel].get("max_gb", KERNEL_GB)
        return not optional or self.kernel_gb(name, kernel) <= most

    def large_kernels(self, name: str) -> dict[str, float]:
        """Return the kernels of a dataset that are too large to be stored, with their GB."""
        return {
            kernel: self.kernel_gb(name, kernel)
            for kernel in self.used("kernels", *self.methods_for(name))
            if not self.stores_kernel(name, kernel)
        }

    def is_approximate(self, name: str, graph: str) -> bool:
        """Whether neighbors are searched in lists of rows."""
        entry, is_sparse = self.config["graphs"][graph], self.describe(name).sparse
        is_plain = entry.get("metric", "euclidean") in ("euclidean", "cosine")
        is_plain = is_plain and not entry.get("canonicalize") and not is_sparse
        return is_plain and is_approximate(entry.get("method", "auto"), self.n_rows(name))

    def explores(self, name: str, graph: str) -> bool:
        """Whether a graph's neighbors are improved after all of them were searched."""
        metric = self.config["graphs"][graph].get("metric", "euclidean")
        return GraphSettings(metric=metric).explores(self.n_rows(name))

    def graph_tiles(self, name: str, graph: str) -> int:
        """Return the number of jobs that a graph's neighbor search is cut into."""
        entry, n = self.config["graphs"][graph], self.n_rows(name)
        if self.is_approximate(name, graph):
            # Seconds for a million rows, of which sorting them into lists is a large part: one job,
            # unless the config sets `tile_rows`, as the profile of a cluster does.
            return -(-n // self.config.get("tile_rows", n))
        return -(-n // entry.get("tile_rows", 20000))

    def has_index(self, name: str, graph: str) -> bool:
        """Whether the tiles of a graph's search share an index in a file."""
        return self.is_approximate(name, graph) and self.graph_tiles(name, graph) > 1
