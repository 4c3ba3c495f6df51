"""Where a command may write: into a folder it can use, and never over what it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from fewfold.exceptions import InputError


def refuse_overwriting(outputs: Iterable, inputs: Iterable, option: str = "--out") -> None:
    """Raise if writing the outputs would change one of the inputs, links followed.

    Parameters
    ----------
    outputs : iterable of path-like
        Files that will be written, and folders below which anything may be written.
    inputs : iterable of path-like
        Files and folders that are read.
    option : str
        What the user can change, for the message.

    Raises
    ------
    InputError
        Naming both paths.

    Examples
    --------
    >>> refuse_overwriting(["new.csv"], ["table.csv"])
    >>> refuse_overwriting(["table.csv"], ["./table.csv"])
    Traceback (most recent call last):
    ...
    fewfold.exceptions.InputError: table.csv is an input, and would be overwritten. Choose another --out.
    """  # noqa: E501
    outputs = [(Path(path), _real(path)) for path in outputs]
    for source in map(Path, inputs):
        place = _real(source)
        for output, target in outputs:
            if _same(place, target):
                raise InputError(
                    f"{output} is an input, and would be overwritten. Choose another {option}."
                )
            if place.is_relative_to(target):
                raise InputError(
                    f"{source} is an input, and lies in {output}, where fewfold keeps files of its "
                    f"own. Choose another {option}, or move the input."
                )
            if target.is_relative_to(place):
                raise InputError(
                    f"{output} would be written into the input folder {source}. "
                    f"Choose another {option}."
                )


# What a run writes besides the files of its datasets, relative to its folder.
RUN_OUTPUTS = (
    "results/metrics.csv",
    "results/summary.csv",
    "results/comparisons.csv",
    "results/report",
    "logs",
    ".snakemake",
)


def _real(path) -> Path:
    """The path with all links followed, also those of parents of what does not exist yet."""
    return Path(os.path.realpath(path))


def _same(one: Path, other: Path) -> bool:
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)  # hard links, and disks that ignore case
    except OSError:
        return False


def writable_folder(folder, option: str = "--out") -> Path:
    """Create a folder for outputs, or say why it cannot be used.

    Raises
    ------
    InputError
        If it is a file, or may not be written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        file = next(p for p in (folder, *folder.parents) if p.exists())
        raise InputError(
            f"{option} {folder}: {file} is a file. Give a folder; it is made if it does not exist."
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(_unusable(folder, error, option)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{option} {folder}: you may not write into this folder. Choose another.")
    return folder


def check_run_directory(folder, option: str = "--out") -> Path:
    """Check that a run can work in a folder, without creating it.

    Raises
    ------
    InputError
        If it is a file or below one, may not be written to, or has braces in its path.
    """
    folder = Path(folder)
    place = str(_real(folder)) if "\0" not in str(folder) else ""
    if "{" in place or "}" in place:  # Snakemake makes a pattern of the path, without escaping
        raise InputError(
            f"{option} {folder}: Snakemake cannot work in {place}, because of the braces in its "
            f"name. Choose another {option}; the input file may stay where it is."
        )
    there = next((p for p in (folder, *folder.parents) if os.path.lexists(p)), None)
    return folder if there is None else writable_folder(there, option) and folder


def nearest_folder(folder) -> Path:
    """Return a folder, or of one that does not exist the nearest above it that does."""
    place = Path(folder).resolve()
    return next(p for p in (place, *place.parents) if p.exists())


def run_directory(folder, option: str = "--out") -> Path:
    """Check and create the folder of a run; raises as `check_run_directory`."""
    return writable_folder(check_run_directory(folder, option), option)


def _unusable(folder, error, option):
    words = getattr(error, "strerror", None) or str(error)
    return (
        f"{option} {folder}: cannot be made ({words}). Choose a folder you may write to, "
        "or free some space."
    )


def check_output_file(path, inputs: Iterable = (), option: str = "--out") -> Path:
    """Check that a file can be written, before the work that fills it.

    Raises
    ------
    InputError
        If it is a folder or one of the inputs, or its folder cannot be used.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder. Give the name of a file to write.")
    refuse_overwriting([path], inputs, option)
    writable_folder(path.parent, option)
    return path
