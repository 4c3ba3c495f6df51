"""Sessions: answers survive, follow the model, and are what a promise is made of."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_blobs

from _cells import write_h5ad
from fewfold.exceptions import InputError, RunFailed
from fewfold.graph.build import GraphSettings, build_graph
from fewfold.methods.diffusion.estimator import diffuse
from fewfold.session.journal import NAME
from fewfold.session.live import LiveDiffusion
from fewfold.session.opening import open_file
from fewfold.session.promise_files import prove
from fewfold.session.session import LabelingSession
from fewfold.session.writing import write_answers

CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(240, centers=3, cluster_std=1.2, random_state=3)
    return build_graph(X.astype(np.float32), GraphSettings(symmetrize="mean")), y


def start(blobs, folder=None, **options):
    graph, y = blobs
    return LabelingSession(
        graph, np.full(len(y), -1), CLASSES, folder=folder, digest="d", **options
    )


def label(session, y, count):
    for _ in range(count):
        row = session.suggest().row
        session.answer(row, CLASSES[y[row]])


def test_live_labels_are_those_of_a_fit_from_scratch():
    X, y = load_digits(return_X_y=True)
    graph = build_graph(X[:600].astype(np.float32), GraphSettings(symmetrize="mean"))
    rows = np.random.default_rng(0).permutation(600)[:40]
    live = LiveDiffusion(graph.W, 10)
    live.start(rows[:10], y[rows[:10]])
    for row in rows[10:]:
        live.add(int(row), int(y[row]))
    live.add(int(rows[3]), int(y[rows[3]] + 1) % 10)  # changed, and changed back
    live.add(int(rows[3]), int(y[rows[3]]))
    live.add(599, 0)
    live.remove(599)
    expected, _ = diffuse(graph.W, rows, y[rows], 10, sources="classes", tol=1e-8)
    assert np.abs(live.proba() - expected).max() < 1e-4


def test_shares_of_labels_add_up_to_the_score(blobs):
    graph, y = blobs
    live = LiveDiffusion(graph.W, 3)
    rows = np.random.default_rng(1).permutation(len(y))[:12]
    live.start(rows, y[rows])
    found = dict(live.shares(5, 1))
    B = np.zeros((len(y), 1))
    B[rows, 0] = (y[rows] == 1) - np.mean(y[rows] == 1)
    score = live._solver.respond(B)[5, 0]
    one_component = np.unique(graph.component[[5, *rows]]).size == 1
    assert not one_component or sum(found.values()) == pytest.approx(score, rel=1e-3)


def test_answers_survive_a_torn_last_line(blobs, tmp_path):
    session = start(blobs, tmp_path, promise=0.2)
    label(session, blobs[1], 40)
    session.skip(session.suggest().row)
    before, estimate = session.labels()[0], session.estimate()
    session.close()
    with open(tmp_path / NAME, "ab") as file:
        file.write(b'{"id":99,"kind":"answer","row":')
    again = start(blobs, tmp_path, promise=0.2)
    assert again.record.n_answers == 40
    assert np.array_equal(again.labels()[0], before)
    assert again.estimate().all == estimate.all
    assert again.suggest() is not None
    again.close()


def test_every_answer_is_in_the_file_when_it_is_given(blobs, tmp_path):
    session = start(blobs, tmp_path)
    label(session, blobs[1], 3)
    lines = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    answers = [line for line in lines if line["kind"] == "answer"]
    assert len(answers) == 3 and all(0 < a["probability"] <= 1 for a in answers)
    session.close()


@pytest.mark.parametrize("damage", ["middle", "frozen", "rows"])
def test_damaged_or_foreign_journals_are_refused(blobs, tmp_path, damage):
    session = start(blobs, tmp_path)
    label(session, blobs[1], 12)
    session.close()
    if damage == "middle":
        lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
        (tmp_path / NAME).write_bytes(b"".join([*lines[:3], b"{]\n", *lines[4:]]))
    elif damage == "frozen":
        next(tmp_path.glob("frozen-*.npz")).write_bytes(b"x")
    graph, y = blobs
    digest = "other" if damage == "rows" else "d"
    with pytest.raises(InputError, match="line 4|missing or was changed|other rows"):
        LabelingSession(graph, np.full(len(y), -1), CLASSES, folder=tmp_path, digest=digest)


def test_undo_skip_flag_not_sure_and_new_class(blobs):
    session = start(blobs)
    label(session, blobs[1], 12)
    before = session.labels()[0].copy()
    row = session.suggest().row
    session.answer(row, "b")
    assert session.undo() == row and np.array_equal(session.labels()[0], before)
    session.skip(row)
    assert session.suggest().row != row
    session.answer(session.suggest().row, None)
    session.flag(row)
    assert session.record.flagged == {row}
    session.add_class("d")
    session.answer(row, "d")
    assert session.classes[session.labels()[0][row]] == "d"
    for bad in ("", "A", "x\ty", "y" * 500):
        with pytest.raises(InputError):
            session.add_class(bad)
    with pytest.raises(InputError, match="is not a class"):
        session.answer(session.suggest().row, "z")


def test_rows_shown_to_others_are_not_offered(blobs):
    session = start(blobs)
    first = session.suggest().row
    second = session.suggest(exclude=[first]).row
    assert first != second
    label(session, blobs[1], 30)
    seen = {session.suggest().row}
    for _ in range(5):
        row = session.suggest(exclude=seen).row
        assert row not in seen
        seen.add(row)


def test_a_session_ends_with_a_kept_promise(blobs):
    session = start(blobs, promise=0.1)
    y = blobs[1]
    for _ in range(len(y)):
        if session.promise().kind in ("kept", "person"):
            break
        label(session, y, 1)
    state = session.promise()
    assert state.kind in ("kept", "person"), state
    rest = np.setdiff1d(np.arange(len(y)), state.doubtful)
    assert np.mean(session.record.final_labels()[rest] != y[rest]) <= 0.1


def test_journals_are_merged_and_disagreements_shown(blobs, tmp_path):
    y = blobs[1]
    ours, theirs = start(blobs, tmp_path / "a"), start(blobs, tmp_path / "b", seed=7)
    label(ours, y, 15)
    label(theirs, y, 15)
    shared = next(iter(ours.record.answered))
    other = CLASSES[(y[shared] + 1) % 3]
    theirs.answer(shared, other, by="someone")
    theirs.close()
    n, disagreements = ours.merge(tmp_path / "b" / NAME)
    assert (shared, CLASSES[y[shared]], other) in disagreements
    assert ours.record.n_answers == 15 + n
    ours.close()


def table(folder, n_labels=0):
    X, y = make_blobs(200, centers=3, n_features=4, cluster_std=1.5, random_state=1)
    frame = pd.DataFrame(X.round(3), columns=list("wxyz"))
    names = np.array(["red", "green", "blue"], dtype=object)[y]
    known = np.random.default_rng(0).permutation(200)[:n_labels]
    frame["kind"] = ""
    frame.loc[known, "kind"] = names[known]
    frame.to_csv(folder / "my.csv", index=False)
    return folder / "my.csv", names


def test_a_file_without_labels_is_opened_resumed_and_completed(tmp_path):
    path, names = table(tmp_path)
    content = path.read_bytes()
    opened = open_file(path, "kind")
    for name in ("red", "green", "blue"):
        opened.session.add_class(name)
    for _ in range(25):
        row = opened.session.suggest().row
        opened.session.answer(row, names[row])
    with pytest.raises(RunFailed, match="Another fewfold run"):
        open_file(path, "kind")
    opened.close()
    opened = open_file(path, "kind", echo=print)
    assert opened.session.record.n_answers == 25
    assert any(field["note"] for row in range(200) for field in opened.views.fields(row))
    write_answers(opened)
    opened.close()
    assert path.read_bytes() == content
    folder = tmp_path / "my-labels/session"
    completed = pd.read_csv(folder / "completed.csv")
    assert (completed["kind"] == names).mean() > 0.9
    answered = pd.read_csv(folder / "answered.csv", keep_default_na=False)
    assert (answered["kind"] != "").sum() == 25
    answers = pd.read_csv(folder / "answers.csv")
    assert (answers["kind"] == names[answers["row_number"] - 1]).all()


@pytest.mark.slow
def test_a_promise_is_proven_by_answers_in_a_file(tmp_path):
    from fewfold import label as label_file

    path, names = table(tmp_path, 30)
    found = label_file(path, "kind", quick=True)
    words, answers, kinds = [], None, []
    for _ in range(12):
        state = prove(found, "kind", share=0.1, level=0.95, answers=answers, echo=words.append)
        kinds.append(state.kind)
        if state.kind != "auditing":
            break
        answers = found.folder / "promise/audit.csv"
        asked = pd.read_csv(answers, dtype={"answer": str})
        asked["answer"] = names[asked["row_number"] - 1]
        asked.to_csv(answers, index=False)
    assert kinds[0] == "auditing" and kinds[-1] in ("kept", "person"), words
    final = pd.read_csv(found.folder / "promise/labels.csv", keep_default_na=False)
    rest = ~final["needs_person"]
    assert np.mean(final["label"][rest] != names[rest]) <= 0.1
    asked.loc[0, "answer"] = "purple"
    asked.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(InputError, match="'purple' is not a class"):
        prove(found, "kind", share=0.1, level=0.95, answers=tmp_path / "bad.csv")


@pytest.mark.slow
def test_the_combination_is_made_beside_and_taken_over(tmp_path):
    import time

    from fewfold.session.background import Background

    path, names = table(tmp_path, 21)
    opened = open_file(path, "kind")
    try:
        background = Background(opened)
        background.consider()
        assert background.is_running and opened.session.source == "live"
        end = time.monotonic() + 240
        while not background.take():
            assert time.monotonic() < end and background.is_running
            time.sleep(0.2)
        assert opened.session.source == "combination"
        assert np.mean(np.array(opened.session.classes)[opened.session.labels()[0]] == names) > 0.8
        background.consider()  # nothing new since
        assert not background.is_running
        for _ in range(8):
            row = opened.session.suggest().row
            opened.session.answer(row, names[row])
        assert opened.session.source == "live"  # the combination saw too few of the labels
    finally:
        background.close()
        opened.close()


def arrays_without_labels(folder):
    X = make_blobs(90, centers=3, n_features=4, random_state=1)[0].astype(np.float32)
    np.save(folder / "rows.npy", X)
    np.savez(folder / "named.npz", X=X)
    write_h5ad(folder / "cells.h5ad", X, {"batch": ["one"] * 90}, list("wxyz"))


@pytest.mark.parametrize("name", ["rows.npy", "named.npz", "cells.h5ad"])
def test_arrays_and_cells_start_without_labels(tmp_path, name):
    arrays_without_labels(tmp_path)
    opened = open_file(tmp_path / name)
    try:
        opened.session.add_class("a")
        row = opened.session.suggest().row
        opened.session.answer(row, "a")
        write_answers(opened)
    finally:
        opened.close()
    folder = tmp_path / f"{name.split('.')[0]}-labels/session"
    assert pd.read_csv(folder / "answers.csv")["label"].tolist() == ["a"]


def test_arrays_and_cells_with_labels_are_not_taken_as_unlabeled(tmp_path):
    X = make_blobs(90, centers=3, n_features=4, random_state=1)[0].astype(np.float32)
    y = np.where(np.arange(90) < 9, np.arange(90) % 3, -1)
    np.savez(tmp_path / "named.npz", X=X, y=y)
    kinds = ["abc"[c] if c >= 0 else "Unknown" for c in y]
    write_h5ad(tmp_path / "cells.h5ad", X, {"kind": kinds}, list("wxyz"))
    for name, target, classes in (("named.npz", None, ["0", "1", "2"]),
                                  ("cells.h5ad", "kind", ["a", "b", "c"])):  # fmt: skip
        opened = open_file(tmp_path / name, target)
        assert opened.session.n_known == 9 and opened.session.classes == classes
        opened.close()


@pytest.mark.slow
def test_what_was_answered_is_used_by_run(tmp_path):
    path, names = table(tmp_path, 3)
    opened = open_file(path, "kind")
    for _ in range(40):
        row = opened.session.suggest().row
        if names[row] not in opened.session.classes:
            opened.session.add_class(names[row])
        opened.session.answer(row, names[row])
    write_answers(opened)
    opened.close()
    (tmp_path / "my.yaml").write_text(
        "run: {datasets: [mine], methods: [diffusion], labels: [12], trials: 1}\n"
        "datasets:\n  mine:\n    source: file\n"
        "    options: {path: my-labels/session/answered.csv, target: kind}\n"
    )
    command = [sys.executable, "-m", "fewfold.cli", "run", "--configfile", "my.yaml",
               "--out", "made", "--cores", "1"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    made = pd.read_csv(tmp_path / "made/results/metrics.csv")
    assert made["value"].between(0, 0.5).all() and (made["status"] == "ok").all()
