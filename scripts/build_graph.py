"""Stage build_graph: neighbours to a weighted, symmetric graph."""

from fewfold.graph.build import GraphSettings, graph_from_neighbors
from fewfold.pipeline.graph_files import read_neighbors, write_graph
from fewfold.pipeline.stages import stage_log


def main(tiles, graph, *, graph_settings, image_shape=None):
    settings = GraphSettings.from_dict(graph_settings).for_images(image_shape)
    built = graph_from_neighbors(read_neighbors(tiles), settings)
    write_graph(graph, built, inputs=tiles)
    print(
        f"{built.W.shape[0]} nodes, {built.W.nnz // 2} edges, {built.n_components} components, "
        f"{len(built.isolated)} isolated"
    )


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(list(sm.input.tiles), sm.output.graph, **sm.params.settings)
