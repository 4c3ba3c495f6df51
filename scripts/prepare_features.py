"""Stage prepare_features: raw rows to scaled, projected features, new rows set apart."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.linalg.preparation import (
    check_finite,
    count_oddities,
    fit_preparation,
    row_blocks,
    warn_oddities,
)
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.protocol import held_out_mask
from fewfold.pipeline.stages import stage_log
from fewfold.pipeline.stored_rows import chosen_rows


def main(raw, features, *, scale, divide_by, pca, protocol, holdout, seed):
    with read(raw, layout.stage_of(raw) or "fetch_dataset") as file:
        X, shape = file.stored("X"), file.note("image_shape")
        names, test_mask = file.get("feature_names"), file.get("test_mask")
        check_finite(X, names)
        oddities = count_oddities(X)
        warn_oddities(oddities, X.shape)
        new = held_out_mask(X.shape[0], protocol, holdout, seed, test_mask)
        own = chosen_rows(X, ~new)
        fitted = fit_preparation(own, scale=scale, divide_by=divide_by, pca=pca, random_state=seed)
        settings = {"scale": scale, "divide_by": divide_by, "pca": pca, "holdout": holdout}
        with writing(
            features, "prepare_features", settings=settings, seed=seed, inputs=[raw]
        ) as out:
            for suffix, rows in (("", own), ("_new", chosen_rows(X, new))):
                if not rows.shape[0]:
                    continue
                out.add_rows(f"X{suffix}", rows.shape[0], map(fitted.transform, row_blocks(rows)))
                if shape and pca is not None:
                    scaled = map(fitted.rescale, row_blocks(rows))
                    out.add_rows(f"images{suffix}", rows.shape[0], scaled)
            if names and pca is None:
                out.add("feature_names", names)
            out.note("image_shape", shape)
            out.note("oddities", oddities)
            out.note("explained_variance", fitted.explained)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.raw, sm.output.features, **sm.params.settings)
