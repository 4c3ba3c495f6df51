"""Stage label_rows: the candidates combined, a label for each row, the model file."""

from fewfold.labeling.run_stage import label_rows
from fewfold.pipeline.stages import stage_log


def main(files, answer, model, **settings):
    label_rows(files, answer, model, **settings)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.params.files, sm.output.answer, sm.output.model, **sm.params.settings)
