"""`fewfold doctor --verify DIR`: every file below a run's folder or a cache against its digests.

Nothing is changed. Stage and model files carry digests of their own; a joined kernel names its
tiles and their digests; a labeling run records what it copied to the top of its folder; published
datasets are in the registry.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py

from fewfold.exceptions import ArtifactError, InputError
from fewfold.pipeline import artifacts, layout
from fewfold.system.wording import counted

_MAGIC = b"\x89HDF\r\n\x1a\n"
_IGNORED = (".snakemake", "logs", ".venv", ".git")  # of Snakemake and others: no digests
_PLAIN = ("input/config.yaml", "input/published.json")  # text that `fewfold label` writes


@dataclass(frozen=True)
class Verified:
    """One file: ``state`` is whole, damaged, foreign (not fewfold's) or unknown (no digest)."""

    path: Path
    state: str
    found: str = ""
    advice: str = ""


def verify_folder(folder) -> Iterator[Verified]:
    """Compare all files below a folder with their digests.

    Parameters
    ----------
    folder : path-like
        A run's folder, its ``results``, the cache between runs or that of datasets.

    Yields
    ------
    Verified
    """
    folder = Path(os.path.abspath(folder))
    if not folder.is_dir():
        raise InputError(f"--verify {folder}: not a folder. Give a run's folder or a cache.")
    datasets = _published_datasets()
    copied = _copied_answers(folder)
    for path in _files(folder):
        try:
            yield _verify_file(path, datasets, copied)
        except OSError as error:
            words = f"cannot be read ({error.strerror or error})"
            yield Verified(path, "damaged", words, _advice(layout.stage_of(path)))


def _files(folder):
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        yield from (Path(here) / name for name in sorted(names))


def _verify_file(path, datasets, copied):
    if path.name.endswith(".damaged"):
        return Verified(path, "unknown", "was set aside as damaged by an earlier run")
    if path.name.startswith(".") and path.name.endswith(".part"):
        return Verified(path, "unknown", "is half-written: a job is at work, or was killed")
    if not path.exists():
        words = "is a link to a file that no longer exists"
        return Verified(path, "damaged", words, _advice(layout.stage_of(path)))
    if path in copied:
        return _verify_copy(path, copied[path])
    with open(path, "rb") as stream:
        is_hdf5 = stream.read(len(_MAGIC)) == _MAGIC
    stage = layout.stage_of(path)
    if is_hdf5 or (stage and path.suffix == ".h5"):
        return _verify_stage_file(path, stage)
    for wanted in datasets.get(path.name, ()):
        if path.as_posix().endswith(f"/{wanted.path}"):
            return _verify_dataset(path, wanted)
    if stage or "/".join(path.parts[-2:]) in _PLAIN:
        return Verified(path, "unknown", "has no digest")
    return Verified(path, "foreign", "is not a file of fewfold")


def _verify_stage_file(path, stage):
    try:
        found = _stage_said(path)
        if found is None and stage is None:
            return Verified(path, "foreign", "is an HDF5 file that fewfold did not write")
        with artifacts.read(path, stage or found) as file:
            file.check()
        if (stage or found) == "join_kernel" and stage:  # in a cache it has no tiles beside it
            from fewfold.pipeline.kernel_files import KernelMatrix

            KernelMatrix(path)
    except ArtifactError as error:
        words = str(error).removeprefix(f"{path} ").split(". ")[0].rstrip(".")
        if error.damaged and error.damaged != path:  # a tile, which is named for itself as well
            words = f"is made of a file that is damaged: {words}"
        return Verified(path, "damaged", words, _advice(stage or _stage_said(path)))
    return Verified(path, "whole")


def _stage_said(path):
    """The stage that a file itself names, if it can be read."""
    try:
        with h5py.File(path, "r") as file:
            found = file.attrs["fewfold_stage"]
            return found.decode() if isinstance(found, bytes) else None
    except (OSError, RuntimeError, LookupError, ValueError):
        return None


def _advice(stage):
    if stage is None:
        return "Move it away; a run that needs it makes it again."
    return f"Move it away and run again: {artifacts.maker(stage)} makes it again."


def _published_datasets():
    from fewfold.datasets.registry import registry

    found = {}
    for entry in registry().values():
        for wanted in entry.files:
            found.setdefault(Path(wanted.path).name, []).append(wanted)
    return found


def _verify_dataset(path, wanted):
    from fewfold.datasets.verification import fault_of

    fault = fault_of(path, wanted)
    if fault is None:
        return Verified(path, "whole")
    return Verified(path, "damaged", fault, "The next run that needs it downloads it again.")


def _copied_answers(folder):
    """What a labeling run copied to the top of its folder, or from its input: {path: digests}."""
    from fewfold.labeling.publishing import published

    places = (folder, folder / "input")
    return {place / name: found for name, found in published(folder).items() for place in places}


def _verify_copy(path, digests):
    if path.suffix == ".h5":
        found = _verify_stage_file(path, layout.MODEL_FILE)
        if found.state != "whole":
            return Verified(path, "damaged", found.found, _advice(layout.LABEL_COMMAND))
    if artifacts.content_digest(path) in digests:
        return Verified(path, "whole")
    words = "is not what fewfold wrote: damaged, or edited since"
    advice = "If you edited it, rename it. 'fewfold label' with the same arguments makes it again."
    return Verified(path, "damaged", words, advice)


def show_verified(found, echo=print) -> int:
    """Print what is damaged or foreign, and counts; return the number of damaged files."""
    counts = dict.fromkeys(("whole", "damaged", "foreign", "unknown"), 0)
    for file in found:
        counts[file.state] += 1
        if file.state == "damaged":
            echo(f"damaged  {file.path} {file.found}.")
            echo(f"         -> {file.advice}")
        elif file.state == "foreign":
            echo(f"foreign  {file.path} {file.found}.")
    echo(
        f"{counted(counts['whole'], 'file')} unchanged, {counts['damaged']} damaged, "
        f"{counts['foreign']} not written by fewfold, {counts['unknown']} without a digest."
    )
    return counts["damaged"]
