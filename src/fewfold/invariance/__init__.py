"""Kernels that know what does not matter ([invariance-2006]): deformed kernels and machines."""

from importlib import import_module

_PUBLIC = {
    "AllVirtualSVC": "fewfold.invariance.baselines",
    "BaseKernel": "fewfold.invariance.deformed",
    "Deformed": "fewfold.invariance.deformed",
    "DeformedKernel": "fewfold.invariance.kernel_stage",
    "InvariantSVC": "fewfold.invariance.classifier",
    "VirtualSupportVectorSVC": "fewfold.invariance.baselines",
    "deformed_kernel": "fewfold.invariance.deformed",
    "rotated_images": "fewfold.invariance.rotated",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name):
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fewfold.invariance' has no attribute {name!r}")


def __dir__():
    return __all__
