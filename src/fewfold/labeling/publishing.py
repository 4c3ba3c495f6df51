"""The answer at the top of a labeling run's folder, over nobody else's files."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fewfold.exceptions import InputError
from fewfold.labeling.words import model_words, summary_lines
from fewfold.labeling.workspace import NAME
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import atomic_path, content_digest
from fewfold.system.outputs import refuse_overwriting

OUTPUTS = tuple(Path(target).name for target in layout.LABEL_TARGETS)
OWN_FOLDERS = ("input", f"results/{NAME}", "logs", ".snakemake")
PUBLISHED = "input/published.json"  # digests of the files that fewfold put there


@dataclass(frozen=True)
class Labelled:
    """What a labeling run made: the table of labels, a summary, and the folder it is in."""

    table: pd.DataFrame
    summary: dict
    folder: Path

    @property
    def report(self) -> Path:
        """The report's path."""
        return self.folder / "report.html"

    @property
    def model(self) -> Path:
        """The model file's path."""
        return self.folder / "model.h5"


def check_folder(folder: Path, *inputs: Path) -> None:
    """Refuse a folder in which the run would overwrite one of its inputs."""
    refuse_overwriting([folder / name for name in (*OUTPUTS, *OWN_FOLDERS)], inputs)


def check_published(folder: Path, name: str) -> None:
    """Refuse to replace files that fewfold did not write, or that were edited since.

    Raises
    ------
    InputError
        Naming the file.
    """
    known = published(folder)
    for file in OUTPUTS:
        path, made = folder / file, _made(folder, name)[file]
        if not path.exists():
            continue
        found = content_digest(path)
        # The second: a folder of a fewfold that kept no digests yet.
        if found in known.get(file, ()) or (made.is_file() and content_digest(made) == found):
            continue
        raise InputError(
            f"{path} was not written by fewfold, or was changed since. It would be replaced: "
            "rename or move it, or choose another --out."
        )


def _made(folder, name):
    """The files below ``results`` that are copied to the top of the folder, by their names."""
    paths = [folder / target.format(dataset=name) for target in layout.LABEL_TARGETS]
    return {path.name: path for path in paths}


def published(folder: Path) -> dict:
    """Return what a labeling run copied to the top of its folder: {name: [digest, ...]}."""
    try:
        found = json.loads((folder / PUBLISHED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _record(folder, digests):
    with atomic_path(folder / PUBLISHED) as part:
        part.write_text(json.dumps(digests, indent=1), encoding="utf-8")


def publish(folder: Path, name: str, echo) -> Labelled:
    """Copy the answer to the top of the folder, whole files only, and say what it is."""
    made = _made(folder, name)
    before, new = published(folder), {f: [content_digest(made[f])] for f in OUTPUTS}
    # Both are known while files are replaced: a run killed on the way must know its own again.
    _record(folder, {f: [*before.get(f, ()), *new[f]] for f in OUTPUTS})
    for file in OUTPUTS:
        with atomic_path(folder / file) as part:
            shutil.copyfile(made[file], part)
    _record(folder, new)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for line in summary_lines(summary):
        echo(line)
    for warning in summary["warnings"]:
        echo(f"Warning: {warning['text']}")
    echo(f"Labels: {folder / 'labels.csv'}")
    echo(f"What to label next: {folder / 'label_next.csv'}")
    echo(f"Model for new rows: {folder / 'model.h5'} ({model_words(summary)})")
    echo(f"Report: {folder / 'report.html'}")
    table = pd.read_csv(folder / "labels.csv", keep_default_na=False, na_values={"confidence": ""})
    return Labelled(table, summary, folder)
