"""Validation of configs against the closed schema, with errors a person can act on."""

from __future__ import annotations

from difflib import get_close_matches

from fewfold.exceptions import ConfigError

# Keys that were renamed: the old one fails, naming its successor.
RENAMED = {"n_trials": "trials", "budgets": "labels", "random_state": "seed", "k": "n_neighbors"}


def validate(config: dict, schema: dict) -> None:
    """Raise `ConfigError` for the first thing in ``config`` that the schema does not allow.

    The message gives the place, the value found, what is allowed and, for an unknown key, the
    nearest valid one.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    validator = Draft202012Validator(schema)
    errors = list(validator.iter_errors(config))
    if not errors:
        return
    # An unknown key explains most other complaints about the same place: report it first.
    flat = [leaf for error in errors for leaf in _leaves(error)]
    unknown = [e for e in flat if e.validator == "additionalProperties"]
    error = unknown[0] if unknown else best_match(errors)
    raise ConfigError(_explain(error))


def _leaves(error):
    if error.context and error.validator in ("allOf", "if"):
        for child in error.context:
            yield from _leaves(child)
    else:
        yield error


def place_of(path) -> str:
    """Write a path in a config as ``graphs.knn10.n_neighbors`` or ``run.labels[2]``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the top level"


def _explain(error):
    place = place_of(error.absolute_path)
    if error.validator == "additionalProperties":
        return _unknown_key(error, place)
    found = error.instance
    allowed = {
        "enum": lambda: f"allowed: {', '.join(map(repr, error.validator_value))}",
        "type": lambda: f"allowed: {_or(error.validator_value)}",
        "minimum": lambda: f"allowed: {error.validator_value} or more",
        "maximum": lambda: f"allowed: at most {error.validator_value}",
        "exclusiveMinimum": lambda: f"allowed: more than {error.validator_value}",
        "exclusiveMaximum": lambda: f"allowed: less than {error.validator_value}",
        "minItems": lambda: f"allowed: at least {error.validator_value} entries",
        "pattern": lambda: "allowed: letters, digits, '_', '-' and '.', not starting with '.'",
        "required": lambda: f"the key {error.message.split(chr(39))[1]!r} is missing",
        "uniqueItems": lambda: "allowed: each entry once",
    }.get(error.validator, lambda: error.message)()
    description = error.schema.get("description") if isinstance(error.schema, dict) else None
    meaning = f" ({description})" if description else ""
    shown = repr(found)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return f"config: {place} is {shown}; {allowed}{meaning}. See config/README.md."


def _or(types):
    return " or ".join(types) if isinstance(types, list) else types


def _unknown_key(error, place):
    known = sorted(error.schema.get("properties", {}))
    if not known:
        names = error.schema.get("propertyNames", {})
        bad = next((k for k in error.instance), "")
        return f"config: the name {bad!r} at {place} is not allowed: {names}."
    extra = sorted(set(error.instance) - set(known))
    key = extra[0]
    if key in RENAMED and RENAMED[key] in known:
        hint = f"It is called {RENAMED[key]!r} now."
    else:
        near = get_close_matches(key, known, 1, 0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"Allowed: {', '.join(known)}."
    return f"config: unknown key {key!r} at {place}. {hint}"
