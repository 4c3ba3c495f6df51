"""Stage label_rows: the candidates combined, a label for each row, the model file, the report."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.labeling.run_stage import label_rows, report_rows
from fewfold.pipeline.stages import stage_log


def main(files, outputs, *, shown, **settings):
    prepared = label_rows(files, outputs["answer"], outputs["model"], **settings)
    report_rows(files, outputs, prepared, **shown)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.params.files, dict(sm.output.items()), shown=sm.params.shown, **sm.params.settings)
