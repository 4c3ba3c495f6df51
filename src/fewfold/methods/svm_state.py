"""The kernel SVM of an estimator as plain state."""

from __future__ import annotations

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
        if not len(pairs) or pairs.max() >= n_classes:
            raise InputError(
                f"{type(self).__name__}: 'pairs_' does not name pairs of its {n_classes} classes."
            )
        self.svm_ = KernelSVM.restore(n_classes, *parts)
