"""Stage compute_kernel_tile: some labeled rows of a kernel matrix against all rows."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.methods.registry import kernels
from fewfold.pipeline.chain_files import load_stages
from fewfold.pipeline.kernel_files import level_rows, write_tile
from fewfold.pipeline.stage_files import read_features, read_splits
from fewfold.pipeline.stages import stage_log
from fewfold.svm.kernels import tile_bounds


def main(inputs, tile_file, *, kernel, tile, n_tiles):
    data = read_features(inputs["features"])
    stages = load_stages(inputs, data.X.shape[0])
    splits = read_splits(inputs["splits"], data.X.shape[0])
    stages["splits"] = splits
    source = kernels()[kernel["type"]].load()(data, stages, kernel)
    rows = level_rows(source, splits)
    first, last = tile_bounds(len(rows), n_tiles, tile)
    write_tile(
        tile_file,
        source,
        rows[first:last],
        settings=kernel,
        inputs=[v for v in inputs.values() if v],
    )
    print(f"{last - first} of {len(rows)} rows x {source.n_columns} columns")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(dict(sm.input.items()), sm.output.tile, **sm.params.settings)
