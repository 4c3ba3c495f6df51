"""The index of a neighbor search as a stage file that tiles map into their memory."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from fewfold.graph.lists import ListIndex
from fewfold.graph.tiles import ARRAYS, SearchIndex
from fewfold.pipeline import artifacts

STAGE = "index_neighbors"
# Large arrays: not read, but mapped. Pages that are looked at are shared by the jobs of a node.
_MAPPED = ("points", "norms", "full", "all_rows")


def write_index(path, index: SearchIndex, **prov) -> None:
    """Write an index."""
    with artifacts.writing(path, STAGE, **prov) as out:
        if index.rows is not None:
            out.add("all_rows", index.rows)
        else:
            for name in (*ARRAYS, "full"):
                value = getattr(index.lists, name)
                if value is not None:
                    out.add(name, value)
        if index.empty is not None:
            out.add("empty", index.empty)
        for name in ("probes", "spare", "recall"):
            out.note(name, getattr(index, name))


@contextmanager
def reading_index(path, settings: dict):
    """Open an index made with these settings; its large arrays are only valid within."""
    with artifacts.read(path, STAGE) as file:
        if file.settings != settings:
            file.fail(f"was made with the settings {file.settings}, now they are {settings}")
        found = {name: file.mapped(name) if name in _MAPPED else file[name]
                 for name in file.names()}  # fmt: skip
        notes = {name: file.note(name) for name in ("probes", "spare", "recall")}
        notes["empty"] = found.pop("empty", None)
        if "all_rows" in found:
            yield SearchIndex(rows=found["all_rows"], **notes)
            return
        for name, past in (("starts", len(found["rows"])), ("groups", len(found["centers"]))):
            edges = found[name]
            if edges[0] != 0 or edges[-1] != past or (np.diff(edges) < 0).any():
                file.fail(f"does not fit: {name} does not lead from 0 up to {past}")
        if (np.bincount(found["rows"], minlength=len(found["rows"])) != 1).any():
            file.fail("does not fit: rows does not name each row once")
        lists = ListIndex(*(found.get(name) for name in (*ARRAYS, "full")))
        yield SearchIndex(lists, **notes)
