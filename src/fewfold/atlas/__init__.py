"""Overlapping affine charts found by graph cuts, and kernels and features on them."""

from fewfold.atlas.classifier import AtlasSVC
from fewfold.atlas.encoding import encode, encode_blocks
from fewfold.atlas.features import atlas_features
from fewfold.atlas.fitting import AtlasSettings, fit_atlas
from fewfold.atlas.kernels import atlas_kernel_rows, kernel_scales
from fewfold.atlas.model import Atlas

__all__ = [
    "Atlas",
    "AtlasSVC",
    "AtlasSettings",
    "atlas_features",
    "atlas_kernel_rows",
    "encode",
    "encode_blocks",
    "fit_atlas",
    "kernel_scales",
]
