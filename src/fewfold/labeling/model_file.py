"""The model file: what is needed to label new rows, as plain arrays. Nothing is unpickled.

Methods that learn from the labelled rows alone (k-NN, SVM) store those rows and the settings
that were chosen, and are fitted again in a moment when the file is used. All others label new
rows from their nearest rows among all those that were there when the model was made, by the
weights of the graph; so they store these rows, and the file is as large as the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.exceptions import InputError
from fewfold.graph.build import GraphSettings, NeighborGraph, extend_graph
from fewfold.labeling.calibration import calibrate
from fewfold.labeling.model_schema import read_model
from fewfold.labels import class_columns, known_mask
from fewfold.pipeline import artifacts

STAGE = "save_model"
INDUCTIVE = ("knn", "svm")  # learners whose labels follow from the labelled rows alone
FAR_QUANTILE = 0.99
REMEDY = "Get the model file again, or make it again with 'fewfold label'."


def save_model(path, *, method, learner, details, task, classes, X, y, answer, graph, table_notes,
               calibration, image_shape=None, inputs=()) -> int:  # fmt: skip
    """Write a model file and return its size in bytes.

    Parameters
    ----------
    path : path-like
    method, learner : str
    details : dict
        What the fit reported: chosen settings.
    task, classes : str, list of str or None
    X : array of shape (n, d)
    y : array of shape (n,)
        Given labels.
    answer : dict of arrays
        ``proba`` of shape (n, n_classes), or ``label`` for regression.
    graph : NeighborGraph
        Places new rows; also says what is far.
    table_notes : dict
        ``columns`` (the plan of a table, or None), ``feature_names``, ``target``.
    calibration : (slope, shift)
    inputs : paths recorded in the file
    """
    known = known_mask(y)
    labelled = np.flatnonzero(known)
    alone = learner in INDUCTIVE and not sparse.issparse(X)
    rows = labelled if alone else np.arange(X.shape[0])
    with artifacts.writing(path, STAGE, inputs=inputs) as out:
        out.add("X", X[rows] if sparse.issparse(X) else np.asarray(X[rows], dtype=np.float32))
        if alone:
            out.add("targets", y[rows])
            out.note("far", _far_from_labelled(X, labelled))
        else:
            out.add("values", _values(answer, y, labelled, task))
            out.add("scales", np.asarray(graph.scales))
            out.note("graph", graph.settings.to_dict())
            out.note("bandwidth", float(graph.bandwidth))
            out.note("far", float(np.quantile(graph.neighbors.distances[:, 0], FAR_QUANTILE)))
        if classes is not None:
            out.add("classes", [str(c) for c in classes])
        for key, value in table_notes.items():
            out.note(key, value)
        out.note("method", method)
        out.note("learner", learner if alone else "graph")
        out.note("details", {k: v for k, v in details.items() if isinstance(v, (int, float, str))})
        out.note("task", task)
        out.note("calibration", list(calibration))
        out.note("n_features", int(X.shape[1]))
        out.note("n_stored", len(rows))
        out.note("image_shape", None if image_shape is None else list(image_shape))
    return Path(path).stat().st_size


def _values(answer, y, labelled, task):
    """What each stored row passes on: its class probabilities, or its number."""
    if task == "regression":
        return np.asarray(answer["label"], dtype=np.float64)[:, None]
    proba = np.asarray(answer["proba"], dtype=np.float32).copy()
    proba[labelled] = 0
    proba[labelled, y[labelled]] = 1
    return proba


def _far_from_labelled(X, labelled):
    from fewfold.graph.neighbors import nearest_neighbors

    others = np.setdiff1d(np.arange(X.shape[0]), labelled)
    if not len(others):
        return None
    some = others[:: max(1, len(others) // 5000)]
    found = nearest_neighbors(X[labelled], 1, query=X[some])
    return float(np.quantile(found.distances[:, 0], FAR_QUANTILE))


def check_is_model(path: Path) -> None:
    """Refuse what is plainly not a model file, such as a table in its place."""
    if not path.is_file():
        raise InputError(f"{path}: no such model file. 'fewfold label' writes model.h5.")
    with open(path, "rb") as stream:
        head = stream.read(8)
    if head != b"\x89HDF\r\n\x1a\n":
        raise InputError(
            f"{path} is not a model file. Give the model first, then the file with new rows: "
            "fewfold predict model.h5 new.csv. ('fewfold label' writes model.h5.)"
        )


@dataclass
class Model:
    """A model file in memory; `predict` labels rows of features."""

    X: object
    classes: list | None
    task: str
    learner: str
    method: str
    columns: list | None
    n_features: int
    found: dict

    @classmethod
    def load(cls, path) -> Model:
        """Open a model file, checking that it is whole and that all it says is allowed."""
        path = Path(path)
        check_is_model(path)
        with artifacts.read(path, STAGE, remedy=REMEDY) as file:
            found = read_model(file)
        names = ("X", "task", "learner", "method", "columns", "n_features")
        return cls(found=found, classes=found.get("classes"),
                   **{name: found[name] for name in names})  # fmt: skip

    def predict(self, X_new):
        """Label new rows.

        Returns
        -------
        dict of arrays
            ``label`` (codes, -1 not known; or numbers), ``confidence``, ``second``, and ``far``:
            farther from what the model knows than all but 1 % of the rows it was made with.
        """
        if X_new.shape[1] != self.n_features:
            raise InputError(
                f"The new rows have {X_new.shape[1]} features; the model was made with "
                f"{self.n_features}."
            )
        if self.learner == "graph":
            values, reached, distance = self._by_graph(X_new)
        else:
            values, reached, distance = self._by_labelled(X_new)
        limit = self.found["far"]
        far = np.zeros(X_new.shape[0], bool) if limit is None else distance > limit
        if self.task == "regression":
            return {"label": values[:, 0], "far": far}
        slope, shift = self.found["calibration"]
        label = np.where(reached, values.argmax(axis=1), -1)
        rest = values.copy()
        rest[np.arange(len(rest)), np.maximum(label, 0)] = -1
        second = np.where((label >= 0) & (rest.max(axis=1) > 0), rest.argmax(axis=1), -1)
        confidence = np.where(reached, calibrate(values.max(axis=1), slope, shift), 0.0)
        return {"label": label, "confidence": confidence, "second": second, "far": far}

    def _by_graph(self, X_new):
        n, values = self.X.shape[0], self.found["values"]
        graph = NeighborGraph(
            W=sparse.csr_array((n, n)), neighbors=None,
            settings=GraphSettings.from_dict(self.found["graph"]), scales=self.found["scales"],
            bandwidth=self.found["bandwidth"], n_components=1, component=None, isolated=None,
        )  # fmt: skip
        weights = extend_graph(graph, self.X, X_new)
        total = np.asarray(weights.sum(axis=1)).ravel()
        passed = (weights @ values) / np.where(total > 0, total, 1)[:, None]
        reached = passed.sum(axis=1) > 0 if self.task != "regression" else total > 0
        return passed, reached, self._distance(X_new, graph.settings)

    def _distance(self, X_new, settings):
        from fewfold.graph.build import find_neighbors

        return find_neighbors(self.X, settings, query=X_new).distances[:, 0]

    def _by_labelled(self, X_new):
        from fewfold.graph.neighbors import nearest_neighbors
        from fewfold.pipeline.training import Inputs, fit_draw

        targets, details = self.found["targets"], self.found["details"]
        found = nearest_neighbors(self.X, 1, query=X_new)
        reached = np.ones(X_new.shape[0], bool)
        if self.learner == "svm":
            values = self._svm(X_new, targets, details)
            return values, reached, found.distances[:, 0]
        outcome = fit_draw(
            "knn",
            Inputs(X=self.X, X_new=X_new, task=self.task),
            np.arange(self.X.shape[0]),
            targets,
            n_classes=len(self.classes or ()),
            seed=0,
            settings={"n_neighbors": details["n_neighbors"]},
        )
        if self.task == "regression":
            return outcome.labels_new[:, None], reached, found.distances[:, 0]
        return outcome.proba_new, reached, found.distances[:, 0]

    def _svm(self, X_new, targets, details):
        from fewfold.linalg.distances import squared_distances
        from fewfold.svm.kernel_svm import fit_kernel_svm

        X, new = np.asarray(self.X, dtype=float), np.asarray(X_new, dtype=float)
        gamma = details["gamma"]
        svm = fit_kernel_svm(np.exp(-gamma * squared_distances(X, X)), targets, details["C"])
        proba = svm.proba(np.exp(-gamma * squared_distances(new, X[svm.support])))
        return class_columns(proba, svm.classes, len(self.classes))
