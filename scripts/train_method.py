"""Stage train_method: methods on a batch of labeled draws: labels for all rows, and scores."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from functools import partial

import numpy as np

from fewfold.methods.registry import methods as records
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.cells import METHOD_PREFIX, confidence, metric_row, run_cells
from fewfold.pipeline.chain_files import load_inputs
from fewfold.pipeline.result_tables import write_table
from fewfold.pipeline.stage_files import read_splits
from fewfold.pipeline.stages import Progress, import_scikit_learn, stage_log
from fewfold.pipeline.training import fit_draw, pictures
from fewfold.report.pictures import add_figures


def main(files, predictions, metrics, *, dataset, methods, first, last, figures=False):
    learners = [records()[entry["learner"]] for entry in methods.values()]
    images = any(learner.needs.images or (figures and learner.figures) for learner in learners)
    inputs, truth = load_inputs(files, images=images)
    splits = read_splits(files["splits"], len(truth.y))
    dtype = np.float64 if truth.task == "regression" else np.int32
    notes, rows = [], []
    sources = [files[k] for k in ("features", "labels", "splits")]
    with writing(predictions, "train_method", settings=methods, inputs=sources) as out:
        for record, (method, entry) in zip(learners, methods.items()):
            cells = run_cells(
                partial(fit_draw, record),
                inputs,
                truth.y,
                splits,
                range(first, last),
                n_classes=truth.n_classes,
                settings=entry["options"],
                clusters=record.clusters,
                progress=Progress((last - first) * len(splits.budgets), "fits"),
            )
            prefix = METHOD_PREFIX.format(method) if len(methods) > 1 else ""
            for trial, budget, seed, outcome, seconds in cells:
                cell = f"{prefix}{trial}/{budget}"
                out.add(f"labels/{cell}", outcome.labels.astype(dtype))
                out.add(f"confidence/{cell}", confidence(outcome.proba, len(outcome.labels)))
                if outcome.labels_new is not None:
                    out.add(f"labels_new/{cell}", outcome.labels_new.astype(dtype))
                note = {
                    "method": method,
                    "trial": trial,
                    "budget": budget,
                    "seed": seed,
                    "fit_s": round(seconds - outcome.predict_s, 4),
                    "predict_s": round(outcome.predict_s, 4),
                    "status": outcome.status,
                    "details": outcome.details,
                }
                notes.append(note)
                row = metric_row(truth, splits, note, outcome, dtype)
                rows.append({"dataset": dataset, "method": method, **row})
                print(f"{method}, trial {trial}, {budget} labels: {outcome.status}")
                print(f"  {outcome.details}")
                if figures and record.figures and (trial, budget) == (0, splits.budgets[-1]):
                    labeled = splits.order[trial, :budget]
                    add_figures(out, pictures(record, outcome, inputs, labeled, truth.y))
        out.note("cells", notes)
    write_table(metrics, "metrics", rows)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        import_scikit_learn()
        main(
            dict(sm.input.items()),
            sm.output.predictions,
            sm.output.metrics,
            **sm.params.settings,
        )
