"""Stage prepare_labels: the truth about the rows, apart from the features."""

from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.protocol import held_out_mask
from fewfold.pipeline.stages import stage_log


def main(raw, labels, *, protocol, holdout, seed):
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


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.raw, sm.output.labels, **sm.params.settings)
