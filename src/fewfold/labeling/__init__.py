"""Labelling the user's own file: one command, or one function, from a table to an answer."""

from fewfold.labeling.command import Labelled, label
from fewfold.labeling.prediction import predict

__all__ = ["Labelled", "label", "predict"]
