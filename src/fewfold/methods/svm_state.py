"""The kernel SVM of an estimator as plain state."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.state import Field
from fewfold.svm.kernel_svm import KernelSVM

# Sizes: "s" support rows, "p" decisions.
SVM_STATE = (
    Field("coefficients_", "float", ("s", "p")),
    Field("intercepts_", "float", ("p",)),
    Field("pairs_", "int", ("p", 2), low=-1),
)


def svm_values(svm: KernelSVM) -> dict:
    """Return the values of `SVM_STATE`."""
    values = svm.coefficients, svm.intercepts, svm.pairs
    return {field.name: value for field, value in zip(SVM_STATE, values, strict=True)}


def take_svm(owner: str, n_classes: int, values: dict) -> KernelSVM:
    """Take the values of `SVM_STATE` out of a state and return the SVM.

    Raises
    ------
    InputError
        Where its decisions are not between all pairs of classes, or of each against the rest.
    """
    parts = [values.pop(field.name) for field in SVM_STATE]
    every = list(combinations(range(n_classes), 2)), [(a, -1) for a in range(n_classes)]
    if n_classes < 2 or [tuple(pair) for pair in parts[2].tolist()] not in every:
        raise InputError(
            f"{owner}: {n_classes} classes and 'pairs_' that are not theirs. Allowed: 2 classes or "
            "more, and all pairs of them or each against the rest."
        )
    return KernelSVM.restore(n_classes, *parts)


def slices_of(n: int, step: int = 4096) -> list[slice]:
    """Cut n rows into slices."""
    return [slice(start, start + step) for start in range(0, n, step)]


class HoldsSVM:
    """Gives an estimator with an SVM ``svm_`` and ``classes_`` the fields of `SVM_STATE`."""

    coefficients_ = property(lambda self: self.svm_.coefficients)
    intercepts_ = property(lambda self: self.svm_.intercepts)
    pairs_ = property(lambda self: self.svm_.pairs)

    def _proba_by_blocks(self, slices, kernel, *how) -> np.ndarray:
        """Return the probabilities of rows, a slice of them at a time.

        ``kernel(slice)`` gives their kernel with the support rows; see `KernelSVM.proba`.
        """
        none = np.empty((0, len(self.classes_)))
        return np.concatenate([none, *(self.svm_.proba(kernel(part), *how) for part in slices)])

    def _unpack(self, values: dict) -> None:
        self.svm_ = take_svm(type(self).__name__, len(values["classes_"]), values)
        super()._unpack(values)
