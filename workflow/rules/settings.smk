"""What rules read and are set by: functions of the wildcards over the plan."""

from fewfold.exceptions import ConfigError
from fewfold.graph.settings import GraphSettings
from fewfold.provenance import templates_digest
from fewfold.transforms.naming import transform_key

# --- Data


def source_settings(wildcards):
    entry = plan.dataset(wildcards.dataset)
    settings = {
        "source": entry["source"],
        "options": plain(entry.get("options", {})),
    }
    if entry.get("image_shape"):
        settings["image_shape"] = list(entry["image_shape"])
    return settings


def source_files(wildcards):
    """The user's own files: a change in them re-reads them."""
    entry = plan.dataset(wildcards.dataset)
    if entry["source"] != "file":
        return []
    options = entry["options"]
    return [options[key] for key in ("path", "labels") if options.get(key)]


def prepared_from(kind):
    """What preparing starts from: the fetched source, or a file that was imported already."""

    def path(wildcards):
        entry = plan.dataset(wildcards.dataset)
        if entry["source"] == "imported":
            return entry["options"][kind]
        return f"results/{wildcards.dataset}/raw.h5"

    return path


def holdout_settings(wildcards):
    entry = plan.dataset(wildcards.dataset)
    return {
        "holdout": entry.get("holdout", 0.2),
        "protocol": entry["protocol"],
        "seed": plan.run["seed"],
    }


def feature_settings(wildcards):
    entry = plan.dataset(wildcards.dataset)
    return {
        **holdout_settings(wildcards),
        "scale": entry.get("scale", "none"),
        "divide_by": float(entry.get("divide_by", 1)),
        "pca": entry.get("pca"),
    }


def split_settings(wildcards):
    entry = plan.dataset(wildcards.dataset)
    return {
        "dataset": wildcards.dataset,
        "draw": entry["draw"],
        "evaluate": entry["evaluate"],
        "labels_per_draw": list(entry["labels"]),
        "protocol": entry["protocol"],
        "seed": plan.run["seed"],
        "trials": entry["trials"],
    }


# --- Graphs


# Settings that do not change which neighbours are found.
WEIGHT_KEYS = ("weights", "bandwidth", "symmetrize", "tile_rows")


def graph_code(stage):
    """Plain graphs do not depend on the code of invariant metrics."""

    def digest(wildcards):
        plain_metric = GraphSettings.from_dict(
            plain(config["graphs"][wildcards.graph], ("tile_rows",))
        ).is_plain
        return code_of(
            stage, leave_out=("fewfold.graph.rerank",) if plain_metric else ()
        )

    return digest


def search_settings(wildcards):
    return {
        "search": plain(config["graphs"][wildcards.graph], WEIGHT_KEYS),
        "tile": int(wildcards.tile),
        "n_tiles": plan.graph_tiles(wildcards.dataset, wildcards.graph),
    }


def graph_settings(wildcards):
    shape = plan.image_shape(wildcards.dataset)
    return {
        "graph_settings": plain(config["graphs"][wildcards.graph], ("tile_rows",)),
        "image_shape": list(shape) if shape else None,
    }


def neighbor_tiles(wildcards):
    count = plan.graph_tiles(wildcards.dataset, wildcards.graph)
    return expand(
        "results/{dataset}/graphs/{graph}/neighbors_{tile}.h5",
        tile=range(count),
        **wildcards,
    )


# --- Manifolds, kernels, training


# A new entry in the table of parts changes no result of the others; their modules count.
TABLE = ("fewfold.plan.parts",)

# Keys of an entry that name other entries, or that only decide how the work is cut.
REFERENCE_KEYS = ("graph", "manifold", "kernel", "learner", "type", "tile_rows")


def manifold_inputs(wildcards):
    entry = config["manifolds"][wildcards.manifold]
    base = f"results/{wildcards.dataset}"
    files = {"features": f"{base}/features.h5"}
    if entry.get("graph"):
        files["graph"] = f"{base}/graphs/{entry['graph']}.h5"
    return files


def manifold_settings(wildcards):
    entry = config["manifolds"][wildcards.manifold]
    return {
        "kind": entry["type"],
        "options": plain(entry, REFERENCE_KEYS),
        "seed": plan.run["seed"],
    }


def manifold_code(wildcards):
    kind = config["manifolds"][wildcards.manifold]["type"]
    return code_of("fit_manifold", MANIFOLDS[kind].module, leave_out=TABLE)


def kernel_inputs(wildcards):
    entry = config["kernels"][wildcards.kernel]
    base = f"results/{wildcards.dataset}"
    files = {"features": f"{base}/features.h5", "splits": f"{base}/splits.h5"}
    if entry.get("graph"):
        files["graph"] = f"{base}/graphs/{entry['graph']}.h5"
    if entry.get("manifold"):
        files["points"] = f"{base}/manifolds/{entry['manifold']}.points.h5"
    if entry.get("kernel"):
        files["kernel"] = f"{base}/kernels/{entry['kernel']}.h5"
    return files


def kernel_settings(wildcards):
    entry = config["kernels"][wildcards.kernel]
    return {
        "kernel": plain(entry, ("tile_rows", "graph", "manifold", "kernel")),
        "tile": int(wildcards.tile),
        "n_tiles": plan.kernel_tiles(wildcards.dataset, wildcards.kernel),
    }


def copies_settings(wildcards):
    """The settings behind a copies file's name: those of any method that reads it."""
    found = plan.transforms(wildcards.dataset)
    if wildcards.transform not in found:
        raise ConfigError(f"No method of this run uses copies {wildcards.transform!r}.")
    return {"transform": found[wildcards.transform]}


def kernel_code(wildcards):
    kind = config["kernels"][wildcards.kernel]["type"]
    return code_of("compute_kernel_tile", KERNELS[kind].module, leave_out=TABLE)


def kernel_tiles(wildcards):
    count = plan.kernel_tiles(wildcards.dataset, wildcards.kernel)
    return expand(
        "results/{dataset}/kernels/{kernel}/tile_{tile}.h5",
        tile=range(count),
        **wildcards,
    )


def training_inputs(wildcards):
    chain, base = plan.chain(wildcards.method), f"results/{wildcards.dataset}"
    files = {name: f"{base}/{name}.h5" for name in ("features", "labels", "splits")}
    graph = plan.read_graph(wildcards.method)
    if chain.manifold:
        files["manifold"] = f"{base}/manifolds/{chain.manifold}.h5"
        entry = config["manifolds"][chain.manifold]
        if MANIFOLDS[entry["type"]].encodes:
            files["points"] = f"{base}/manifolds/{chain.manifold}.points.h5"
    if graph:
        files["graph"] = f"{base}/graphs/{graph}.h5"
        if plan.n_held_out(wildcards.dataset):
            files["extension"] = f"{base}/graphs/{graph}.new.h5"
    if chain.kernel:
        files["kernel"] = f"{base}/kernels/{chain.kernel}.h5"
    transform = plan.transform_of(wildcards.dataset, wildcards.method)
    if transform is not None:
        files["copies"] = f"{base}/copies/{transform_key(transform)}.h5"
    return files


def training_settings(wildcards):
    entry = config["methods"][wildcards.method]
    return {
        "learner": entry["learner"],
        "options": plain(entry, REFERENCE_KEYS),
        "first": int(wildcards.first),
        "last": int(wildcards.last),
    }


def training_code(wildcards):
    learner = config["methods"][wildcards.method]["learner"]
    return code_of("train_method", LEARNERS[learner].module, leave_out=TABLE)


# --- Tables


def prediction_batches(wildcards):
    return [
        f"results/{wildcards.dataset}/methods/{wildcards.method}/trials_{first}_{last}.h5"
        for first, last in plan.trial_batches(wildcards.dataset)
    ]


# --- Report


RULE_EDGES = [
    ("fetch_dataset", "prepare_features"),
    ("fetch_dataset", "prepare_labels"),
    ("prepare_labels", "draw_splits"),
    ("prepare_features", "draw_map"),
    ("prepare_features", "search_neighbors"),
    ("search_neighbors", "build_graph"),
    ("build_graph", "extend_graph"),
    ("build_graph", "fit_manifold"),
    ("prepare_features", "fit_manifold"),
    ("fit_manifold", "encode_points"),
    ("encode_points", "compute_kernel_tile"),
    ("prepare_features", "compute_kernel_tile"),
    ("draw_splits", "compute_kernel_tile"),
    ("compute_kernel_tile", "join_kernel"),
    ("prepare_features", "make_copies"),
    ("draw_splits", "make_copies"),
    ("make_copies", "train_method"),
    ("join_kernel", "train_method"),
    ("fit_manifold", "train_method"),
    ("build_graph", "train_method"),
    ("extend_graph", "train_method"),
    ("draw_splits", "train_method"),
    ("draw_splits", "draw_figures"),
    ("fit_manifold", "draw_figures"),
    ("draw_figures", "make_report"),
    ("train_method", "evaluate_method"),
    ("evaluate_method", "collect_metrics"),
    ("collect_metrics", "make_report"),
    ("draw_map", "make_report"),
]


def used_edges():
    """The part of the rule graph that this config runs."""
    methods = {method for _, method in plan.pairs}
    chains = [plan.chain(m) for m in methods]
    absent = set()
    if not any(plan.graphs_of(m) for m in methods):
        absent |= {"search_neighbors", "build_graph"}
    if not any(plan.n_held_out(d) for d in plan.run["datasets"]):
        absent.add("extend_graph")
    if not any(plan.has_figures(m) for m in methods):
        absent.add("draw_figures")
    manifolds = {name for m in methods for name in plan.manifolds_of(m)}
    if not manifolds:
        absent.add("fit_manifold")
    if not any(MANIFOLDS[config["manifolds"][m]["type"]].encodes for m in manifolds):
        absent.add("encode_points")
    if not any(plan.transform_of(dataset, method) for dataset, method in plan.pairs):
        absent.add("make_copies")
    if not any(chain.kernel for chain in chains):
        absent |= {"compute_kernel_tile", "join_kernel"}
    return [list(edge) for edge in RULE_EDGES if not absent & set(edge)]


def figure_settings(wildcards):
    entry = config["methods"][wildcards.method]
    return {"learner": entry["learner"], "options": plain(entry, REFERENCE_KEYS)}


def figure_code(wildcards):
    learner = LEARNERS[config["methods"][wildcards.method]["learner"]]
    modules = learner.module, learner.figures.split(":")[0]
    return code_of("draw_figures", *modules, leave_out=TABLE)


def report_files():
    """Paths the report reads, for each dataset."""
    files = {}
    for name in plan.run["datasets"]:
        base, methods = f"results/{name}", plan.methods_for(name)
        first, last = plan.trial_batches(name)[0]
        graphs = {g for m in methods for g in plan.graphs_of(m)}
        manifolds = {g for m in methods for g in plan.manifolds_of(m)}
        files[name] = {
            **{
                key: f"{base}/{key}.h5"
                for key in ("features", "labels", "splits", "map")
            },
            "graphs": {g: f"{base}/graphs/{g}.h5" for g in sorted(graphs)},
            "manifolds": {m: f"{base}/manifolds/{m}.h5" for m in sorted(manifolds)},
            "predictions": {
                m: f"{base}/methods/{m}/trials_{first}_{last}.h5" for m in methods
            },
            "figures": {
                m: f"{base}/methods/{m}/figures.h5"
                for m in methods
                if plan.has_figures(m)
            },
        }
    return files


def all_paths(tree):
    """Every path in nested dicts, in order."""
    if isinstance(tree, str):
        return [tree]
    return [path for value in tree.values() for path in all_paths(value)]
