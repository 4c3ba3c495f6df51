"""Learners of the parts that are scikit-learn's, with a state that a file can hold."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from fewfold.methods.state import Field, PlainState


class Constant(PlainState):
    """The one class or value that a part has shown."""

    _state = (Field("value", "float", (1,)),)

    def __init__(self, value=0.0):
        self.value = np.array([value])

    def predict(self, X) -> np.ndarray:
        """Return it for every row."""
        return np.repeat(self.value, X.shape[0])

    def _pack(self):
        return {"value": self.value.astype(np.float64)}


class Logistic(PlainState, LogisticRegression):
    """Logistic regression."""

    _state = (
        Field("classes_", "int", ("c",), low=0),
        Field("coef_", "float", ("o", "d")),
        Field("intercept_", "float", ("o",)),
    )

    def __init__(self):
        super().__init__(max_iter=1000)


class Ridge(PlainState, RidgeCV):
    """Ridge regression, its penalty chosen by leaving rows out."""

    _state = (Field("coef_", "float", ("d",)), Field("intercept_", "float", (1,)))

    def __init__(self):
        super().__init__()

    def _pack(self):
        return {"coef_": self.coef_, "intercept_": np.atleast_1d(np.float64(self.intercept_))}


class _Nearest(PlainState):
    _state = (
        Field("rows", "float", ("s", "d"), may_be_sparse=True),
        Field("values", "float", ("s",)),
    )

    def __init__(self):
        super().__init__(n_neighbors=1)

    def _pack(self):
        named = getattr(self, "classes_", None)
        values = self._y if named is None else named[self._y]
        return {"rows": self._fit_X, "values": np.asarray(values, np.float64)}

    def _unpack(self, values):
        self.fit(values["rows"], values["values"])


class NearestClassifier(_Nearest, KNeighborsClassifier):
    """The class of the nearest labeled row."""


class NearestRegressor(_Nearest, KNeighborsRegressor):
    """The value of the nearest labeled row."""
