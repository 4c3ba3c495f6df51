"""Stage fetch_dataset: a source (published files, a generator, the user's file) to raw.h5."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.datasets import load
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.file_digests import check_unchanged
from fewfold.pipeline.stages import stage_log

OPTIONAL = ("classes", "test_mask", "label_splits", "feature_names", "ids", "groups")


def main(raw, *, source, options, image_shape=None, digests=None):
    data = load(source, **options)
    check_unchanged(digests or {})
    with writing(raw, "fetch_dataset", settings={"source": source, "options": options}) as out:
        out.add("X", data.X)
        out.add("y", data.y)
        for name in OPTIONAL:
            value = getattr(data, name)
            if value is not None:
                out.add(name, value)
        out.note("task", data.task)
        out.note("image_shape", image_shape or data.image_shape)
    for sentence in data.notes:
        print(sentence)
    print(f"{data.X.shape[0]} rows x {data.X.shape[1]} columns, {data.task}")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.output.raw, **sm.params.settings)
