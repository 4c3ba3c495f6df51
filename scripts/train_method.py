"""Stage train_method: one method on a batch of labelled draws; labels for all rows."""

import numpy as np

from fewfold.artifacts import writing
from fewfold.cells import confidence, run_cells
from fewfold.chain_files import load_inputs
from fewfold.features import read_splits
from fewfold.plan.parts import LEARNERS
from fewfold.stages import Progress, stage_log


def main(files, predictions, *, learner, options, first, last):
    inputs, truth = load_inputs(files)
    splits = read_splits(files["splits"])
    part = LEARNERS[learner]
    progress = Progress((last - first) * len(splits.budgets), "fits")
    cells = run_cells(
        part.function(),
        inputs,
        truth.y,
        splits,
        range(first, last),
        n_classes=truth.n_classes,
        settings=part.options(options),
        clusters=part.clusters,
        progress=progress,
    )
    dtype = np.float64 if truth.task == "regression" else np.int32
    notes = []
    sources = [files[k] for k in ("features", "labels", "splits")]
    with writing(predictions, "train_method", settings=options, inputs=sources) as out:
        for trial, budget, seed, outcome, seconds in cells:
            cell = f"{trial}/{budget}"
            out.add(f"labels/{cell}", outcome.labels.astype(dtype))
            out.add(f"confidence/{cell}", confidence(outcome.proba, len(outcome.labels)))
            if outcome.labels_new is not None:
                out.add(f"labels_new/{cell}", outcome.labels_new.astype(dtype))
            notes.append(
                {
                    "trial": trial,
                    "budget": budget,
                    "seed": seed,
                    "fit_s": round(seconds - outcome.predict_s, 4),
                    "predict_s": round(outcome.predict_s, 4),
                    "status": outcome.status,
                    "details": outcome.details,
                }
            )
            print(f"trial {trial}, {budget} labels: {outcome.status} {outcome.details}")
        out.note("cells", notes)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(dict(sm.input.items()), sm.output.predictions, **sm.params.settings)
