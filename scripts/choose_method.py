"""Stage choose_method: what the candidates said of held-out labels, to one choice."""

from fewfold.labeling.results import choose_and_record
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.stage_files import read_labels, read_splits
from fewfold.pipeline.stages import stage_log


def main(labels, splits, files, choice, *, methods, n_folds=None, reason=None):
    truth = read_labels(labels)
    with writing(choice, "choose_method", inputs=[labels, splits]) as out:
        if files:
            choose_and_record(out, truth, read_splits(splits, len(truth.y)), files, n_folds)
        else:  # too few labels to compare anything
            out.note("comparison", {"chosen": methods[0], "reason": reason})


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            sm.input.labels,
            sm.input.splits,
            sm.params.files,
            sm.output.choice,
            **sm.params.settings,
        )
