"""Validation of configs against the closed schema, with errors a person can act on."""

from __future__ import annotations

from pathlib import Path

from fewfold.config.reading import check_plain, place_of
from fewfold.exceptions import ConfigError
from fewfold.methods.base import KernelType
from fewfold.methods.parameters import RENAMED, hint
from fewfold.methods.registry import REFERENCES, sections

# The key that names the record of an entry, in the sections that records make up.
TYPE_KEYS = {"manifolds": "type", "kernels": "type", "methods": "learner"}


def read_schema(root) -> dict:
    """Return the schema of configs: the file's, completed by the records of all methods.

    Parameters
    ----------
    root : path-like
        The project's folder.
    """
    import yaml

    path = Path(root) / "workflow/schemas/config.schema.yaml"
    schema = yaml.safe_load(path.read_text(encoding="utf-8"))
    for section, key in TYPE_KEYS.items():
        schema["properties"][section] = _section_schema(key, sections()[section])
    return schema


def _section_schema(key, records):
    """A mapping of names to entries, each of which names its record under ``key``."""
    branches = [
        {"if": {"properties": {key: {"const": name}}}, "then": _entry_schema(key, record)}
        for name, record in records.items()
    ]
    entry = {
        "type": "object",
        "required": [key],
        "properties": {key: {"enum": list(records)}},
        "allOf": branches,
    }
    return {
        "type": "object",
        "propertyNames": {"$ref": "#/$defs/name"},
        "additionalProperties": entry,
    }


def _entry_schema(key, record):
    used = {*record.needs.required(), *record.needs.optional()}
    properties = {key: {"const": record.name}}
    properties |= {
        reference: {"$ref": "#/$defs/name", "description": f"the {reference} that it works on"}
        for section, reference in REFERENCES.items()
        if section in used
    }
    properties |= {p.name: p.schema() for p in record.parameters}
    if isinstance(record, KernelType):
        properties["tile_rows"] = {"$ref": "#/$defs/tile_rows"}
        properties["max_gb"] = {
            "type": "number",
            "minimum": 0,
            "description": "GB above which a learner that can do without gets no stored matrix",
        }
    return {"additionalProperties": False, "properties": properties}


def validate(config: dict, schema: dict) -> None:
    """Raise `ConfigError` for the first thing in ``config`` that the schema does not allow.

    The message gives the place, the value found, what is allowed and, for an unknown key, the
    nearest valid one.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    check_plain(config)

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


def _explain(error):
    place = place_of(error.absolute_path)
    if error.validator == "additionalProperties":
        return _unknown_key(error, place)
    found = error.instance
    allowed = {
        "enum": lambda: _one_of(found, error.validator_value),
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


def _one_of(found, allowed):
    if isinstance(found, str) and RENAMED.get(found) in allowed:
        return f"it is called {RENAMED[found]!r} now"
    return f"allowed: {', '.join(map(repr, allowed))}"


def _or(types):
    return " or ".join(types) if isinstance(types, list) else types


def _unknown_key(error, place):
    known = sorted(error.schema.get("properties", {}))
    if not known:
        names = error.schema.get("propertyNames", {})
        bad = next((k for k in error.instance), "")
        return f"config: the name {bad!r} at {place} is not allowed: {names}."
    extra = sorted(set(error.instance) - set(known))
    return f"config: unknown key {extra[0]!r} at {place}. {hint(extra[0], known)}"
