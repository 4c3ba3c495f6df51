"""Reading config files: plain values only, and one sentence for anything else."""

from __future__ import annotations

import math
from pathlib import Path

from fewfold.exceptions import ConfigError

DEEPEST = 20  # levels; the schema knows six
MOST_VALUES = 1_000_000  # aliases make a short file long
LARGEST = 2**63


def read_config(path, option: str = "--configfile") -> dict:
    """Read a YAML or JSON file that holds a config.

    Parameters
    ----------
    path : path-like
    option : str
        Where the path comes from, for the message.

    Raises
    ------
    ConfigError
        If it cannot be read, or holds something else.
    """
    import yaml

    path = Path(path)
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ConfigError(
            f"{option} {path}: is nested too deeply; allowed: {DEEPEST} levels."
        ) from error
    except FileNotFoundError as error:
        raise ConfigError(f"{option} {path}: no such file.{_alike(path)}") from error
    except yaml.MarkedYAMLError as error:
        raise ConfigError(f"{option} {path}, {_yaml_fault(error)}") from error
    except (OSError, ValueError, OverflowError, yaml.YAMLError) as error:
        words = getattr(error, "strerror", None) or " ".join(str(error).split())
        if "integer string conversion" in words:
            words = "it holds a number of more than 4300 digits"
        raise ConfigError(f"{option} {path}: cannot be read: {words[:300]}.") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(
            f"{option} {path}: holds a {type(found).__name__}; expected: keys and values. "
            "See config/README.md."
        )
    check_plain(found)
    return found


def _alike(path):
    """Name a file of the same folder that may be meant."""
    from fewfold.datasets.registry import nearest

    there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    near = nearest(path.name, there, cutoff=0.6)
    return f" Did you mean {str(path.parent / near)!r}?" if near else ""


def _yaml_fault(error):
    """Say in which line a text stops to be YAML, and why."""
    mark, start = error.problem_mark, error.context_mark
    if mark is not None and "\\t" in str(error.problem):
        return f"line {mark.line + 1}: found a tab. Indent with spaces."
    since = f" in what begins in line {start.line + 1}" if start is not None else ""
    line = f"line {mark.line + 1}" if mark is not None else "some line"
    return f"{line}: not YAML: {error.problem or error.context}{since}."


def check_plain(config: dict) -> None:
    """Raise `ConfigError` for what no config holds: keys that are no text, infinite numbers, ...

    Examples
    --------
    >>> check_plain({"run": {"labels": [float("nan")]}})
    Traceback (most recent call last):
    ...
    fewfold.exceptions.ConfigError: config: run.labels[0] is nan; allowed: a finite number.
    """
    todo, count = [((), config)], 0
    while todo:
        steps, value = todo.pop()
        count += 1
        if count > MOST_VALUES or len(steps) > DEEPEST:
            what = f"{DEEPEST} levels" if len(steps) > DEEPEST else f"{MOST_VALUES} values"
            raise ConfigError(
                f"config: {place_of(steps[:4])}... holds more than {what}. Shorten it."
            )
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise ConfigError(
                        f"config: the key {_short(key)} at {place_of(steps)} is not text. If it is "
                        f"meant to be a name, put it in quotes: '{_short(key)}'."
                    )
            todo += [((*steps, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            todo += [((*steps, number), item) for number, item in enumerate(value)]
        else:
            _check_value(value, place_of(steps))


def _check_value(value, place):
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"config: {place} is {value}; allowed: a finite number.")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ConfigError(
            f"config: {place} is an integer of {value.bit_length()} bits; allowed: 63."
        )
    if value is not None and not isinstance(value, str | int | float):
        raise ConfigError(
            f"config: {place} is a {type(value).__name__} ({_short(value)}); allowed: text, "
            "numbers, true, false, lists and mappings. If it is meant to be text, put it in quotes."
        )


def _short(value):
    try:
        text = str(value)
    except ValueError:  # an integer of thousands of digits
        text = "of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."


def place_of(path) -> str:
    """Write a path in a config as ``graphs.knn10.n_neighbors`` or ``run.labels[2]``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "the top level"
