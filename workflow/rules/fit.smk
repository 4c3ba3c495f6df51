"""Manifold models, encodings, kernel matrices, and training on labeled draws."""


rule fit_manifold:
    """Learn the shape of the data without labels."""
    input:
        unpack(jobs.inputs("fit_manifold")),
    output:
        **layout.OUTPUTS["fit_manifold"],
    log:
        layout.log("fit_manifold"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("fit_manifold"),
    params:
        settings=jobs.manifold_settings,
        code=jobs.part_code("fit_manifold", "manifolds"),
    message:
        "Fitting the manifold {wildcards.manifold} of {wildcards.dataset}"
    script:
        "../../scripts/fit_manifold.py"


rule encode_points:
    """Describe every row, training and new, in the manifold's own terms."""
    input:
        unpack(jobs.inputs("encode_points")),
    output:
        **layout.OUTPUTS["encode_points"],
    log:
        layout.log("encode_points"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    threads: 2
    resources:
        **jobs.requests("encode_points"),
    params:
        settings=jobs.encoding_settings,
        code=jobs.encoding_code,
    message:
        "Encoding {wildcards.dataset} in {wildcards.manifold}"
    script:
        "../../scripts/encode_points.py"


rule compute_kernel_tile:
    """Compute some labeled rows of a kernel matrix against all rows."""
    input:
        unpack(jobs.inputs("compute_kernel_tile")),
    output:
        **layout.OUTPUTS["compute_kernel_tile"],
    log:
        layout.log("compute_kernel_tile"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("compute_kernel_tile"),
    params:
        settings=jobs.kernel_settings,
        code=jobs.part_code("compute_kernel_tile", "kernels"),
    message:
        "Computing the kernel {wildcards.kernel} of {wildcards.dataset}, tile {wildcards.tile}"
    script:
        "../../scripts/compute_kernel_tile.py"


rule join_kernel:
    """Join the tiles as one virtual matrix, without a copy."""
    input:
        unpack(jobs.inputs("join_kernel")),
    output:
        **layout.OUTPUTS["join_kernel"],
    log:
        layout.log("join_kernel"),
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("join_kernel"),
    params:
        settings=jobs.join_settings,
        code=jobs.code("join_kernel"),
    message:
        "Joining the kernel {wildcards.kernel} of {wildcards.dataset}"
    script:
        "../../scripts/join_kernel.py"


rule train_method:
    """Fit a method, or several light ones, on labeled draws; label all rows, score and draw."""
    input:
        unpack(jobs.inputs("train_method")),
    output:
        **layout.OUTPUTS["train_method"],
    log:
        layout.log("train_method"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("train_method"),
    params:
        settings=jobs.training_settings,
        code=jobs.training_code,
    message:
        "Training {wildcards.method} on {wildcards.dataset}, trials {wildcards.first} to {wildcards.last}"
    script:
        "../../scripts/train_method.py"
