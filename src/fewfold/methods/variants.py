"""Variants of a method: fewfold's own defaults, or the paper's algorithm as published."""

from __future__ import annotations

from fewfold.exceptions import InputError
from fewfold.methods.parameters import Parameter, one_of

DEFAULT, PUBLISHED = "default", "published"
VARIANT = Parameter(
    "variant", one_of(DEFAULT, PUBLISHED), "fewfold's defaults, or the paper's algorithm"
)


def option(model, variants: dict[str, dict], name: str):
    """Return an estimator's option: as given, or where it is None that of its variant.

    Parameters
    ----------
    model : estimator with the parameters ``variant`` and ``name``
    variants : dict
        Name of each variant -> its options.
    name : str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> variants = {"default": {"ridge": "loo"}, "published": {"ridge": 0.0}}
    >>> option(SimpleNamespace(variant="published", ridge=None), variants, "ridge")
    0.0
    >>> option(SimpleNamespace(variant="published", ridge=2.0), variants, "ridge")
    2.0
    """
    if model.variant not in variants:
        raise InputError(
            f"variant={model.variant!r} is unknown. Choose one of {', '.join(variants)}."
        )
    given = getattr(model, name)
    return variants[model.variant][name] if given is None else given
