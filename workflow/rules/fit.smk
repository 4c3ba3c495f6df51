"""Manifold models, encodings, kernel matrices, and training on labelled draws."""

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
    return code_of("fit_manifold", MANIFOLDS[kind].module)


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


def kernel_code(wildcards):
    kind = config["kernels"][wildcards.kernel]["type"]
    return code_of("compute_kernel_tile", KERNELS[kind].module)


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
    graph = chain.graph
    if chain.manifold:
        files["manifold"] = f"{base}/manifolds/{chain.manifold}.h5"
        entry = config["manifolds"][chain.manifold]
        graph = graph or entry.get("graph")
        if MANIFOLDS[entry["type"]].encodes:
            files["points"] = f"{base}/manifolds/{chain.manifold}.points.h5"
    if graph:
        files["graph"] = f"{base}/graphs/{graph}.h5"
        if plan.n_held_out(wildcards.dataset):
            files["extension"] = f"{base}/graphs/{graph}.new.h5"
    if chain.kernel:
        files["kernel"] = f"{base}/kernels/{chain.kernel}.h5"
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
    return code_of("train_method", LEARNERS[learner].module)


rule fit_manifold:
    """Learn the shape of the data without labels."""
    input:
        unpack(manifold_inputs),
    output:
        manifold="results/{dataset}/manifolds/{manifold}.h5",
    log:
        "logs/{dataset}/manifolds/{manifold}/fit_manifold.log",
    cache: True
    threads: 2
    params:
        settings=manifold_settings,
        code=manifold_code,
    message:
        "Fitting the manifold {wildcards.manifold} of {wildcards.dataset}"
    script:
        "../../scripts/fit_manifold.py"


rule encode_points:
    """Describe every row, seen and new, in the manifold's own terms."""
    input:
        features="results/{dataset}/features.h5",
        manifold="results/{dataset}/manifolds/{manifold}.h5",
    output:
        points="results/{dataset}/manifolds/{manifold}.points.h5",
    log:
        "logs/{dataset}/manifolds/{manifold}/encode_points.log",
    cache: True
    threads: 2
    params:
        settings=lambda wildcards: {
            "q": config["manifolds"][wildcards.manifold].get("q", 10)
        },
        code=code_of("encode_points"),
    message:
        "Encoding {wildcards.dataset} in {wildcards.manifold}"
    script:
        "../../scripts/encode_points.py"


rule compute_kernel_tile:
    """Compute some labelled rows of a kernel matrix against all rows."""
    input:
        unpack(kernel_inputs),
    output:
        tile="results/{dataset}/kernels/{kernel}/tile_{tile}.h5",
    log:
        "logs/{dataset}/kernels/{kernel}/compute_kernel_tile_{tile}.log",
    cache: True
    threads: 1
    params:
        settings=kernel_settings,
        code=kernel_code,
    message:
        "Computing the kernel {wildcards.kernel} of {wildcards.dataset}, tile {wildcards.tile}"
    script:
        "../../scripts/compute_kernel_tile.py"


rule join_kernel:
    """Join the tiles as one virtual matrix, without a copy."""
    input:
        tiles=kernel_tiles,
    output:
        kernel="results/{dataset}/kernels/{kernel}.h5",
    log:
        "logs/{dataset}/kernels/{kernel}/join_kernel.log",
    threads: 1
    params:
        settings=lambda wildcards: plain(config["kernels"][wildcards.kernel]),
        code=code_of("join_kernel"),
    message:
        "Joining the kernel {wildcards.kernel} of {wildcards.dataset}"
    script:
        "../../scripts/join_kernel.py"


rule train_method:
    """Fit one method on a batch of labelled draws and label all rows."""
    input:
        unpack(training_inputs),
    output:
        predictions="results/{dataset}/methods/{method}/trials_{first}_{last}.h5",
    log:
        "logs/{dataset}/methods/{method}/train_method_{first}_{last}.log",
    cache: True
    threads: 1
    params:
        settings=training_settings,
        code=training_code,
    message:
        "Training {wildcards.method} on {wildcards.dataset}, trials {wildcards.first} to {wildcards.last}"
    script:
        "../../scripts/train_method.py"
