"""The state of decision sets as plain arrays."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.multimanifold.covariances import Projection
from fewfold.methods.multimanifold.partition import Partition
from fewfold.methods.multimanifold.rules import Bounds
from fewfold.methods.state import Field

PARTITION_STATE = (
    Field("mean", "float", ("d",), optional=True),
    Field("axes", "float", ("d", "e"), optional=True),
    Field("points", "float", ("m", "e"), optional=True),
    Field("part", "int", ("m",), low=0, optional=True),
    Field("cell_part", "int", ("m",), low=0, optional=True),
    Field("cell_covariances", "float", ("m", "e", "e"), optional=True),
)


def partition_state(found: Partition | None) -> dict:
    """Return the state of a partition; all None where there is one part only."""
    values = dict.fromkeys(field.name for field in PARTITION_STATE)
    if found is None or found.bounds.n_parts == 1:
        return values
    own = ("points", "part", "cell_part", "cell_covariances")
    values |= {name: getattr(found, name) for name in own}
    return values | {"mean": found.projection.mean, "axes": found.projection.axes}


def partition_from_state(values: dict, n_parts: int) -> Partition | None:
    """Take a partition's state out of checked values; None where it was not stored."""
    found = {field.name: values.pop(field.name) for field in PARTITION_STATE}
    if found["points"] is None:
        return None
    if any(found[name] is None for name in ("part", "cell_part", "cell_covariances")):
        raise InputError("The model has a partition without parts or covariances.")
    for name in ("part", "cell_part"):
        check_parts("The model", found[name], n_parts)
    try:
        np.linalg.cholesky(found["cell_covariances"])
    except np.linalg.LinAlgError as error:
        raise InputError("A covariance of the model is not positive definite.") from error
    projection = Projection(found.pop("mean"), found.pop("axes"))
    bounds = Bounds(n_parts, 0, 0)
    return Partition(
        kept=None,
        labeled=None,
        covariances=None,
        W=None,
        bounds=bounds,
        ratio_cut=np.nan,
        projection=projection,
        **found,
    )


def check_parts(owner: str, part: np.ndarray, n_parts: int) -> None:
    """Refuse rows of parts that there are no learners for."""
    if len(part) and part.max() >= n_parts:
        raise InputError(f"{owner}: part {part.max()} of {n_parts} has no learner.")
