"""Copy results to the top of a labeling run's folder without overwriting users' files."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fewfold.exceptions import InputError
from fewfold.labeling.exports import Extras
from fewfold.labeling.given import STORED
from fewfold.labeling.words import model_words, summary_lines
from fewfold.labeling.workspace import NAME
from fewfold.pipeline import layout
from fewfold.pipeline.artifacts import atomic_path, content_digest
from fewfold.system.outputs import refuse_overwriting

OUTPUTS = tuple(Path(target).name for target in layout.LABEL_TARGETS)
OWN_FOLDERS = ("input", f"results/{NAME}", "logs", ".snakemake")
ADVICE = "label_next.csv"
PUBLISHED = "input/published.json"  # digests of the files written there by fewfold


@dataclass(frozen=True)
class Labeled:
    """Results of a labeling run.

    Attributes
    ----------
    table : DataFrame
        labels.csv: label, confidence and more, one row per row of the input, in its order.
    summary : dict
        summary.json.
    folder : Path
        Where all files are.

    Examples
    --------
    >>> import fewfold
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> frame = iris.data.assign(species=iris.target_names[iris.target])
    >>> frame.loc[frame.index % 10 > 0, "species"] = ""
    >>> found = fewfold.label(frame, target="species", quick=True)
    >>> frame["species"] = found.labels.to_numpy()
    >>> found.predict(iris.data[:2])["label"].tolist()
    ['setosa', 'setosa']
    """

    table: pd.DataFrame
    summary: dict
    folder: Path

    @property
    def labels(self) -> pd.Series:
        """The label of each row of the input."""
        return self.table["label"]

    @property
    def model(self) -> Path:
        """The model file's path."""
        return self.folder / "model.h5"

    @property
    def page(self) -> Path:
        """The path of the report as a page."""
        return self.folder / "report.html"

    def report(self) -> str:
        """Return a summary in words: number of labels, method, expected error."""
        warnings = [f"Warning: {warning['text']}" for warning in self.summary["warnings"]]
        return "\n".join([*summary_lines(self.summary), *warnings, f"Report: {self.page}"])

    def predict(self, rows, **options) -> pd.DataFrame:
        """Label new rows, a file or a data frame; see `fewfold.labeling.predict`."""
        from fewfold.labeling.prediction import predict

        return predict(self.model, rows, **options)


def check_folder(folder: Path, *inputs: Path) -> None:
    """Raise an error if the run would overwrite one of its inputs."""
    given = [path for path in inputs if path.with_suffix("") != folder / STORED]
    refuse_overwriting([folder / name for name in (*OUTPUTS, *OWN_FOLDERS)], given)


def check_published(folder: Path, name: str, extras: Extras | None = None) -> None:
    """Raise an error before replacing files that fewfold did not write or that were edited.

    Raises
    ------
    InputError
        Naming the file.
    """
    known = published(folder)
    further = [] if extras is None else [extra.name for extra in extras.files]
    places = [(file, folder / file) for file in (*OUTPUTS, *further)]
    if extras is not None and extras.source.wanted is not None:
        places.append((extras.source.name, extras.source.wanted))
    for file, path in places:
        made = _made(folder, name).get(file)
        if not path.exists():
            continue
        found = content_digest(path)
        # The second: a folder of a fewfold that kept no digests yet.
        if found in known.get(file, ()) or (
            made is not None and made.is_file() and content_digest(made) == found
        ):
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


def publish(folder: Path, name: str, echo, extras: Extras | None = None) -> Labeled:
    """Copy the results to the top of the folder atomically, and describe them."""
    made = _made(folder, name)
    summary = json.loads(made["summary.json"].read_text(encoding="utf-8"))
    if extras is not None:
        labels = _read_labels(made["labels.csv"], dtype={"label": str})
        made |= extras.write(folder / "input", labels, summary, folder / "results" / name)
        made[ADVICE] = extras.advice(made[ADVICE], folder / "input" / ADVICE)
    before, new = published(folder), {file: [content_digest(made[file])] for file in made}
    # Both digests are kept while files are replaced, so that a killed run recognizes its files.
    _record(folder, {file: [*before.get(file, ()), *new[file]] for file in made})
    for file in made:
        with atomic_path(folder / file) as part:
            shutil.copyfile(made[file], part)
    _record(folder, new)
    wanted = None if extras is None else extras.source.wanted
    if wanted is not None:
        with atomic_path(wanted) as part:
            shutil.copyfile(made[extras.source.name], part)
    for line in summary_lines(summary):
        echo(line)
    for warning in summary["warnings"]:
        echo(f"Warning: {warning['text']}")
    echo(f"Labels: {folder / 'labels.csv'}")
    for extra in () if extras is None else extras.files:
        echo(f"{extra.words}: {folder / extra.name}")
    if wanted is not None:
        echo(f"The same: {wanted}")
    echo(f"What to label next: {folder / 'label_next.csv'}")
    echo(f"Model for new rows: {folder / 'model.h5'} ({model_words(summary)})")
    echo(f"Report: {folder / 'report.html'}")
    return Labeled(_read_labels(folder / "labels.csv"), summary, folder)


def _read_labels(path, **options):
    return pd.read_csv(path, keep_default_na=False, na_values={"confidence": ""}, **options)
