"""Stage search_neighbors: the nearest rows of one tile of rows."""

from fewfold.graph.build import GraphSettings, find_neighbors
from fewfold.pipeline.graph_files import write_neighbors
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import Progress, stage_log
from fewfold.svm.kernels import tile_bounds


def main(features, neighbors, *, search, tile, n_tiles):
    data = read_features(features)
    settings = GraphSettings.from_config(search).for_images(data.image_shape)
    X, _ = data.for_graph(not settings.is_plain)
    first, last = tile_bounds(X.shape[0], n_tiles, tile)
    progress = Progress(last - first)
    found = find_neighbors(X, settings, rows=slice(first, last), progress=progress)
    write_neighbors(neighbors, found, first_row=first, settings=search, inputs=[features])
    print(f"rows {first} to {last} of {X.shape[0]}, recall {found.recall}")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.output.neighbors, **sm.params.settings)
