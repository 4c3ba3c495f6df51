"""Parameters declared once: type, range, default and a sentence.

The JSON schema of configs, ``docs/config.md`` and the checks of estimators all follow from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from fewfold.exceptions import InputError


@dataclass(frozen=True)
class Type:
    """The values that a parameter may take, as a fragment of a JSON schema.

    Two types joined by ``|`` allow the values of either.

    Examples
    --------
    >>> (count() | one_of("auto")).accepts("auto")
    True
    >>> positive().accepts(0)
    False
    """

    schema: dict

    def __or__(self, other: Type) -> Type:
        own = self.schema.get("anyOf", [self.schema])
        return Type({"anyOf": [*own, *other.schema.get("anyOf", [other.schema])]})

    def accepts(self, value) -> bool:
        """Return whether a value is allowed."""
        return _accepts(self.schema, value)

    def words(self) -> str:
        """Describe the values allowed, for error messages and the config reference."""
        return describe_schema(self.schema)


def number(low=None, high=None, *, above=None, below=None) -> Type:
    """Numbers from ``low`` to ``high``, or strictly ``above`` and ``below``."""
    return Type(_range("number", low, high, above, below))


def integer(low=None, high=None) -> Type:
    """Whole numbers from ``low`` to ``high``."""
    return Type(_range("integer", low, high, None, None))


def positive() -> Type:
    """Numbers above 0."""
    return number(above=0)


def count() -> Type:
    """Whole numbers from 1."""
    return integer(1)


def one_of(*values) -> Type:
    """Some values, by name."""
    return Type({"enum": list(values)})


def boolean() -> Type:
    """True or false."""
    return Type({"type": "boolean"})


def null() -> Type:
    """No value: leave the choice to the method."""
    return Type({"type": "null"})


def list_of(item: Type, least: int = 1) -> Type:
    """Lists of values of one type."""
    return Type({"type": "array", "minItems": least, "items": item.schema})


def text() -> Type:
    """Any text."""
    return Type({"type": "string"})


def any_object() -> Type:
    """A mapping, checked by whoever uses it."""
    return Type({"type": "object"})


def reference() -> Type:
    """The name of another entry of the config."""
    return Type({"$ref": "#/$defs/name"})


@dataclass(frozen=True)
class Parameter:
    """One setting of a method, manifold or kernel.

    Attributes
    ----------
    name : str
        The key in a config.
    type : Type
    help : str
        One sentence on what it does.
    default : Any
        What is used where a config does not say; for the reference.
    argument : str or None
        The estimator's own name for it, where ``name`` means something else in a config.
    """

    name: str
    type: Type
    help: str = ""
    default: Any = None
    argument: str | None = None

    @property
    def keyword(self) -> str:
        """The name of the estimator's argument."""
        return self.argument or self.name

    def schema(self) -> dict:
        """Return the JSON schema of the values, with the sentence as its description."""
        return {**self.type.schema, **({"description": self.help} if self.help else {})}


# Names of settings that were changed: the old one fails, naming its successor.
RENAMED = {
    "n_trials": "trials",
    "budgets": "labels",
    "random_state": "seed",
    "k": "n_neighbors",
    "deformations": "deformation",
    "data_deformations": "data_deformation",
    "min_labelled": "min_labeled",
    "min_unlabelled": "min_unlabeled",
    "unlabelled": "unlabeled",
    "labelled": "labeled",  # codespell:ignore
}


def hint(name: str, known) -> str:
    """Return what to write instead of a name that is not known: its successor, or the nearest.

    Examples
    --------
    >>> hint("min_labelled", ["min_labeled", "sigma"])
    "It is called 'min_labeled' now."
    >>> hint("sigmma", ["min_labeled", "sigma"])
    "Did you mean 'sigma'?"
    """
    if RENAMED.get(name) in known:
        return f"It is called {RENAMED[name]!r} now."
    near = get_close_matches(name, known, 1, 0.5)
    return f"Did you mean {near[0]!r}?" if near else f"Allowed: {', '.join(known) or 'none'}."


def check_parameters(owner: str, parameters: tuple[Parameter, ...], settings: dict) -> None:
    """Raise `InputError` for the first setting that is unknown or out of range.

    Parameters
    ----------
    owner : str
        Whose parameters these are, for the message.
    parameters : tuple of Parameter
    settings : dict
        By the estimator's argument names.

    Examples
    --------
    >>> check_parameters("knn", (Parameter("k", count()),), {"k": 0})
    Traceback (most recent call last):
    fewfold.exceptions.InputError: knn: k=0. Allowed: integer from 1.
    """
    known = {p.keyword: p for p in parameters}
    for name, value in settings.items():
        if name not in known:
            raise InputError(f"{owner} has no setting {name!r}. {hint(name, sorted(known))}")
        if not known[name].type.accepts(value):
            raise InputError(f"{owner}: {name}={value!r}. Allowed: {known[name].type.words()}.")


def describe_schema(schema: dict) -> str:
    """Describe the values that a schema fragment allows, in words."""
    if "enum" in schema:
        return ", ".join(str(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(describe_schema(option) for option in schema["anyOf"])
    if "$ref" in schema:
        return "the name of an entry"
    found = schema.get("type", "any value")
    if found == "array":
        return f"list of {describe_schema(schema.get('items', {}))}"
    words = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to",
             "exclusiveMaximum": "below"}  # fmt: skip
    return " ".join([found, *(f"{w} {schema[key]}" for key, w in words.items() if key in schema)])


def _range(kind, low, high, above, below):
    keys = {"minimum": low, "maximum": high, "exclusiveMinimum": above, "exclusiveMaximum": below}
    return {"type": kind, **{key: value for key, value in keys.items() if value is not None}}


_PYTHON = {
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "string": str,
    "array": (list, tuple),
    "object": dict,
    "null": type(None),
}


def _accepts(schema, value):
    if "enum" in schema:
        return any(value is v or (type(value) is type(v) and value == v) for v in schema["enum"])
    if "anyOf" in schema:
        return any(_accepts(option, value) for option in schema["anyOf"])
    if "$ref" in schema:
        return isinstance(value, str)
    value = value.item() if hasattr(value, "item") and not getattr(value, "ndim", 0) else value
    if hasattr(value, "tolist"):
        value = value.tolist()
    kind = schema.get("type")
    if kind is None:
        return True
    if isinstance(value, bool) and kind != "boolean":
        return False
    if not isinstance(value, _PYTHON[kind]):
        return False
    if kind == "array":
        return len(value) >= schema.get("minItems", 0) and all(
            _accepts(schema.get("items", {}), item) for item in value
        )
    if kind in ("integer", "number"):
        return (
            value == value
            and value >= schema.get("minimum", -float("inf"))
            and value <= schema.get("maximum", float("inf"))
            and value > schema.get("exclusiveMinimum", -float("inf"))
            and value < schema.get("exclusiveMaximum", float("inf"))
        )
    return True
