"""Stage index_neighbors: rows sorted into lists, which every tile of the search needs."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.graph.build import GraphSettings
from fewfold.graph.tiles import build_search_index
from fewfold.pipeline.index_files import write_index
from fewfold.pipeline.stage_files import read_features
from fewfold.pipeline.stages import stage_log


def main(features, index, *, search):
    built = build_search_index(read_features(features).X, GraphSettings.from_config(search))
    write_index(index, built, settings=search, inputs=[features])
    if built.rows is not None:
        print(f"{built.n_rows} rows, all to be compared: lists would save nothing")
    else:
        print(
            f"{built.n_rows} rows in {built.lists.n_lists} lists, {built.probes} to be visited, "
            f"recall {built.recall}"
        )


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.features, sm.output.index, **sm.params.settings)
