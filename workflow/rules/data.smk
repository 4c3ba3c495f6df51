"""From sources to features, labels and labelled draws."""


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


rule fetch_dataset:
    """Read a published set, a generator or the user's file; download if need be."""
    input:
        files=source_files,
    output:
        raw="results/{dataset}/raw.h5",
    log:
        "logs/{dataset}/fetch_dataset.log",
    threads: 1
    params:
        settings=source_settings,
        code=code_of("fetch_dataset"),
    message:
        "Fetching {wildcards.dataset}"
    script:
        "../../scripts/fetch_dataset.py"


rule prepare_features:
    """Check, scale and project the features; set new rows apart."""
    input:
        raw="results/{dataset}/raw.h5",
    output:
        features="results/{dataset}/features.h5",
    log:
        "logs/{dataset}/prepare_features.log",
    cache: True
    threads: 2
    params:
        settings=feature_settings,
        code=code_of("prepare_features"),
    message:
        "Preparing the features of {wildcards.dataset}"
    script:
        "../../scripts/prepare_features.py"


rule prepare_labels:
    """Keep the truth apart from the features, so that new labels re-run little."""
    input:
        raw="results/{dataset}/raw.h5",
    output:
        labels="results/{dataset}/labels.h5",
    log:
        "logs/{dataset}/prepare_labels.log",
    threads: 1
    params:
        settings=holdout_settings,
        code=code_of("prepare_labels"),
    message:
        "Preparing the labels of {wildcards.dataset}"
    script:
        "../../scripts/prepare_labels.py"


rule draw_splits:
    """Draw the labelled rows of every trial, once for all methods."""
    input:
        labels="results/{dataset}/labels.h5",
    output:
        splits="results/{dataset}/splits.h5",
    log:
        "logs/{dataset}/draw_splits.log",
    threads: 1
    params:
        settings=split_settings,
        code=code_of("draw_splits"),
    message:
        "Drawing the labelled rows of {wildcards.dataset}"
    script:
        "../../scripts/draw_splits.py"
