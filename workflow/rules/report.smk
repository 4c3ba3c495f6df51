"""The map of each dataset, and the report."""

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
    ("join_kernel", "train_method"),
    ("fit_manifold", "train_method"),
    ("build_graph", "train_method"),
    ("extend_graph", "train_method"),
    ("draw_splits", "train_method"),
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
    manifolds = {name for m in methods for name in plan.manifolds_of(m)}
    if not manifolds:
        absent.add("fit_manifold")
    if not any(MANIFOLDS[config["manifolds"][m]["type"]].encodes for m in manifolds):
        absent.add("encode_points")
    if not any(chain.kernel for chain in chains):
        absent |= {"compute_kernel_tile", "join_kernel"}
    return [list(edge) for edge in RULE_EDGES if not absent & set(edge)]


def report_files():
    """Paths the report reads, for each dataset."""
    files = {}
    for name in plan.run["datasets"]:
        base, methods = f"results/{name}", plan.methods_for(name)
        first, last = plan.trial_batches(name)[0]
        graphs = {g for m in methods for g in plan.graphs_of(m)}
        manifolds = {g for m in methods for g in plan.manifolds_of(m)}
        files[name] = {
            **{key: f"{base}/{key}.h5" for key in ("features", "labels", "splits", "map")},
            "graphs": {g: f"{base}/graphs/{g}.h5" for g in sorted(graphs)},
            "manifolds": {m: f"{base}/manifolds/{m}.h5" for m in sorted(manifolds)},
            "predictions": {
                m: f"{base}/methods/{m}/trials_{first}_{last}.h5" for m in methods
            },
        }
    return files


def all_paths(tree):
    """Every path in nested dicts, in order."""
    if isinstance(tree, str):
        return [tree]
    return [path for value in tree.values() for path in all_paths(value)]


rule draw_map:
    """Place rows in the plane for the report, without labels."""
    input:
        features="results/{dataset}/features.h5",
    output:
        picture="results/{dataset}/map.h5",
    log:
        "logs/{dataset}/draw_map.log",
    cache: True
    threads: 1
    params:
        settings=lambda wildcards: {"seed": plan.run["seed"]},
        code=code_of("draw_map"),
    message:
        "Drawing the map of {wildcards.dataset}"
    script:
        "../../scripts/draw_map.py"


rule make_report:
    """Write the report: one HTML file that opens offline."""
    input:
        metrics="results/metrics.csv",
        summary="results/summary.csv",
        comparisons="results/comparisons.csv",
        stages=all_paths(report_files()),
    output:
        page="results/report/index.html",
    log:
        "logs/make_report.log",
    threads: 1
    params:
        files=report_files(),
        settings=lambda wildcards: {
            "config": config,
            "skipped": [
                [name, method, reason]
                for name in plan.run["datasets"]
                for method, reason in plan.skipped(name).items()
            ],
            "edges": used_edges(),
        },
        code=code_of("make_report"),
    message:
        "Writing the report"
    script:
        "../../scripts/make_report.py"
