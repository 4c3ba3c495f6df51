"""Stage examine_candidates: what some candidates say of held-out labels and of all rows."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.labeling.run_stage import examine_some
from fewfold.pipeline.stages import stage_log


def main(files, evidence, **settings):
    examine_some(files, evidence, **settings)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.params.files, sm.output.evidence, **sm.params.settings)
