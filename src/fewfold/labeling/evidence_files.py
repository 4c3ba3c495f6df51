"""Predictions of candidates as stage files, for data whose candidates run in several jobs."""

from __future__ import annotations

import numpy as np

from fewfold.labeling.examining import Evidence, examine
from fewfold.labels import known_mask
from fewfold.pipeline.artifacts import read, writing

STAGE = "examine_candidates"


def write_evidence(path, members, task, inputs=()) -> None:
    """Evaluate candidates and write the predictions of each."""
    with writing(path, STAGE, inputs=inputs) as out:
        listed = []
        for number, member in enumerate(members):
            found = examine(member, task)
            entry = {"name": member.name, "seconds": found.seconds, "status": found.status}
            if found.answer is not None:
                out.add(f"member{number}.answer", found.answer)
                if found.held_out is not None:
                    out.add(f"member{number}.held_out", found.held_out)
                for name in sorted(found.arrays):
                    out.add(f"member{number}.state.{name}", found.arrays[name])
                entry |= {"arrays": sorted(found.arrays), "notes": found.notes}
            listed.append(entry)
            print(f"{member.name}: {found.status}, {found.seconds:.1f} s")
        out.note("members", listed)


def read_evidence(paths, task) -> dict[str, Evidence]:
    """Read candidates' predictions by name; arrays of other rows or labels are refused."""
    found = {}
    m, n = int(known_mask(task.y).sum()), task.X.shape[0]
    n_folds = int(task.fold.max()) + 1 if len(task.fold) else 0
    held, said = ((m, task.n_classes), (n, task.n_classes)) if task.is_classes else (
        (n_folds, n), (n,))  # fmt: skip
    for path in paths:
        with read(path, STAGE) as file:
            for number, entry in enumerate(file.note("members")):
                one = Evidence(None, None, seconds=entry["seconds"], status=entry["status"])
                if f"member{number}.answer" in file:
                    if "arrays" not in entry or "notes" not in entry:
                        file.fail(f"lacks the state of {entry['name']!r}")
                    one.answer = file[f"member{number}.answer"]
                    one.held_out = file.get(f"member{number}.held_out")
                    one.arrays = {k: file[f"member{number}.state.{k}"] for k in entry["arrays"]}
                    one.notes = entry["notes"]
                    _check(file, one, held if n_folds else None, said)
                found[entry["name"]] = one
    return found


def _check(file, one, held, said):
    if np.shape(one.answer) != said:
        file.fail(f"has an answer of shape {np.shape(one.answer)}, expected {said}")
    if held is not None and np.shape(one.held_out) != held:
        file.fail(f"has held-out answers of shape {np.shape(one.held_out)}, expected {held}")
    for values in (one.answer, one.held_out):
        if values is not None and not (values.dtype.kind == "f" and np.isfinite(values).all()):
            file.fail("does not fit: it holds answers that are not finite numbers")
