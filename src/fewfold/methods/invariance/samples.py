"""What the SVMs on transformed copies share: transforms, copies, pairs of classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.estimators import SemiSupervisedClassifier
from fewfold.transforms import get_transform, virtual_samples
from fewfold.transforms.naming import transform_or_default


def default_transform(transform, image_shape):
    """Return the transform asked for; by default rotation of images, jitter of other rows."""
    return get_transform(transform_or_default(transform, image_shape))


def copies_of(X, rows, image_shape, transform, copies=None) -> np.ndarray:
    """Return the copies of some rows of X, (len(rows), n_copies, n_features).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    rows : int array
    image_shape : sequence of int or None
    transform : Transform
    copies : CopiesFile, optional
        Copies that a stage of the workflow made; without it they are made here.
    """
    if copies is None:
        return virtual_samples(X[rows], image_shape, transform)
    made = np.asarray(copies.of(rows), np.float32)
    wanted = (len(rows), transform.n_copies, X.shape[1])
    if made.shape != wanted:
        raise InputError(
            f"copies have shape {made.shape}; {len(rows)} labeled rows under "
            f"{transform.name!r} need {wanted}. Leave copies out, or make them of these rows."
        )
    return made


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


class LearnsFromCopies(SemiSupervisedClassifier):
    """Base of classifiers with a parameter ``transform``: what the classes are invariant to."""

    transform = HiddenParameter()

    def get_params(self, deep=True) -> dict:
        """Return the constructor's arguments.

        Parameters
        ----------
        deep : bool
            Without effect: no argument is an estimator.

        Returns
        -------
        dict
        """
        return {name: vars(self)[name] for name in self._get_param_names()}

    def _rows(self, X, **checks) -> np.ndarray:
        """Return checked rows, dense: transforms and kernels work on every value."""
        X = super()._rows(X, **checks)
        return X.toarray() if sparse.issparse(X) else X


def with_transform(cls):
    """Hide the default of a dataclass's field ``transform`` (see `HiddenParameter`).

    The class itself has ``@dataclass``, so that tools that read the source know its fields.
    """
    del cls.transform  # the default, which comes before the base's descriptor
    return cls


def class_pairs(n_classes: int) -> np.ndarray:
    """Return all pairs of classes, in the order of an SVM's columns.

    Examples
    --------
    >>> class_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.array(list(combinations(range(n_classes), 2)))
