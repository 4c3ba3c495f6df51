"""fewfold: label a whole dataset from a few labels by learning the shape of the data.

The estimators are imported when first asked for, so that ``import fewfold`` and every
stage script stay quick to start.
"""

from importlib import import_module

__version__ = "0.1.0"

_PUBLIC = {
    "Atlas": "fewfold.atlas.model",
    "AtlasSVC": "fewfold.atlas.classifier",
    "DiffusionClassifier": "fewfold.diffusion",
    "EigenbasisClassifier": "fewfold.eigenbasis",
    "InvariantSVC": "fewfold.invariance",
    "MbedClassifier": "fewfold.mbed",
    "MultiManifoldClassifier": "fewfold.multimanifold",
    "MultiManifoldRegressor": "fewfold.multimanifold",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name):
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fewfold' has no attribute {name!r}")


def __dir__():
    return __all__
