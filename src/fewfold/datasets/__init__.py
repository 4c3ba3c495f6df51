"""Datasets: a registry of published sets, generators, and the user's own files.

>>> from fewfold.datasets import load
>>> digits = load("digits")
>>> digits.X.shape, digits.n_classes
((1797, 64), 10)
"""

from fewfold.datasets.base import Dataset
from fewfold.datasets.catalog import available, describe, fetch, load

__all__ = ["Dataset", "available", "describe", "fetch", "load"]
