"""The defaults of config/config.yaml below a config that lists only what differs."""

from __future__ import annotations

from pathlib import Path

from fewfold.config.reading import read_config


def merge(below: dict, above: dict) -> dict:
    """Return both configs as one: mappings merge, all else is replaced.

    Examples
    --------
    >>> merge({"run": {"trials": 3, "labels": [1]}}, {"run": {"labels": [2, 3]}})
    {'run': {'trials': 3, 'labels': [2, 3]}}
    """
    both = dict(below)
    for key, value in above.items():
        old = both.get(key)
        both[key] = (
            merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return both


def with_defaults(config: dict, root) -> dict:
    """Return a config over the defaults of the project in ``root``."""
    return merge(read_config(Path(root) / "config/config.yaml", "config"), config)
