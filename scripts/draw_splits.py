"""Stage draw_splits: the labelled draws that all methods of a dataset share."""

import numpy as np

from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.protocol import make_draws
from fewfold.pipeline.stage_files import read_labels
from fewfold.pipeline.stages import stage_log


def main(labels, splits, *, dataset, draw, labels_per_draw, trials, evaluate, protocol, seed):
    truth = read_labels(labels)
    order, budgets = make_draws(
        truth.y,
        draw=draw,
        budgets=labels_per_draw,
        trials=trials,
        seed=seed,
        dataset=dataset,
        test_mask=truth.test_mask,
        label_splits=truth.label_splits,
    )
    settings = {"draw": draw, "labels": labels_per_draw, "trials": trials}
    with writing(splits, "draw_splits", settings=settings, seed=seed, inputs=[labels]) as out:
        out.add("order", order)
        out.add("budgets", np.asarray(budgets, dtype=np.int64))
        out.note("evaluate", evaluate)
        out.note("protocol", protocol)
        out.note("seed", seed)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.labels, sm.output.splits, **sm.params.settings)
