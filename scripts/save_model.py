"""Stage save_model: what is needed to label new rows, as one file."""

from fewfold.labeling.finishing import Material, write_model
from fewfold.pipeline.stages import stage_log


def main(files, model, *, learners):
    size = write_model(Material.read(files), model, learners)
    print(f"{size} bytes")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(dict(sm.input.items()), sm.output.model, **sm.params.settings)
