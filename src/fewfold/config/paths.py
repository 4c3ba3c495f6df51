"""Files that a config names: relative to the config file, as its author sees them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fewfold.config.reading import read_config

FILE_KEYS = ("path", "labels")


def resolve_paths(config: dict, configfiles: Sequence) -> dict:
    """Return a config whose own files are found from the working folder.

    A relative path of a dataset with ``source: file`` is first looked for beside the config file
    that names it, then in the working folder (that of ``--out``). What is remembered of a run is
    the path from the working folder, whichever config named it.

    Parameters
    ----------
    config : dict
        All config files as one.
    configfiles : sequence of path-like
        In the order in which they were merged: the last one that names a path decides.

    Returns
    -------
    dict
    """
    datasets = config.get("datasets")
    if not isinstance(datasets, dict):
        return config
    files = [Path(file) for file in configfiles if Path(file).is_file()]
    resolved = dict(datasets)
    for name, entry in datasets.items():
        if not isinstance(entry, dict) or entry.get("source") != "file":
            continue
        options = entry.get("options")
        if not isinstance(options, dict):
            continue
        found = {
            key: _from_here(options[key], _origin(files, name, key, options[key]))
            for key in FILE_KEYS
            if isinstance(options.get(key), str)
        }
        resolved[name] = {**entry, "options": {**options, **found}}
    return {**config, "datasets": resolved}


def _origin(files, name, key, value):
    """The folder of the last config that gives a dataset's option this value."""
    for file in reversed(files):
        place = read_config(file)
        for step in ("datasets", name, "options", key):
            place = place.get(step) if isinstance(place, dict) else None
        if place == value:
            return file.parent
    return None


def _from_here(value, folder):
    path = Path(value).expanduser()
    if folder is None or path.is_absolute() or not (folder / path).exists():
        return value
    here = Path.cwd()
    return value if folder.resolve() == here else os.path.relpath(folder.resolve() / path, here)
