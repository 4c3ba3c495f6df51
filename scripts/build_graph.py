"""Stage build_graph: neighbors to a weighted, symmetric graph."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.graph.build import GraphSettings, find_neighbors, graph_from_neighbors
from fewfold.pipeline.graph_files import read_neighbors, write_graph
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import Progress, stage_log


def main(tiles, graph, *, graph_settings, image_shape=None, features=None):
    settings = GraphSettings.from_dict(graph_settings).for_images(image_shape)
    if not tiles:  # few rows: the search is not worth a job of its own
        neighbors = find_neighbors(read_features(features, images=False).X, settings)
    else:
        neighbors = read_neighbors(tiles)
    if settings.explores(len(neighbors.indices)):
        from fewfold.graph.exploring import MOST_ROUNDS, explore

        X, _ = read_features(features).for_graph(True)
        progress = Progress(MOST_ROUNDS * len(X))
        neighbors = explore(X, neighbors, settings.with_user_functions(), progress)
    built = graph_from_neighbors(neighbors, settings)
    write_graph(graph, built, inputs=[*tiles, *([features] if features else [])])
    print(
        f"{built.W.shape[0]} nodes, {built.W.nnz // 2} edges, {built.n_components} components, "
        f"{len(built.isolated)} isolated"
    )


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        tiles, features = list(sm.input.get("tiles", [])), sm.input.get("features")
        main(tiles, sm.output.graph, features=features, **sm.params.settings)
