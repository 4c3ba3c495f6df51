"""fewfold: label a whole dataset from a few labels by learning the shape of the data.

The estimators are imported when first asked for, so that ``import fewfold`` and every
stage script stay quick to start.
"""

from importlib import import_module

__version__ = "0.1.0"

_PUBLIC = {
    "Atlas": "fewfold.methods.atlas.model",
    "AtlasSVC": "fewfold.methods.atlas.estimator",
    "DiffusionClassifier": "fewfold.methods.diffusion.estimator",
    "EigenbasisClassifier": "fewfold.methods.eigenbasis.estimator",
    "InvariantSVC": "fewfold.methods.invariance.estimator",
    "MbedClassifier": "fewfold.methods.mbed.estimator",
    "LabeledKFold": "fewfold.methods.model_selection",
    "MultiManifoldClassifier": "fewfold.methods.multimanifold.estimators",
    "MultiManifoldRegressor": "fewfold.methods.multimanifold.estimators",
    "labeled_accuracy": "fewfold.methods.model_selection",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name):
    if name in _PUBLIC:
        # by name: of the table above
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fewfold' has no attribute {name!r}")


def __dir__():
    return __all__
