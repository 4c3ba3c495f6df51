"""Labeling the user's own file: one command, or one function, from a table to an answer.

`label` and `predict` are imported when first asked for: stages that need neither start sooner.
"""

from importlib import import_module

_PUBLIC = {
    "Labeled": "fewfold.labeling.publishing",
    "label": "fewfold.labeling.command",
    "predict": "fewfold.labeling.prediction",
}
__all__ = ["Labeled", "label", "predict"]


def __getattr__(name):
    if name in _PUBLIC:
        # by name: of the table above
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'fewfold.labeling' has no attribute {name!r}")
