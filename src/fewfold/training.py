"""What a learner is given for one labelled draw, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Inputs:
    """Everything the earlier stages made for a learner; what a chain does not name is None.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, n_features)
    X_new : same of shape (n_new, n_features), or None
        Rows the model must not have seen before predicting them.
    task : {"classification", "regression"}
    graph : NeighborGraph or None
    extension : csr_array of shape (n_new, n) or None
        Weights of the new rows over the rows of the graph.
    manifold : dict of arrays or None
    kernel : fewfold.kernels.KernelMatrix or None
    copies : fewfold.transforms.stage.CopiesFile or None
        Transformed copies of the rows that some draw labels.
    image_shape : tuple of int or None
    images, images_new : arrays or None
        Scaled pixels of the rows, where ``X`` holds their principal components.
    groups, groups_new : int arrays or None
        The true sets of generated data, for methods that are told (Clairvoyant).
    """

    X: Any
    X_new: Any = None
    task: str = "classification"
    graph: Any = None
    extension: Any = None
    manifold: Any = None
    kernel: Any = None
    copies: Any = None
    image_shape: tuple | None = None
    images: Any = None
    images_new: Any = None
    groups: np.ndarray | None = None
    groups_new: np.ndarray | None = None


@dataclass
class Outcome:
    """Labels (or values) for all rows from one labelled draw.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Class codes, -1 where the method cannot know; floats for regression.
    proba : ndarray of shape (n, n_classes) or None
    labels_new, proba_new : the same for the new rows, or None
    predict_s : float
        Seconds of the total that went into predicting, where the method can tell.
    status : str
        "ok", or one short phrase ("not converged", ...).
    details : dict
        Plain values worth keeping: chosen settings, sizes, residuals.
    """

    labels: np.ndarray
    proba: np.ndarray | None = None
    labels_new: np.ndarray | None = None
    proba_new: np.ndarray | None = None
    predict_s: float = 0.0
    status: str = "ok"
    details: dict = field(default_factory=dict)
