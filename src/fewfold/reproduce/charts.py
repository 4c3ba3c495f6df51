"""What the charts of fitted atlases hold, as rows of a measured table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.methods.atlas.description import describe_charts
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import read_labels

# Name of the row -> metric. "one_class" counts charts of one class, "mixed" those in which more
# than 10 % are of other classes.
ROWS = {
    "charts": "charts",
    "one_class": "charts",
    "mixed": "charts",
    "purity": "purity",
    "impure": "impure",
}
_ARRAYS = ("means", "dims", "interior", "member_rows", "member_charts")


def chart_counts(results: Path, datasets: set[str]) -> pd.DataFrame:
    """Describe the (first) atlas of each manifold file of some datasets.

    Parameters
    ----------
    results : Path
    datasets : set of str

    Returns
    -------
    DataFrame
        Rows ``NAME:MANIFOLD`` for the names of `ROWS`; empty without an atlas.
    """
    rows = []
    for dataset in sorted(datasets):
        for path in sorted((results / dataset / "manifolds").glob("*.h5")):
            if path.stem.endswith(".points"):
                continue
            with read(path, "fit_manifold") as file:
                if file.note("kind") != "atlas":
                    continue
                atlas = {name: file[name] for name in _ARRAYS}
            found = chart_values(atlas, read_labels(results / dataset / "labels.h5").y)
            rows += [
                {"dataset": dataset, "method": f"{name}:{path.stem}", "n_labeled": 0,
                 "protocol": "stage", "metric": ROWS[name], "mean": value, "trials": 1}
                for name, value in found.items()
            ]  # fmt: skip
    return pd.DataFrame(rows)


def chart_values(atlas: dict[str, np.ndarray], y: np.ndarray) -> dict[str, float]:
    """Return the numbers of [atlas-2014] "Chart Characterisation" by their names in `ROWS`.

    Examples
    --------
    >>> from fewfold.methods.atlas.fitting import fit_atlas
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> found = chart_values(fit_atlas(X, {"n_dims": 1}), np.zeros(60, int))
    >>> found["charts"] == found["one_class"], found["mixed"], found["purity"]
    (True, 0, 1.0)
    """
    about = describe_charts(atlas, y)
    purity = about["purity"][np.isfinite(about["purity"])]
    return {
        "charts": len(about["size"]),
        "one_class": int(np.sum(purity == 1)),
        "mixed": int(np.sum(purity < 0.9)),
        "purity": float(np.median(purity)),
        "impure": float(about["impure"]),
    }
