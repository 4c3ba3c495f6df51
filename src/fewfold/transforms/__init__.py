"""Transforms that do not change the class of a sample, canonical forms, and invariant distances."""

from fewfold.transforms.images import as_images
from fewfold.transforms.registry import (
    Transform,
    compose,
    get_transform,
    register_transform,
    virtual_samples,
)

__all__ = [
    "Transform",
    "as_images",
    "compose",
    "get_transform",
    "register_transform",
    "virtual_samples",
]
