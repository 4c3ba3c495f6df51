"""The fitted state of an estimator as plain arrays, declared field by field.

A model file comes from anywhere, so what it holds is checked against the declaration before it
is used: type, number of dimensions, sizes that must agree, ranges. Nothing is unpickled, and no
text of a file names code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.methods.parameters import Type
from fewfold.system.file_schema import Array

_KINDS = {"float": "f", "int": "iu", "bool": "b", "text": "UO", "label": "iufUOb"}


@dataclass(frozen=True)
class Field:
    """One array of a fitted state.

    Attributes
    ----------
    name : str
        Of the attribute, by default also of the array in a file.
    kind : {"float", "int", "bool", "text", "label"}
        "label": whatever class labels are.
    shape : tuple of str or int
        Names of sizes ("n" rows, "d" columns, "k" classes, ...); equal names, equal sizes.
    low, high : float or None
        Range of the values.
    below : str or None
        A size that the values index.
    may_be_sparse, optional : bool
    """

    name: str
    kind: str
    shape: tuple = ()
    low: float | None = None
    high: float | None = None
    below: str | None = None
    may_be_sparse: bool = False
    optional: bool = False

    @property
    def array(self) -> Array:
        """The check of the array; what an index points into starts at 0."""
        low = self.low if self.low is not None or not self.below else 0
        return Array(
            self.shape,
            _KINDS[self.kind],
            low=-np.inf if low is None else low,
            high=np.inf if self.high is None else self.high,
            below=self.below,
            sparse=self.may_be_sparse,
        )


@dataclass(frozen=True)
class Setting:
    """One plain value of a fitted state: a number, a word, a list."""

    name: str
    type: Type
    optional: bool = False


def nested(prefix: str, declared: tuple, shared: tuple = ("k", "d")) -> tuple:
    """Return the declaration of a part, its names and sizes (but ``shared`` ones) with a prefix."""
    found = []
    for field in declared:
        changes = {"name": prefix + field.name}
        if isinstance(field, Field):
            own = (s if s in shared or isinstance(s, int) else prefix + s for s in field.shape)
            changes["shape"] = tuple(own)
        found.append(replace(field, **changes))
    return tuple(found)


def take_nested(prefix: str, values: dict) -> dict:
    """Take the values of a `nested` part out of a state, under the part's own names."""
    names = [name for name in values if name.startswith(prefix)]
    return {name.removeprefix(prefix): values.pop(name) for name in names}


class PlainState:
    """Gives an estimator `to_arrays` and `from_arrays` by its declaration ``_state``.

    ``_state`` is a tuple of `Field` and `Setting`; the size "d" is the number of columns.
    Attributes that are not plain arrays are handled by overriding ``_pack`` and ``_unpack``.
    """

    _state: tuple = ()

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what prediction needs, as a model file holds it.

        Returns
        -------
        arrays : dict of ndarrays
        notes : dict
            Values that JSON can hold.
        """
        values = self._pack()
        declared = self._declare(values)
        arrays = {f.name: values[f.name] for f in declared if isinstance(f, Field)}
        notes = {f.name: plain(values[f.name]) for f in declared if isinstance(f, Setting)}
        return {name: value for name, value in arrays.items() if value is not None}, notes

    @classmethod
    def from_arrays(cls, arrays: dict, notes: dict):
        """Return an estimator that predicts as the one whose state this is.

        Parameters
        ----------
        arrays, notes : dict
            As returned by `to_arrays`.

        Returns
        -------
        Estimator
            Fitted; it has what prediction needs, and nothing else.

        Raises
        ------
        InputError
            Where a value is missing or is not what the method's declaration allows.
        """
        model, sizes = cls(), {}
        values = check_state(cls.__name__, cls._declare(notes), arrays, notes, sizes)
        if "d" in sizes:
            model.n_features_in_ = sizes["d"]
        model._unpack(values)
        return model

    @classmethod
    def _declare(cls, notes: dict) -> tuple:
        """Return the declaration; where it depends on a setting, by the state's own values."""
        return cls._state

    def _pack(self) -> dict:
        return {f.name: getattr(self, f.name) for f in self._state}

    def _unpack(self, values: dict) -> None:
        for name, value in values.items():
            setattr(self, name, value)


def plain(value):
    """Return a value as JSON holds it: numpy's scalars and arrays as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def check_state(
    owner: str, declared: tuple, arrays: dict, notes: dict, sizes: dict | None = None
) -> dict:
    """Check arrays and values against a declaration and return them by name.

    Parameters
    ----------
    owner : str
        For the message.
    declared : tuple of Field and Setting
    arrays, notes : dict
        What a file holds.
    sizes : dict of int, optional
        Sizes that are known; those found are added.

    Examples
    --------
    >>> state = (Field("proba_", "float", ("n", "k"), low=0, high=1),)
    >>> check_state("model", state, {"proba_": np.array([[0.5, 2.0]])}, {})
    Traceback (most recent call last):
    fewfold.exceptions.InputError: model: 'proba_' holds numbers that are not finite or not from 0 \
to 1. Write the model again.
    """
    sizes = {} if sizes is None else sizes
    values, arrays_found = {}, []
    for field in declared:
        source = arrays if isinstance(field, Field) else notes
        values[field.name] = value = source.get(field.name)
        if value is None:
            if not field.optional:
                raise InputError(f"{owner}: {field.name!r} is missing. Write the model again.")
        elif isinstance(field, Field):
            value = value if sparse.issparse(value) else np.asarray(value)
            fault = field.array.header(value.shape, value.dtype.kind, sparse.issparse(value), sizes)
            _refuse(owner, field, fault)
            arrays_found.append((field, value))
        elif not field.type.accepts(value):
            raise InputError(
                f"{owner}: {field.name!r} is {str(value)[:60]!r}. Allowed: {field.type.words()}."
            )
    for field, value in arrays_found:  # when all sizes are known
        if field.below:
            sizes.setdefault(field.below, 0)
        _refuse(owner, field, field.array.values(value, sizes))
    return values


def _refuse(owner, field, fault):
    if fault is not None:
        raise InputError(f"{owner}: {field.name!r} {fault}. Write the model again.")
