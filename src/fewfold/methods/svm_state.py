"""The kernel SVM of an estimator as plain state."""

from __future__ import annotations

from itertools import combinations

from fewfold.exceptions import InputError
from fewfold.methods.state import Field
from fewfold.svm.kernel_svm import KernelSVM

# Sizes: "s" support rows, "p" decisions.
SVM_STATE = (
    Field("coefficients_", "float", ("s", "p")),
    Field("intercepts_", "float", ("p",)),
    Field("pairs_", "int", ("p", 2), low=-1),
)


class HoldsSVM:
    """Gives an estimator with an SVM ``svm_`` and ``classes_`` the fields of `SVM_STATE`."""

    coefficients_ = property(lambda self: self.svm_.coefficients)
    intercepts_ = property(lambda self: self.svm_.intercepts)
    pairs_ = property(lambda self: self.svm_.pairs)

    def _unpack(self, values: dict) -> None:
        parts = [values.pop(field.name) for field in SVM_STATE]
        super()._unpack(values)
        n_classes, pairs = len(self.classes_), parts[2]
        every = list(combinations(range(n_classes), 2)), [(a, -1) for a in range(n_classes)]
        if n_classes < 2 or [tuple(pair) for pair in pairs.tolist()] not in every:
            raise InputError(
                f"{type(self).__name__}: {n_classes} classes and 'pairs_' that are not theirs. "
                "Allowed: 2 classes or more, and all pairs of them or each against the rest."
            )
        self.svm_ = KernelSVM.restore(n_classes, *parts)
