"""What the machines of this package are fitted to: labels, transforms and copies."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from fewfold.exceptions import InputError
from fewfold.transforms import get_transform, virtual_samples
from fewfold.transforms.naming import transform_or_default

UNLABELLED = -1


def read_labels(y, name: str):
    """Return classes, labelled rows and their codes; ``y == -1`` (numbers) is unlabelled."""
    check_classification_targets(y)
    y = np.asarray(y)
    known = y != UNLABELLED if np.issubdtype(y.dtype, np.number) else np.ones(len(y), bool)
    classes = np.unique(y[known])
    if len(classes) < 2:
        raise InputError(
            f"{name} needs labels of 2 classes or more, found {len(classes)} class. "
            "Give labelled points of each class; -1 marks unlabelled ones."
        )
    labelled = np.flatnonzero(known)
    return classes, labelled, np.searchsorted(classes, y[labelled])


def default_transform(transform, image_shape):
    """Return the transform asked for; by default rotation of images, jitter of other rows."""
    return get_transform(transform_or_default(transform, image_shape))


def copies_of(X, image_shape, transform, made=None) -> np.ndarray:
    """Return the copies of some rows, or check those that were made already."""
    if made is None:
        return virtual_samples(X, image_shape, transform)
    wanted = (X.shape[0], transform.n_copies, X.shape[1])
    if np.shape(made) != wanted:
        raise InputError(
            f"copies have shape {np.shape(made)}; {X.shape[0]} labelled rows under "
            f"{transform.name!r} need {wanted}. Leave copies out, or make them of these rows."
        )
    return np.asarray(made, np.float32)


class HiddenParameter:
    """A constructor argument that scikit-learn would take for a method, were it an attribute.

    Estimators with an attribute ``transform`` count as transformers: pipelines would offer to
    transform, and check_estimator would try. The value is in ``get_params()``.
    """

    def __set_name__(self, owner, name):
        self.name = name

    def __set__(self, instance, value):
        vars(instance)[self.name] = value

    def __get__(self, instance, owner=None):
        raise AttributeError(
            f"{self.name!r} is a parameter, not a method: read get_params()[{self.name!r}]."
        )


class LearnsFromCopies:
    """Estimators with a parameter ``transform``: what does not matter."""

    transform = HiddenParameter()

    def get_params(self, deep=True) -> dict:
        """Return the constructor's arguments.

        Parameters
        ----------
        deep : bool
            Without effect: no argument is an estimator.
        """
        return {name: vars(self)[name] for name in self._get_param_names()}
