"""Stage prepare_candidates: what labeling needs and no label changes, computed once."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.labeling.prepared import write_prepared
from fewfold.pipeline.stages import stage_log


def main(features, graph_files, prepared, own_graph=None, **settings):
    write_prepared(prepared, features, graph_files, own_graph=own_graph, **settings)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        own = sm.input.get("own_graph")
        main(sm.input.features, sm.params.files, sm.output.prepared, own, **sm.params.settings)
