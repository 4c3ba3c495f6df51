"""Options of `MbedClassifier`: values of the variants, and checks."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError

VARIANTS = {
    "default": {"similarity": "auto", "start": "labels", "only_fitted": True, "keep_labels": True},
    "published": {
        "similarity": "global",
        "start": "random",
        "only_fitted": False,
        "keep_labels": False,
    },
}


def option(variant: str, name: str, chosen: str | None = None) -> str | bool:
    """Return the given value, else that of the variant.

    Examples
    --------
    >>> option("default", "start", None), option("default", "start", "random")
    ('labels', 'random')
    """
    return VARIANTS[variant][name] if chosen is None else chosen


def check_sizes(model, n: int, n_classes: int) -> None:
    """Raise an error for options that are inconsistent with each other or the data.

    Parameters
    ----------
    model : MbedClassifier
    n, n_classes : int
        Number of rows and classes.
    """
    if model.n_steps < 10 + model.n_annealing:
        raise InputError(
            f"n_annealing={model.n_annealing}, n_steps={model.n_steps}: at least 10 + n_annealing "
            "gradient steps are needed."
        )
    if model.n_dims is not None and model.n_dims < max(1, n_classes - 1):
        raise InputError(
            f"n_dims={model.n_dims} cannot hold {n_classes} classes at equal angles. "
            f"Use at least {n_classes - 1}."
        )
    if n < 3:
        raise InputError(f"Mbed needs at least 3 rows, got n_samples={n}. Give more rows.")


def check_prior(prior, n_classes: int) -> np.ndarray | None:
    """Return class shares that sum to 1, or None where none are given."""
    if prior is None:
        return None
    shares = np.asarray(prior, np.float64)
    if shares.shape != (n_classes,) or (shares <= 0).any():
        raise InputError(
            f"prior={prior!r} must hold {n_classes} positive class shares, one per class."
        )
    return shares / shares.sum()
