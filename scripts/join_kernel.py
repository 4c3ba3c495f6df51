"""Stage join_kernel: row tiles as one virtual matrix."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.pipeline.kernel_files import join_tiles
from fewfold.pipeline.stages import stage_log


def main(tiles, kernel, *, settings):
    join_tiles(kernel, tiles, settings=settings)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(list(sm.input.tiles), sm.output.kernel, settings=sm.params.settings)
