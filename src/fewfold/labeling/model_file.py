"""The model file: the fitted members of the combination as plain arrays. Nothing is unpickled.

Every member with a weight stores its own state (`to_arrays`), checked against its declaration
when the file is opened; methods are looked up by name among those installed. Arrays that several
members share are stored once.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from fewfold.exceptions import FewfoldError, InputError
from fewfold.labeling.model_schema import read_model
from fewfold.labeling.weighing import Combination
from fewfold.labels import class_columns
from fewfold.pipeline import artifacts
from fewfold.pipeline.layout import MODEL_FILE

FAR_QUANTILE = 0.99
_BLOCK_ROWS = 65_536
MOST_REFERENCES, MOST_REFERENCE_BYTES = 2000, 16_000_000
REMEDY = "Get the model file again, or make it again with 'fewfold label'."
# Raised by numpy, scipy and scikit-learn for arrays that are valid alone but not together.
_MISFITS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError,
            MemoryError, AssertionError)  # fmt: skip


class _Pool:
    """Arrays of a file, each stored once however many members have it."""

    def __init__(self, out):
        self._out, self._known = out, {}

    def add(self, value) -> int:
        """Store an array and return its number."""
        value = value if sparse.issparse(value) else np.asarray(value)
        if not sparse.issparse(value) and value.dtype.kind in "UO":
            value = [str(item) for item in value]
        parts = (value.data, value.indices, value.indptr) if sparse.issparse(value) else (value,)
        key = tuple(
            (p.dtype.str, p.shape, int(artifacts.digest_of(np.ascontiguousarray(p))))
            if isinstance(p, np.ndarray)
            else tuple(p)
            for p in parts
        )
        if key not in self._known:
            self._known[key] = len(self._known)
            self._out.add(f"array{self._known[key]}", value)
        return self._known[key]


def save_model(path, combination: Combination, members, states, *, task, classes, X, table_notes,
               image_shape=None, inputs=()) -> int:  # fmt: skip
    """Write a model file and return its size in bytes.

    Parameters
    ----------
    path : path-like
    combination : Combination
    members : list of Member
        Those with weight 0 are left out.
    states : list of (arrays, notes)
    task, classes : str, list of str or None
    X : array of shape (n, d)
        The rows: a sample defines which new rows are far.
    table_notes : dict
        ``columns`` (the plan of a table, or None), ``feature_names``, ``target``, ``id_name``.
    inputs : paths recorded in the file
    """
    kept = [i for i, weight in enumerate(combination.weights) if weight > 0]
    reference, far = far_limit(X)
    with artifacts.writing(path, MODEL_FILE, inputs=inputs) as out:
        pool, listed = _Pool(out), []
        for i in kept:
            arrays, notes = states[i]
            listed.append(
                {
                    "name": members[i].name,
                    "method": members[i].method.name,
                    "weight": float(combination.weights[i]),
                    "exponent": float(combination.exponents[i]),
                    "arrays": {name: pool.add(arrays[name]) for name in sorted(arrays)},
                    "notes": notes,
                }
            )
        out.note("members", listed)
        out.note("reference", pool.add(reference))
        out.note("far", far)
        if classes is not None:
            out.add("classes", [str(c) for c in classes])
        factors = combination.factors
        out.note("factors", None if factors is None else [float(f) for f in factors])
        for key, value in table_notes.items():
            out.note(key, value)
        out.note("task", task)
        out.note("calibration", [float(v) for v in combination.calibration])
        out.note("low", combination.low)
        out.note("n_features", int(X.shape[1]))
        out.note("image_shape", None if image_shape is None else list(image_shape))
    return Path(path).stat().st_size


def far_limit(X) -> tuple:
    """Return reference rows, and a distance to them that few of the other rows exceed."""
    from fewfold.graph.neighbors import nearest_neighbors

    n, d = X.shape
    most = min(MOST_REFERENCES, max(50, MOST_REFERENCE_BYTES // (4 * d)), n)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:most])
    reference = X[chosen] if sparse.issparse(X) else np.asarray(X[chosen], dtype=np.float32)
    if most == n:
        # Each row's nearest other one.
        distances = nearest_neighbors(reference, 1).distances[:, 0] if n > 1 else np.zeros(1)
    else:
        others = np.setdiff1d(np.arange(n), chosen)
        some = others[:: max(1, len(others) // 5000)]
        distances = nearest_neighbors(reference, 1, query=X[some]).distances[:, 0]
    return reference, float(np.quantile(distances, FAR_QUANTILE))


def check_is_model(path: Path) -> None:
    """Raise an error for what is clearly not a model file, such as a table."""
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

    path: Path
    members: list  # of (name, estimator)
    combination: Combination
    reference: object
    classes: list | None
    task: str
    columns: list | None
    n_features: int
    found: dict

    @classmethod
    def load(cls, path) -> Model:
        """Open a model file, checking its integrity and contents."""
        path = Path(path)
        check_is_model(path)
        with artifacts.read(path, MODEL_FILE, remedy=REMEDY) as file:
            found, members, reference = read_model(file)
        listed = found["members"]
        combination = Combination(
            weights=np.array([m["weight"] for m in listed], dtype=float),
            exponents=np.array([m["exponent"] for m in listed], dtype=float),
            calibration=tuple(found["calibration"]),
            low=found["low"],
            factors=None if found["factors"] is None else np.array(found["factors"]),
        )
        names = ("task", "columns", "n_features")
        return cls(path, members, combination, reference, found.get("classes"), found=found,
                   **{name: found[name] for name in names})  # fmt: skip

    @property
    def method(self) -> str:
        """The members in words."""
        return ", ".join(name for name, _ in self.members)

    def predict(self, X_new) -> dict[str, np.ndarray]:
        """Label new rows.

        Returns
        -------
        dict of arrays
            ``label`` (codes, or numbers), ``confidence``, ``second``, and ``far``: farther from
            the rows that the model was made with than all but 1 % of those.
        """
        if X_new.shape[1] != self.n_features:
            raise InputError(
                f"The new rows have {X_new.shape[1]} features; the model was made with "
                f"{self.n_features}."
            )
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                parts = [
                    self._predict_block(X_new[start : start + _BLOCK_ROWS])
                    for start in range(0, max(X_new.shape[0], 1), _BLOCK_ROWS)
                ]
        except FewfoldError:
            raise
        except _MISFITS as error:
            raise InputError(
                f"{self.path} does not fit: its members cannot label rows ({error}). {REMEDY}"
            ) from error
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _predict_block(self, X_new):
        attached = {}  # members on one graph attach new rows once
        answers = [self._answer(model, X_new, attached) for _, model in self.members]
        found = self._combined(answers)
        found["far"] = self._is_far(X_new)
        return found

    def _answer(self, model, X_new, attached):
        if self.task == "regression":
            return np.asarray(model.predict(X_new), dtype=np.float64)
        share = getattr(model, "extensions_like", None)
        stages = {} if share is None else share(X_new, attached)
        proba = np.asarray(model.predict_proba(X_new, **stages), dtype=np.float64)
        columns = np.asarray(model.classes_).astype(np.int64)
        return class_columns(proba, columns, len(self.classes))

    def _combined(self, answers):
        if self.task == "regression":
            found = {"label": self.combination.values(answers)}
        else:
            found = self.combination.decide(self.combination.proba(answers))
        for name in ("label", "confidence"):
            if name in found and not np.isfinite(found[name]).all():
                raise ValueError("their predictions are not finite")
        return found

    def _is_far(self, X_new):
        from fewfold.graph.neighbors import nearest_neighbors

        found = nearest_neighbors(self.reference, 1, query=X_new)
        return found.distances[:, 0] > self.found["far"]
