"""Transformed copies of labeled rows, shared by the methods that learn from them."""


rule make_copies:
    """Transform the rows that some draw labels, on a grid of parameters."""
    input:
        unpack(jobs.inputs("make_copies")),
    output:
        **layout.OUTPUTS["make_copies"],
    log:
        layout.log("make_copies"),
    cache: True
    conda:
        "../envs/fewfold.yaml"
    resources:
        **jobs.requests("make_copies"),
    params:
        settings=jobs.copies_settings,
        code=jobs.code("make_copies"),
    message:
        "Making the copies {wildcards.transform} of {wildcards.dataset}"
    script:
        "../../scripts/make_copies.py"
