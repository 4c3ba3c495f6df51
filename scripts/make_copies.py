"""Stage make_copies: transformed copies of every row that some draw labels."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.pipeline.copies_files import rows_by_draw, write_copies
from fewfold.pipeline.stage_files import read_features, read_splits
from fewfold.pipeline.stages import stage_log


def main(features, splits, copies, *, transform):
    data = read_features(features)
    X, _ = data.for_graph(needs_images=True)
    rows = rows_by_draw(read_splits(splits, X.shape[0]).order)
    write_copies(
        copies,
        X,
        data.image_shape,
        transform,
        rows,
        settings={"transform": transform},
        inputs=[features, splits],
    )
    print(f"copies of {len(rows)} rows under {transform}")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.input.splits, sm.output.copies, **sm.params.settings)
