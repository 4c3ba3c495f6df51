"""From a user's file to a session: rows, graph, map and the answers so far."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewfold.datasets import arrays, frames
from fewfold.datasets.table.image_folders import METADATA, UNLABELED_FOLDERS
from fewfold.datasets.table.reading import kind_of
from fewfold.exceptions import InputError
from fewfold.labeling import workspace
from fewfold.labeling.given import stored_input
from fewfold.labeling.intake import Intake, read_input
from fewfold.labeling.prepared import Prepared, read_prepared, write_prepared
from fewfold.labeling.publishing import check_folder
from fewfold.methods.members import IMAGES_GRAPH, ROWS_GRAPH
from fewfold.pipeline.artifacts import content_digest
from fewfold.pipeline.layout import FEATURES
from fewfold.session.session import LabelingSession
from fewfold.session.views import Views
from fewfold.system.outputs import check_run_directory, run_directory
from fewfold.system.run_folder import only_run

FOLDER = "session"
OTHER_TARGET = "label"


@dataclass
class Opened:
    """A session over a file, with the data that the page shows.

    Attributes
    ----------
    session : LabelingSession
    intake : Intake
    prepared : Prepared
        Graphs, and the map of some rows.
    views : Views
    path, folder : Path
        The user's file, and the folder for answers.
    target : str or None
    """

    session: LabelingSession
    intake: Intake
    prepared: Prepared
    views: Views
    path: Path
    folder: Path
    target: str | None

    def close(self) -> None:
        """Close the journal and release the folder's lock."""
        self.session.close()


def open_file(path, target=None, *, out=None, promise=None, level=0.95, seed=0,
              echo=lambda text: None, **options) -> Opened:  # fmt: skip
    """Open a session over a file, resuming from the answers in its folder, if any.

    Parameters
    ----------
    path, target, out
        As in `fewfold.label`. Without any label in the target, the session is a cold start.
    promise, level, seed
        As in `LabelingSession`.
    echo : callable
    **options
        Options of the reader, as in `fewfold.label`.

    Returns
    -------
    Opened
    """
    path, folder = stored_input(path, out)
    check_folder(folder, path)
    check_run_directory(folder)
    intake = _read(path, target, options)
    if intake.task == "regression":
        raise InputError(
            f"{target!r} holds numbers. A session asks for classes; use fewfold label."
        )
    for sentence in intake.sentences:
        echo(f"  {sentence}")
    held = ExitStack()
    # Held until the end: another command in this folder would change files that are in use.
    held.enter_context(only_run(run_directory(folder)))
    try:
        inner = folder / FOLDER
        notes = {"target": target, "file": path.name, "warnings": []}
        workspace.write_inputs(inner, intake, notes)
        digest = content_digest(inner / FEATURES)
        prepared = _prepare(inner, intake, digest, seed, echo)
        graph = prepared.graphs.get(IMAGES_GRAPH, prepared.graphs[ROWS_GRAPH])
        classes = intake.classes if intake.task == "classification" else []
        session = LabelingSession(
            graph, intake.y, classes, folder=inner, promise=promise, level=level, seed=seed,
            features=workspace.as_compared(intake.X), digest=digest,
        )  # fmt: skip
    except BaseException:
        held.close()
        raise
    session.on_close = held.close
    return Opened(session, intake, prepared, Views(intake, path, target), path, folder, target)


def open_session(rows, target=None, **options) -> LabelingSession:
    """Open a session over a file or a data frame, for use from Python.

    Parameters
    ----------
    rows : path-like or data frame
        As in `fewfold.label`. A call with the same rows resumes from the answers in its folder.
    target : str, optional
        The label column. If it has no label yet, name the classes first, by ``add_class``.
    **options
        ``out`` (folder for the answers), ``promise`` (largest share of wrong labels), ``level``
        (0.95: confidence of intervals and promise), ``seed``, and how the file is read.

    Returns
    -------
    LabelingSession
        Call its ``close`` at the end.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> names = iris.target_names[iris.target]
    >>> table = iris.data.assign(species=names)
    >>> table.loc[table.index % 10 > 0, "species"] = ""
    >>> session = open_session(table, "species", promise=0.1, out=tempfile.mkdtemp())
    >>> for _ in range(10):
    ...     offer = session.suggest()
    ...     session.answer(offer.row, names[offer.row])
    >>> 0 <= session.estimate().high <= 1
    True
    >>> session.close()
    """
    return open_file(rows, target, **options).session


def _read(path, target, options) -> Intake:
    if not _is_cold(path, target, options):
        return read_input(path, target, **options)
    drop = [*options.get("drop", ())]
    if target is not None and not Path(path).is_dir() and target in frames.column_names(path):
        drop.append(target)
    kept = {k: v for k, v in options.items() if k not in ("drop", "labels", "annotators")}
    intake = read_input(path, n_clusters=2, drop=drop, **kept)
    sentences = intake.sentences[:-1] + ["No row has a label yet."]
    return replace(intake, sentences=sentences)


def _is_cold(path, target, options) -> bool:
    """Whether no row has a label."""
    path = Path(path)
    if options.get("labels") is not None or options.get("annotators"):
        return False
    if path.is_dir():
        if any((path / name).exists() for name in METADATA):
            return False
        inner = [p for p in path.iterdir() if p.is_dir() and not p.name.startswith(".")]
        return all(p.name in UNLABELED_FOLDERS for p in inner)
    kind = kind_of(path).name
    if kind != "table":
        is_named = kind == "arrays" and path.suffix.lower() in (".npz", *arrays.HDF5_SUFFIXES)
        return target is None and not (is_named and "y" in arrays.open_source(path).names())
    frame = frames.read_frame(path)
    if target is None or target not in frame.columns:
        return target is not None
    words = frame[target].astype(object).where(frame[target].notna(), "")
    return not any(str(word).strip() for word in words)


def _prepare(folder, intake, digest, seed, echo) -> Prepared:
    """Compute graph and map once per dataset; the file's name holds the digest of the rows."""
    n, shape = intake.X.shape[0], intake.image_shape
    path = folder / f"prepared-{digest[:16].replace(':', '-')}.h5"
    names = [ROWS_GRAPH, *([IMAGES_GRAPH] if shape is not None else [])]
    if not path.exists():
        echo("  Building the graph and the map (only once).")
        graphs = {name: workspace.graph_settings(name, n, shape) for name in names}
        write_prepared(path, folder / FEATURES, {}, members=[], task="classification",
                       graphs=graphs, seed=seed)  # fmt: skip
    return read_prepared(path, {}, n)


def completed_table(opened: Opened, labels: np.ndarray, confidence: np.ndarray):
    """Return the labels as the table that becomes labels.csv."""
    from fewfold.labeling.results import labels_table

    session = opened.session
    answer = {
        "label": labels,
        "confidence": np.where(np.isfinite(confidence), confidence, 0.0),
        "given": session.record.answers >= 0,
        "second": np.full(len(labels), -1),
    }
    return labels_table(answer, session.classes, opened.intake.ids, opened.intake.id_name)
