"""Stage fit_manifold: the shape of the data, learned without labels."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.methods.registry import manifolds
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.chain_files import check_rows
from fewfold.pipeline.graph_files import read_graph
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import stage_log


def main(features, graph, manifold, *, kind, options, seed):
    fit = manifolds()[kind].load()
    built, data = read_graph(graph) if graph else None, read_features(features)
    if built is not None:
        check_rows([("graph", built.W.shape[0], data.X.shape[0])])
    arrays, notes = fit(data, built, options, seed=seed)
    inputs = [p for p in (features, graph) if p]
    with writing(manifold, "fit_manifold", settings=options, seed=seed, inputs=inputs) as out:
        for name, value in arrays.items():
            out.add(name, value)
        for name, value in notes.items():
            out.note(name, value)
        out.note("kind", kind)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            sm.input.features, sm.input.get("graph"), sm.output.manifold, **sm.params.settings
        )  # fmt: skip
