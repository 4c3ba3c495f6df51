"""Stage cluster_rows: the smoothest functions on the graph, to groups of rows."""

from fewfold.labeling.fitting import cluster_answer
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.stages import stage_log


def main(manifold, clusters, *, n_clusters, seed):
    with read(manifold, "fit_manifold") as basis:
        vectors = basis["eigenvectors"]
    arrays, notes = cluster_answer(vectors, n_clusters, seed)
    with writing(clusters, "cluster_rows", seed=seed, inputs=[manifold]) as out:
        for name, values in arrays.items():
            out.add(name, values)
        for key, value in notes.items():
            out.note(key, value)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.manifold, sm.output.clusters, **sm.params.settings)
