"""What a file of unknown origin must look like, declared once and checked once, when it is opened.

A schema maps notes (JSON values) and arrays to checks. A check is a function ``(value, sizes) ->
fault``: None, or what is wrong in a few words. ``sizes`` binds names of dimensions, so that
``Array("n", "d")`` and ``Array("n")`` must agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

Check = Callable[[object, dict], str | None]

# Distances are sums of squares in single precision, which ends at 3.4e38.
LARGEST_NUMBER = 1e18


def text(choices=None, longest: int = 1000) -> Check:
    """Allow text, of some choices, without control characters."""

    def check(value, sizes):
        if not isinstance(value, str):
            return f"is {_short(value)}, expected text"
        if len(value) > longest:
            return f"has {len(value)} characters; allowed: {longest}"
        if any(ord(c) < 32 or ord(c) == 127 for c in value):
            return f"is {_short(value)}, which holds control characters"
        if choices is not None and value not in choices:
            return f"is {_short(value)}; allowed: {', '.join(choices)}"
        return None

    return check


def number(low: float = -math.inf, high: float = math.inf, whole: bool = False) -> Check:
    """Allow a finite number within bounds."""

    def check(value, sizes):
        kinds = (int,) if whole else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool):
            return f"is {_short(value)}, expected a {'whole ' * whole}number"
        if not low <= value <= high or not math.isfinite(value):
            return f"is {_short(value)}; allowed: finite numbers from {low} to {high}"
        return None

    return check


def optional(check: Check) -> Check:
    """Allow null besides."""
    return lambda value, sizes: None if value is None else check(value, sizes)


def either(*checks: Check) -> Check:
    """Allow what one of several checks allows; the first one's fault is reported."""

    def check(value, sizes):
        faults = [one(value, sizes) for one in checks]
        return None if None in faults else faults[0]

    return check


def list_of(check: Check, shortest: int = 0, longest: int = 10**7) -> Check:
    """Allow a list of equal things."""

    def checked(value, sizes):
        if not isinstance(value, list):
            return f"is {_short(value)}, expected a list"
        if not shortest <= len(value) <= longest:
            return f"has {len(value)} entries; allowed: {shortest} to {longest}"
        for i, item in enumerate(value):
            if (fault := check(item, sizes)) is not None:
                return f"entry {i} {fault}"
        return None

    return checked


def record(required: dict[str, Check], more: dict[str, Check] | None = None) -> Check:
    """Allow a dict with these keys, and perhaps some more, but no others."""
    known, others = {*required, *(more or {})}, has(required, more)

    def check(value, sizes):
        if isinstance(value, dict) and set(required) <= set(value) and set(value) - known:
            return f"has unknown keys {_short(sorted(set(value) - known))}"
        return others(value, sizes)

    return check


def mapping(check: Check, longest: int = 1000) -> Check:
    """Allow a dict with any short names."""

    def checked(value, sizes):
        if not isinstance(value, dict) or len(value) > longest:
            return f"is {_short(value)}, expected up to {longest} named values"
        for key, item in value.items():
            fault = text(longest=200)(key, sizes) or check(item, sizes)
            if fault is not None:
                return f"{_short(key)} {fault}"
        return None

    return checked


@dataclass(frozen=True)
class Array:
    """A check of an array: its header, which costs nothing, and its values.

    Attributes
    ----------
    dims : tuple of int or str
        Sizes, or names that are bound at their first use.
    kinds : str
        Kinds of numpy types; "T" is a list of texts.
    low, high : float
        Range of the values.
    below, at_most : str or None
        A named size that the values index, or do not exceed.
    nan : bool
        Whether floats may be NaN or infinite.
    sparse : bool
        Whether the array may be sparse.
    """

    dims: tuple
    kinds: str = "f"
    low: float = -math.inf
    high: float = math.inf
    below: str | None = None
    at_most: str | None = None
    nan: bool = False
    sparse: bool = False

    def header(self, shape: tuple, kind: str, is_sparse: bool, sizes: dict) -> str | None:
        """Compare shape and type with the declaration."""
        if is_sparse and not self.sparse:
            return "is sparse, expected a dense array"
        if kind not in self.kinds:
            return f"has type {kind!r}; allowed: kinds {self.kinds!r} of numpy (T: text)"
        if len(shape) != len(self.dims):
            return f"has shape {shape}, expected {len(self.dims)} dimensions"
        for dim, length in zip(self.dims, shape):
            wanted = sizes.setdefault(dim, length) if isinstance(dim, str) else dim
            if length != wanted:
                return f"has shape {shape}, where {dim} is {wanted}"
        return None

    def values(self, value, sizes: dict) -> str | None:
        """Compare the values with the declared range; two passes over the array."""
        if isinstance(value, list):
            return None
        numbers = value.data if hasattr(value, "tocsr") else value
        if not numbers.size or numbers.dtype.kind in "bUO":
            return None
        low, high = numbers.min(), numbers.max()
        if numbers.dtype.kind == "f":
            fits = self.nan or (
                self.low <= low and high <= self.high and np.isfinite([low, high]).all()
            )
            allowed = f"not finite or not from {self.low:g} to {self.high:g}"
            return None if fits else f"holds numbers that are {allowed}"
        top = self.high
        if self.below in sizes:
            top = min(top, sizes[self.below] - 1)
        if self.at_most in sizes:
            top = min(top, sizes[self.at_most])
        if not (self.low <= low and high <= top):
            return f"holds {low} to {high}; allowed: {self.low:g} to {top:g}"
        return None

    def __call__(self, value, sizes: dict) -> str | None:
        """Check header and values of an array in memory."""
        if isinstance(value, list):
            return self.header((len(value),), "T", False, sizes)
        is_sparse = hasattr(value, "tocsr")
        if not (isinstance(value, np.ndarray) or is_sparse):
            return f"is {type(value).__name__}, expected an array"
        return self.header(value.shape, value.dtype.kind, is_sparse, sizes) or self.values(
            value, sizes
        )


def array(*dims, kinds="f", **limits) -> Array:
    """Allow an array of finite numbers; see `Array`."""
    return Array(dims, kinds, **limits)


def anything(value, sizes) -> None:
    """Allow whatever JSON holds: for values that are shown and never used."""


def words(value, sizes) -> str | None:
    """Allow any text of a reasonable length: names of a user's, messages."""
    fits = isinstance(value, str) and len(value) <= 100_000
    return None if fits else f"is {_short(value)}, expected text"


def real(value, sizes) -> str | None:
    """Allow any number, also NaN and infinite ones."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    return None if fits else f"is {_short(value)}, expected a number"


def truth(value, sizes) -> str | None:
    """Allow true and false."""
    return None if isinstance(value, bool) else f"is {_short(value)}, expected true or false"


def has(required: dict[str, Check], more: dict[str, Check] | None = None) -> Check:
    """Allow a dict with these keys, and perhaps some more; other keys are not looked at."""
    known = {**required, **(more or {})}

    def check(value, sizes):
        if not isinstance(value, dict):
            return f"is {_short(value)}, expected named values"
        if missing := sorted(set(required) - set(value)):
            return f"lacks {missing}"
        faults = (f"{k} {f}" for k in known if k in value and (f := known[k](value[k], sizes)))
        return next(faults, None)

    return check


@dataclass(frozen=True)
class StageSchema:
    """The contents of a stage's file.

    Attributes
    ----------
    arrays : dict of name to Array
        Of a file's arrays, in the order in which sizes are bound. ``group/*`` stands for all arrays
        in a group; their named sizes are each one's own. ``*.key`` stands for all whose name ends
        so; arrays with the same beginning share their named sizes.
    together : tuple of tuples of str
        Of arrays ``*.key`` with the same beginning, all of these keys must be there, or none.
    required : tuple of str
        Arrays that must be there.
    notes : dict of name to Check
        A note that is missing is None.
    settings : Check
    agree : callable (notes, sizes, names) -> iterator of faults, optional
        What must fit together beyond the above.
    """

    arrays: dict[str, Array]
    required: tuple = ()
    notes: dict[str, Check] = field(default_factory=dict)
    settings: Check = anything
    agree: Callable[[dict, dict, list], Iterator[str | None]] | None = None
    together: tuple = ()

    def array(self, name: str) -> Array | None:
        """Return the declaration of an array; None for one that no reader knows."""
        head, tail = f"{name.split('/')[0]}/*", f"*.{name.rsplit('.')[-1]}"
        return self.arrays.get(name) or self.arrays.get(head) or self.arrays.get(tail)

    def open(self, file) -> dict:
        """Check notes and headers of an opened file; returns the sizes of its dimensions.

        Parameters
        ----------
        file : fewfold.pipeline.artifacts.Artifact
        """
        sizes: dict = {}
        names = file.names()
        if missing := sorted(set(self.required) - set(names)):
            file.fail(f"lacks the arrays {', '.join(missing)}")
        notes = {key: file.note(key) for key in self.notes}
        faults = [(f"note {key}", self.notes[key](notes[key], sizes)) for key in notes]
        faults.append(("settings", self.settings(file.settings, sizes)))
        faults += [(n, a.header(*file.header(n), sizes)) for n, a in self.arrays.items()
                   if n in names]  # fmt: skip
        faults += self._open_groups(file, names)
        faults += [("it:", fault) for fault in self.agree(notes, sizes, names)] if (
            self.agree and not any(fault for _, fault in faults)
        ) else []  # fmt: skip
        for name, fault in faults:
            if fault is not None:
                file.fail(f"does not fit: {name} {fault}")
        return sizes

    def _open_groups(self, file, names):
        """Check the headers of arrays named ``beginning.key``."""
        groups: dict[str, dict] = {}
        for beginning, _, key in (name.rpartition(".") for name in names if "." in name):
            groups.setdefault(beginning, {})[key] = self.arrays.get(f"*.{key}")
        for beginning, keys in groups.items():
            sizes: dict = {}
            for key, spec in keys.items():
                if isinstance(spec, Array):  # others are checked by their values
                    name = f"{beginning}.{key}"
                    yield name, spec.header(*file.header(name), sizes)
            for wanted in self.together:
                if set(wanted) & set(keys) and (missing := sorted(set(wanted) - set(keys))):
                    yield beginning, f"lacks the arrays {', '.join(missing)}"


def _short(value, most: int = 60) -> str:
    words = repr(value)
    return words if len(words) <= most else f"{words[:most]}..."
