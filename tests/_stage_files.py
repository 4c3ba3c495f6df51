"""A stage file with every kind of content, for the tests of reading and writing."""

import numpy as np
from scipy import sparse

from fewfold.pipeline.artifacts import read, writing

STAGE = "demo"


def write_small(path, **more):
    """A file with every kind of content, and more attributes than HDF5 keeps in one header."""
    with writing(path, STAGE, settings={"k": 3, "name": "é"}, seed=7) as out:
        out.add("X", np.arange(6.0).reshape(2, 3))
        out.add("W", sparse.csr_array(np.array([[0.0, 2.0], [0.5, 0.0]])))
        out.add("text", ["a", "", "ü"])
        out.add_blocks("K", (3, 2), np.float32, [np.ones((2, 2)), np.zeros((1, 2))])
        for i in range(4):
            out.note(f"note{i}", {"value": i, "nothing": None})
        for name, value in more.items():
            out.add(name, value)
    return path


def everything(path):
    """All that a reader can learn from a file, as something that compares."""
    with read(path, STAGE) as file:
        arrays = [file.names(), file["text"], file.rows("K", [2, 0]).tolist()]
        arrays += [file[name].tolist() for name in ("X", "K")]
        arrays += [file["W"].toarray().tolist()]
        notes = {i: file.note(f"note{i}") for i in range(4)}
        return arrays, notes, file.settings, file.content, file.shape("X")
