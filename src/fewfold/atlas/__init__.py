"""Overlapping affine charts found by graph cuts, and kernels and features on them."""

from fewfold.atlas.encoding import encode, encode_blocks
from fewfold.atlas.fitting import AtlasSettings, fit_atlas
from fewfold.atlas.kernels import atlas_kernel_rows, kernel_scales

__all__ = [
    "AtlasSettings",
    "atlas_kernel_rows",
    "encode",
    "encode_blocks",
    "fit_atlas",
    "kernel_scales",
]
