"""What the rules of `fewfold label` read and are set by."""

from types import SimpleNamespace


def label_settings():
    return plain(config.get("label", {}))


def label_methods(wildcards):
    return plan.methods_for(wildcards.dataset)


def chain_files(wildcards):
    """For each candidate the files its learner reads."""
    return {
        method: training_inputs(
            SimpleNamespace(dataset=wildcards.dataset, method=method)
        )
        for method in label_methods(wildcards)
    }


def candidate_batches(wildcards):
    """For each candidate its prediction files; none where methods are not compared."""
    if not config.get("label", {}).get("compare"):
        return {}
    return {
        method: prediction_batches(
            SimpleNamespace(dataset=wildcards.dataset, method=method)
        )
        for method in label_methods(wildcards)
    }


def flat_paths(tree):
    """Every path in nested dicts and lists, in order, each once."""
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return list(dict.fromkeys(path for part in parts for path in flat_paths(part)))


def answer_file(wildcards):
    clusters = config.get("label", {}).get("task") == "clustering"
    return f"results/{wildcards.dataset}/{'clusters' if clusters else 'answer'}.h5"


def label_code(stage):
    """The learners' code too: a method mended is a method to be asked again."""

    def digest(wildcards):
        learners = {config["methods"][m]["learner"] for m in label_methods(wildcards)}
        return code_of(stage, *sorted(LEARNERS[name].module for name in learners))

    return digest


def method_entries(wildcards):
    return {
        m: plain(
            config["methods"][m], tuple(k for k in REFERENCE_KEYS if k != "learner")
        )
        for m in label_methods(wildcards)
    }


def position_graph(wildcards):
    """The graph that says which rows lie close: the first candidate's, or the plain one."""
    for method in label_methods(wildcards):
        for graph in plan.graphs_of(method):
            return f"results/{wildcards.dataset}/graphs/{graph}.h5"
    return f"results/{wildcards.dataset}/graphs/euclidean.h5"
