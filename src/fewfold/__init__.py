"""fewfold: label a whole dataset from a few labels by learning the shape of the data.

The estimators are imported when first asked for, so that ``import fewfold`` and every
stage script stay quick to start.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for editors and type checkers; see __getattr__
    from fewfold.labeling.command import label as label
    from fewfold.labeling.prediction import predict as predict
    from fewfold.methods.atlas.estimator import AtlasSVC as AtlasSVC
    from fewfold.methods.atlas.model import Atlas as Atlas
    from fewfold.methods.diffusion.estimator import DiffusionClassifier as DiffusionClassifier
    from fewfold.methods.eigenbasis.estimator import EigenbasisClassifier as EigenbasisClassifier
    from fewfold.methods.invariance.estimator import InvariantSVC as InvariantSVC
    from fewfold.methods.mbed.estimator import MbedClassifier as MbedClassifier
    from fewfold.methods.model_selection import LabeledKFold as LabeledKFold
    from fewfold.methods.model_selection import labeled_accuracy as labeled_accuracy
    from fewfold.methods.multimanifold.estimators import (
        MultiManifoldClassifier as MultiManifoldClassifier,
    )
    from fewfold.methods.multimanifold.estimators import (
        MultiManifoldRegressor as MultiManifoldRegressor,
    )
    from fewfold.session.opening import open_session as open_session
    from fewfold.session.session import LabelingSession as LabelingSession

__version__ = "0.2.0"

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
    "LabelingSession": "fewfold.session.session",
    "label": "fewfold.labeling.command",
    "labeled_accuracy": "fewfold.methods.model_selection",
    "open_session": "fewfold.session.opening",
    "predict": "fewfold.labeling.prediction",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name):
    if name in _PUBLIC:
        # by name: of the table above
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fewfold' has no attribute {name!r}")


def __dir__():
    return __all__
