"""Stage prepare_labels: the truth about the rows, apart from the features, and labeled draws."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
import numpy as np

from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.protocol import held_out_mask, make_draws
from fewfold.pipeline.stage_files import read_labels
from fewfold.pipeline.stages import stage_log


def main(raw, labels, splits, *, held_out, draws):
    write_labels(raw, labels, **held_out)
    write_splits(labels, splits, **draws)


def write_labels(raw, labels, *, protocol, holdout, seed):
    with read(raw, layout.stage_of(raw) or "fetch_dataset") as file:
        y, task, test_mask = file["y"], file.note("task"), file.get("test_mask")
        new = held_out_mask(len(y), protocol, holdout, seed, test_mask)
        per_row = {"y": y, "groups": file.get("groups")}
        seen_only = {"test_mask": test_mask}
        whole = {"classes": file.get("classes"), "ids": file.get("ids")}
        if not new.any():
            whole["label_splits"] = file.get("label_splits")
    with writing(labels, "prepare_labels", seed=seed, inputs=[raw]) as out:
        for name, value in per_row.items():
            if value is not None:
                out.add(name, value[~new])
                if new.any():
                    out.add(f"{name}_new", value[new])
        for name, value in seen_only.items():
            if value is not None:
                out.add(name, value[~new])
        for name, value in whole.items():
            if value is not None:
                out.add(name, value)
        out.note("task", task)


def write_splits(
    labels, splits, *, dataset, draw, labels_per_draw, trials, evaluate, protocol, seed
):
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
        main(sm.input.raw, sm.output.labels, sm.output.splits, **sm.params.settings)
