"""Overlapping affine charts found by graph cuts, and kernels and features on them.

Names are imported when first asked for: stages that only encode points need no scikit-learn.
"""

from importlib import import_module

_PUBLIC = {
    "Atlas": "fewfold.atlas.model",
    "AtlasSVC": "fewfold.atlas.classifier",
    "AtlasSettings": "fewfold.atlas.settings",
    "atlas_features": "fewfold.atlas.features",
    "atlas_kernel_rows": "fewfold.atlas.kernels",
    "encode": "fewfold.atlas.encoding",
    "encode_blocks": "fewfold.atlas.encoding",
    "fit_atlas": "fewfold.atlas.fitting",
    "kernel_scales": "fewfold.atlas.kernels",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name):
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fewfold.atlas' has no attribute {name!r}")
