"""Stage draw_map: a 2-D picture of the data, without labels."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import stage_log
from fewfold.report.map_positions import map_rows


def main(features, picture, *, seed):
    shown, positions = map_rows(read_features(features, images=False).X, random_state=seed)
    with writing(picture, "draw_map", seed=seed, inputs=[features]) as out:
        out.add("shown", shown)
        out.add("positions", positions)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.output.picture, **sm.params.settings)
