"""What a method is given for one labeled draw, and what it returns."""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewfold.exceptions import ArtifactError, InputError
from fewfold.labels import class_columns
from fewfold.methods import registry
from fewfold.methods.base import CLASSIFICATION, Method, load
from fewfold.methods.parameters import check_parameters


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
    manifold : fewfold.methods.base.ManifoldModel or None
    kernel : fewfold.pipeline.kernel_files.KernelMatrix or None
    copies : fewfold.pipeline.copies_files.CopiesFile or None
        Transformed copies of the rows that some draw labels.
    image_shape : tuple of int or None
    images, images_new : arrays or None
        Scaled pixels of the rows, where ``X`` holds their principal components.
    groups, groups_new : int arrays or None
        The true sets of generated data, for oracles (Clairvoyant).
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
    """Labels (or values) for all rows from one labeled draw.

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
    model : estimator or None
        The fitted model, for figures and model files.
    """

    labels: np.ndarray
    proba: np.ndarray | None = None
    labels_new: np.ndarray | None = None
    proba_new: np.ndarray | None = None
    predict_s: float = 0.0
    status: str = "ok"
    details: dict = field(default_factory=dict)
    model: Any = None


def one_class_outcome(inputs: Inputs, code: int, n_classes: int) -> Outcome:
    """Return the outcome of a draw whose labels are all of one class: that class everywhere.

    Parameters
    ----------
    inputs : Inputs
    code : int
        The class that was drawn.
    n_classes : int
        Classes of the dataset.
    """

    def constant(X):
        if X is None:
            return None, None
        return np.full(X.shape[0], code, np.int64), np.tile(
            np.eye(n_classes)[code], (X.shape[0], 1)
        )

    return Outcome(*constant(inputs.X), *constant(inputs.X_new), status="one class only")


def fit_method(
    method: Method, inputs: Inputs, labeled, targets, *, n_classes: int, seed: int, settings: dict
):
    """Fit a method's estimator to one labeled draw.

    Parameters
    ----------
    method : Method
    inputs : Inputs
    labeled, targets : arrays of shape (m,)
        Labeled rows and their class codes or values.
    n_classes, seed : int
    settings : dict
        Of the config's entry.

    Returns
    -------
    estimator
        Its classes are codes among 0 .. n_classes - 1.
    """
    X, _ = rows_for(method, inputs)
    # NaN marks unlabeled rows of either task; codes are never mistaken for a mark.
    y = np.full(X.shape[0], np.nan)
    y[labeled] = targets
    model = method.build(
        settings,
        task=inputs.task,
        random_state=seed,
        n_classes=n_classes,
        image_shape=inputs.image_shape,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in the details and the status
        return model.fit(X, y, **stages_for(model, method, inputs))


def check_draw(method: Method, inputs: Inputs, settings: dict) -> None:
    """Refuse settings that a method does not have, and stages that it needs and has not got."""
    check_parameters(method.name, method.parameters, method.options(settings))
    for section in method.needs.required():
        stage = section.removesuffix("s")
        if getattr(inputs, stage) is None:
            raise InputError(f"{method.name} needs a {stage}. Name one in the method's entry.")
    wanted, found = method.needs.manifold, inputs.manifold and inputs.manifold.type
    if wanted and found and found not in wanted:
        # Its arrays were checked for the type it says, not for the one that is needed.
        raise ArtifactError(
            f"The manifold's file says it is of type {found!r}; {method.name} needs "
            f"{' or '.join(wanted)}. Move the file away and run again."
        )
    if inputs.task not in method.tasks:
        raise InputError(f"{method.name} does {' and '.join(method.tasks)}, not {inputs.task}.")


def rows_for(method: Method, inputs: Inputs):
    """Return the rows and new rows that a method works on: pixels where it needs them."""
    if method.needs.images and inputs.images is not None:
        return inputs.images, inputs.images_new
    return inputs.X, inputs.X_new


def stages_for(model, method: Method, inputs: Inputs) -> dict:
    """Return what earlier stages made of the rows, as far as the model's ``fit`` takes it."""
    needs = method.needs
    found = {
        "graph": inputs.graph,
        "manifold": inputs.manifold,
        "kernel": inputs.kernel if needs.kernel != "no" else None,
        "copies": inputs.copies if needs.copies else None,
        "groups": inputs.groups if needs.groups else None,
    }
    return _taken_by(model.fit, found)


def _taken_by(function, found):
    """Return the values that are there and that a function has an argument for."""
    takes = inspect.signature(function).parameters
    return {name: value for name, value in found.items() if value is not None and name in takes}


def new_stages_for(model, method: Method, inputs: Inputs) -> dict:
    """Return what earlier stages made of the new rows, as far as the model takes it."""
    manifold = inputs.manifold
    found = {
        "extension": inputs.extension,
        "points": None if manifold is None else manifold.points_new,
        "kernel": inputs.kernel if method.needs.kernel != "no" else None,
        "groups": inputs.groups_new if method.needs.groups else None,
    }
    return _taken_by(getattr(model, "_decide", model.answer), found)


def outcome_of(method: Method, model, inputs: Inputs, n_classes: int) -> Outcome:
    """Collect a fitted estimator's predictions for all rows and new rows."""
    start = time.perf_counter()
    new = (None, None)
    if inputs.X_new is not None and inputs.X_new.shape[0]:
        new = model.answer(rows_for(method, inputs)[1], **new_stages_for(model, method, inputs))
    seconds = time.perf_counter() - start
    own = model.transduction_, getattr(model, "label_distributions_", None)
    if inputs.task == CLASSIFICATION:
        own, new = (_coded(model, *pair, n_classes) for pair in (own, new))
    return Outcome(
        *own,
        *new,
        predict_s=seconds,
        status=model.status_,
        details=model.details_,
        model=model,
    )


def _coded(model, labels, proba, n_classes):
    """Return labels as whole numbers, and the columns of drawn classes among all classes."""
    if labels is None:
        return None, None
    labels = np.asarray(labels, np.float64)
    labels = np.where(np.isnan(labels), -1, labels).astype(np.int64)
    if proba is None:
        return labels, None
    return labels, class_columns(proba, model.classes_.astype(np.int64), n_classes)


def fit_draw(
    method: Method | str,
    inputs: Inputs,
    labeled,
    targets,
    *,
    n_classes: int,
    seed: int,
    settings: dict,
) -> Outcome:
    """Fit a method to one labeled draw and return its predictions.

    ``method`` is a record or the name of one; other arguments as in `fit_method`.
    """
    method = registry.methods()[method] if isinstance(method, str) else method
    check_draw(method, inputs, settings)
    if inputs.task == CLASSIFICATION and len(np.unique(targets)) == 1 and not method.clusters:
        return one_class_outcome(inputs, int(targets[0]), n_classes)
    draw = {"n_classes": n_classes, "seed": seed, "settings": settings}
    model = fit_method(method, inputs, labeled, targets, **draw)
    return outcome_of(method, model, inputs, n_classes)


def pictures(method: Method, outcome: Outcome, inputs: Inputs, labeled, y):
    """Yield (title, caption, figure) of a method's own figures for one draw.

    Parameters
    ----------
    method : Method
    outcome : Outcome
        Of the draw; its fitted model is drawn, nothing is fitted again.
    inputs : Inputs
    labeled : int array
    y : array of shape (n,)
        True targets of all rows, for description.
    """
    if outcome.model is not None:  # else one class was drawn, and nothing was fitted
        yield from load(method.figures)(outcome.model, inputs, y, labeled)
