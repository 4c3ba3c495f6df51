"""The atlas as a manifold stage. Its kernel is apart, so that a change there refits nothing."""

from __future__ import annotations

from fewfold.methods.atlas.fitting import fit_atlas


def fit_manifold(features, graph, options: dict, *, seed: int):
    """Return the arrays and notes of an atlas; neighbors that share a chart are the graph's."""
    last = []

    def progress(what, done, total):
        if [what] != last:
            last[:] = [what]
            print(f"{what}: {done} of {total}", flush=True)

    atlas = fit_atlas(
        features.X, options, neighbors=graph.neighbors, random_state=seed, progress=progress
    )
    first, last_energy = atlas["energy"][0], atlas["energy"][-1]
    print(f"{len(atlas['means'])} charts, energy {first:.4g} to {last_energy:.4g}")
    return atlas, {"n_charts": len(atlas["means"])}
