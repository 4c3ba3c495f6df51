"""Stage encode_points: every row, seen and new, in the terms of a manifold model."""

from fewfold.artifacts import read, writing
from fewfold.atlas.encoding import write_encoding
from fewfold.features import read_features
from fewfold.stages import stage_log


def main(features, manifold, points, *, q):
    data = read_features(features)
    with read(manifold, "fit_manifold") as file:
        atlas = {name: file[name] for name in file.names()}
    with writing(points, "encode_points", settings={"q": q}, inputs=[features, manifold]) as out:
        write_encoding(out, data.X, atlas, q, rows=range(data.X.shape[0]))
        if data.X_new is not None:
            write_encoding(out, data.X_new, atlas, q, suffix="_new")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.input.manifold, sm.output.points, **sm.params.settings)
