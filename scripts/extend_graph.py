"""Stage extend_graph: weights of rows the graph never saw over its nodes."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from dataclasses import replace

from fewfold.exceptions import ArtifactError
from fewfold.graph.build import GraphSettings, extend_graph
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.chain_files import check_rows
from fewfold.pipeline.graph_files import read_graph
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import Progress, stage_log


def main(features, graph, extension, *, graph_settings, image_shape=None):
    # The settings of the config, not those of the file: a function of the user's is only
    # imported because their own config names it.
    settings = GraphSettings.from_config(graph_settings).for_images(image_shape)
    data, built = read_features(features), replace(read_graph(graph), settings=settings)
    X, X_new = data.for_graph(not built.settings.is_plain)
    if X_new is None:
        raise ArtifactError(f"{features} holds no new rows. Move it away and run again.")
    check_rows([("graph", built.W.shape[0], X.shape[0])])
    weights = extend_graph(built, X, X_new, progress=Progress(X_new.shape[0]))
    with writing(extension, "extend_graph", inputs=[features, graph]) as out:
        out.add("weights", weights)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.input.graph, sm.output.extension, **sm.params.settings)
