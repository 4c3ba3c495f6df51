"""Stage extend_graph: weights of rows the graph never saw over its nodes."""

from fewfold.artifacts import writing
from fewfold.features import read_features
from fewfold.graph.build import extend_graph
from fewfold.graph.files import read_graph
from fewfold.stages import Progress, stage_log


def main(features, graph, extension):
    data, built = read_features(features), read_graph(graph)
    X, X_new = data.for_graph(not built.settings.is_plain)
    weights = extend_graph(built, X, X_new, progress=Progress(X_new.shape[0]))
    with writing(extension, "extend_graph", inputs=[features, graph]) as out:
        out.add("weights", weights)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.input.graph, sm.output.extension)
