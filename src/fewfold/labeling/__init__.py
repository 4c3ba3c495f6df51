"""Labeling of the user's own data: one command or function from a table to its labels.

`label` and `predict` are imported on first use: stages that need neither start faster.
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
