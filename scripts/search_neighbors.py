"""Stage search_neighbors: the nearest rows of one tile of rows."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.graph.build import GraphSettings, find_neighbors
from fewfold.pipeline.graph_files import write_neighbors
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import Progress, stage_log
from fewfold.svm.kernels import tile_bounds


def main(features, neighbors, *, search, tile, n_tiles):
    """Search a tile of consecutive rows among all."""
    data = read_features(features)
    settings = GraphSettings.from_config(search).for_images(data.image_shape)
    X, _ = data.for_graph(not settings.is_plain)
    first, last = tile_bounds(X.shape[0], n_tiles, tile)
    progress = Progress(last - first)
    found = find_neighbors(X, settings, rows=slice(first, last), progress=progress)
    write_neighbors(neighbors, found, settings=search, inputs=[features])
    print(f"rows {first} to {last} of {X.shape[0]}, recall {found.recall}")


def search_index(index, neighbors, *, search, tile, n_tiles):
    """Search a tile of an index's rows; nothing else is read."""
    from fewfold.graph.tiles import search_tile
    from fewfold.pipeline.index_files import reading_index

    settings = GraphSettings.from_config(search)
    with reading_index(index, search) as opened:
        progress = Progress(opened.n_rows // n_tiles)
        rows, found = search_tile(opened, settings, tile, n_tiles, progress)
        write_neighbors(neighbors, found, rows, settings=search, inputs=[index])
        print(f"{len(rows)} of {opened.n_rows} rows, recall {found.recall}")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        if "index" in sm.input.keys():
            search_index(sm.input.index, sm.output.neighbors, **sm.params.settings)
        else:
            main(sm.input.features, sm.output.neighbors, **sm.params.settings)
