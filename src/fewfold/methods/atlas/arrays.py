"""The arrays of an atlas or an encoding by name: its charts, and its finer part."""

from __future__ import annotations

import numpy as np

from fewfold.methods.atlas.charts import Charts

# Names of the arrays of the finer atlas begin with this.
FINER = "finer_"


def finer_part(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Return the finer atlas of an atlas, or the finer encoding of an encoding; None without."""
    part = {name[len(FINER) :]: v for name, v in arrays.items() if name.startswith(FINER)}
    if not part:
        return None
    # Both atlases live in the same reduced space.
    return part | {name: arrays[name] for name in ("origin", "basis") if name in arrays}


def coarse_part(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return an atlas, or an encoding, without its finer part."""
    return {name: v for name, v in arrays.items() if not name.startswith(FINER)}


def charts_of(atlas: dict[str, np.ndarray]) -> Charts:
    """Return the charts of an atlas made by `fit_atlas`."""
    return Charts(*(np.asarray(atlas[name]) for name in ("means", "directions", "dims")))
