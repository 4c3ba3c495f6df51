"""Options of `MbedClassifier`: what the variants stand for, and what is allowed."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError

VARIANTS = {
    "default": {"similarity": "auto", "start": "labels"},
    "published": {"similarity": "global", "start": "random"},
}
SIMILARITIES = ("auto", "global", "local", "diffused", "sparse")
STARTS = ("random", "spectral", "labels")


def option(variant: str, name: str, chosen: str | None) -> str:
    """Return the similarity or start that was asked for, else the variant's.

    Examples
    --------
    >>> option("default", "start", None), option("default", "start", "random")
    ('labels', 'random')
    """
    return VARIANTS[variant][name] if chosen is None else chosen


def check_options(model, n: int, n_classes: int) -> None:
    """Refuse what cannot be embedded, for n rows of ``n_classes`` classes."""
    for name, value, allowed in (
        ("variant", model.variant, tuple(VARIANTS)),
        ("similarity", model.similarity, (None, *SIMILARITIES)),
        ("start", model.start, (None, *STARTS)),
    ):
        if value not in allowed:
            names = ", ".join(str(a) for a in allowed if a is not None)
            raise InputError(f"{name}={value!r} is unknown. Choose one of {names}.")
    if not 0 < model.walk < 1:
        raise InputError(f"walk={model.walk} must lie between 0 and 1. Try 0.97.")
    if model.perplexity < 1:
        raise InputError(f"perplexity={model.perplexity} must be at least 1. Try 5.")
    if model.n_annealing < 2 or model.n_steps < 10 + model.n_annealing or model.n_init < 1:
        raise InputError(
            f"n_annealing={model.n_annealing}, n_steps={model.n_steps}, n_init={model.n_init}: "
            "at least 2 annealing steps, 10 + n_annealing gradient steps and 1 run are needed."
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
