"""fewfold: labels for a whole dataset from a few, by the shape of the data.

The workflow itself is workflow/Snakefile, where Snakemake's catalog and modules look for it.
"""


include: "workflow/Snakefile"


rule run:
    """Everything the config asks for: an included rule is not taken as the default."""
    default_target: True
    input:
        rules.all.input,
