"""Stage train_method: one method on a batch of labeled draws: labels for all rows, and scores."""

from functools import partial

import numpy as np

from fewfold.methods.registry import methods
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.cells import confidence, metric_row, run_cells, write_metrics
from fewfold.pipeline.chain_files import load_inputs
from fewfold.pipeline.stage_files import read_splits
from fewfold.pipeline.stages import Progress, stage_log
from fewfold.pipeline.training import fit_draw, pictures
from fewfold.report.pictures import add_figures


def main(
    files, predictions, metrics, *, dataset, method, learner, options, first, last, figures=False
):
    inputs, truth = load_inputs(files)
    splits = read_splits(files["splits"], len(truth.y))
    record = methods()[learner]
    cells = run_cells(
        partial(fit_draw, record),
        inputs,
        truth.y,
        splits,
        range(first, last),
        n_classes=truth.n_classes,
        settings=options,
        clusters=record.clusters,
        progress=Progress((last - first) * len(splits.budgets), "fits"),
    )
    dtype = np.float64 if truth.task == "regression" else np.int32
    notes, rows = [], []
    sources = [files[k] for k in ("features", "labels", "splits")]
    with writing(predictions, "train_method", settings=options, inputs=sources) as out:
        for trial, budget, seed, outcome, seconds in cells:
            cell = f"{trial}/{budget}"
            out.add(f"labels/{cell}", outcome.labels.astype(dtype))
            out.add(f"confidence/{cell}", confidence(outcome.proba, len(outcome.labels)))
            if outcome.labels_new is not None:
                out.add(f"labels_new/{cell}", outcome.labels_new.astype(dtype))
            note = {
                "trial": trial,
                "budget": budget,
                "seed": seed,
                "fit_s": round(seconds - outcome.predict_s, 4),
                "predict_s": round(outcome.predict_s, 4),
                "status": outcome.status,
                "details": outcome.details,
            }
            notes.append(note)
            rows.append(metric_row(truth, splits, note, outcome, dtype))
            print(f"trial {trial}, {budget} labels: {outcome.status} {outcome.details}")
            if figures and (trial, budget) == (0, splits.budgets[-1]):
                labeled = splits.order[trial, :budget]
                add_figures(out, pictures(record, outcome, inputs, labeled, truth.y))
        out.note("cells", notes)
    write_metrics(metrics, rows, dataset=dataset, method=method)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            dict(sm.input.items()),
            sm.output.predictions,
            sm.output.metrics,
            **sm.params.names,
            **sm.params.settings,
        )
