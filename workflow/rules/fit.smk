"""Manifold models, encodings, kernel matrices, and training on labelled draws."""


rule fit_manifold:
    """Learn the shape of the data without labels."""
    input:
        unpack(manifold_inputs),
    output:
        manifold="results/{dataset}/manifolds/{manifold}.h5",
    log:
        "logs/{dataset}/manifolds/{manifold}/fit_manifold.log",
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("fit_manifold"),
        runtime=minutes_of("fit_manifold"),
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
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        mem_mb=memory_of("encode_points"),
        runtime=minutes_of("encode_points"),
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
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("compute_kernel_tile"),
        runtime=minutes_of("compute_kernel_tile"),
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
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("join_kernel"),
        runtime=minutes_of("join_kernel"),
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
    conda:
        "../envs/fewfold.yaml"
    threads: 1
    resources:
        mem_mb=memory_of("train_method"),
        runtime=minutes_of("train_method"),
    params:
        settings=training_settings,
        code=training_code,
    message:
        "Training {wildcards.method} on {wildcards.dataset}, trials {wildcards.first} to {wildcards.last}"
    script:
        "../../scripts/train_method.py"
