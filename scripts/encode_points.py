"""Stage encode_points: every row, training and new, in the terms of a manifold model."""

from fewfold.methods.base import load
from fewfold.methods.registry import manifolds
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import stage_log


def main(features, manifold, points, *, kind, options):
    encode = load(manifolds()[kind].encoder)
    with read(manifold, "fit_manifold") as file:
        if file.note("kind") != kind:
            file.fail(f"says it is of type {file.note('kind')!r}, expected was {kind!r}")
        arrays = {name: file[name] for name in file.names()}
    with writing(points, "encode_points", settings=options, inputs=[features, manifold]) as out:
        encode(out, read_features(features), arrays, **options)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.input.manifold, sm.output.points, **sm.params.settings)
