"""Stage draw_map: a 2-D picture of the data, without labels."""

from fewfold.artifacts import writing
from fewfold.features import read_features, read_splits
from fewfold.maps import map_rows
from fewfold.stages import stage_log


def main(features, splits, picture, *, seed):
    labeled = read_splits(splits).order[0, :500]
    shown, positions = map_rows(read_features(features).X, always=labeled, random_state=seed)
    with writing(picture, "draw_map", seed=seed, inputs=[features, splits]) as out:
        out.add("shown", shown)
        out.add("positions", positions)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.input.splits, sm.output.picture, **sm.params.settings)
