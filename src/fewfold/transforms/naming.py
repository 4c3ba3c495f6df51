"""Names of transforms: the default, those within a specification, and of their files."""

from __future__ import annotations

import hashlib
import json

# Transforms of pictures; the others take rows of any kind.
OF_IMAGES = ("rotation", "translation", "scaling", "shear", "thickness")


def transform_or_default(spec, image_shape):
    """Return the transform's specification: by default a turn of images, jitter of other rows."""
    if spec is not None:
        return spec
    return "jitter" if image_shape is None else "rotation"


def names_in(spec) -> list[str]:
    """Return the names of the registered transforms in a config's specification."""
    if isinstance(spec, str):
        return [spec]
    if isinstance(spec, dict):
        return [str(spec.get("name"))]
    return [name for part in spec for name in names_in(part)]


def transform_key(spec) -> str:
    """Return a file name for a transform: its names, and a digest of its options.

    Examples
    --------
    >>> transform_key("rotation")
    'rotation'
    >>> transform_key([{"name": "rotation", "step": 30}, "scaling"])
    'rotation+scaling-168eb4d8'
    """
    if isinstance(spec, dict) and set(spec) == {"name"}:
        spec = spec["name"]
    if isinstance(spec, str):
        return spec
    text = json.dumps(spec, sort_keys=True)
    return "+".join(names_in(spec)) + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]
