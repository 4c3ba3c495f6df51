"""Stage encode_points: every row, training and new, in the terms of a manifold model."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.exceptions import ArtifactError
from fewfold.methods.base import load
from fewfold.methods.registry import manifolds
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.chain_files import load_stages
from fewfold.pipeline.stage_files import read_features, read_splits
from fewfold.pipeline.stages import stage_log


def main(files, points, *, kind, options):
    features = read_features(files["features"])
    stages = load_stages(files, features.X.shape[0])
    if "splits" in files:
        stages["splits"] = read_splits(files["splits"], features.X.shape[0])
    manifold = stages.pop("manifold")
    if manifold.type != kind:
        raise ArtifactError(
            f"{files['manifold']} says it is of type {manifold.type!r}, expected was {kind!r}. "
            "Move the file away and run again."
        )
    inputs = list(files.values())
    with writing(points, "encode_points", settings=options, inputs=inputs) as out:
        load(manifolds()[kind].encoder)(out, features, manifold.arrays, **options, **stages)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(dict(sm.input.items()), sm.output.points, **sm.params.settings)
