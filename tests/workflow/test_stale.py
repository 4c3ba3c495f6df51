"""A report is never older than its data: content decides, and what failed stays to be done."""

import os

import numpy as np
import pytest
import yaml

from fewfold.exceptions import InputError
from fewfold.pipeline import file_digests
from fewfold.pipeline.file_digests import check_unchanged, file_digest
from fewfold.pipeline.unfinished import missing_outputs, set_out, succeeded


def write_table(path, shift=0.0, bad=False):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2)) + 3 * (np.arange(40) % 2)[:, None] + shift
    lines = [f"{a:.3f},{b:.3f},{'xy'[i % 2]}" for i, (a, b) in enumerate(values)]
    if bad:
        lines[4] = "tall,1.0,x"
    path.write_text("a,b,kind\n" + "\n".join(lines) + "\n")


@pytest.mark.slow
def test_the_file_decides_and_not_its_date(project, tmp_path):
    table, out = tmp_path / "my.csv", tmp_path / "out"
    config = {
        "run": {"datasets": ["mine"], "methods": ["knn"], "labels": [4], "trials": 1},
        "datasets": {"mine": {"source": "file", "options": {"path": str(table), "target": "kind"}}},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    raw = out / "results/mine/raw.h5"

    def run():
        return project.fewfold(
            "run", "--cores", "2", "--configfile", tmp_path / "c.yaml", "--out", out
        )

    write_table(table)
    os.utime(table, (4e9, 4e9))  # a date in the future
    done = run()
    assert done.returncode == 0, done.stdout
    before = raw.read_bytes()
    os.utime(table)  # touched, nothing else
    assert "Nothing to do" in run().stdout

    write_table(table, bad=True)
    for _ in range(2):  # a failed stage stays failed
        done = run()
        assert done.returncode == 1 and "found 'tall'" in done.stdout
        assert "Nothing to do" not in done.stdout and "Traceback" not in done.stdout

    write_table(table, shift=1.0)
    os.utime(table, (1e9, 1e9))  # other content, an old date
    done = run()
    assert done.returncode == 0 and "Fetching mine" in done.stdout, done.stdout
    assert raw.read_bytes() != before
    assert "Nothing to do" in run().stdout


@pytest.mark.slow
def test_a_stage_that_fails_after_a_change_of_its_settings_stays_failed(project, tmp_path):
    """Its old output is gone, what was made from that is still there."""
    table, out, file = tmp_path / "my.csv", tmp_path / "out", tmp_path / "c.yaml"
    write_table(table)

    def run(pca):
        options = {"path": str(table), "target": "kind"}
        file.write_text(
            yaml.safe_dump(
                {
                    "run": {"datasets": ["mine"], "methods": ["knn"], "labels": [4], "trials": 1},
                    "datasets": {"mine": {"source": "file", "options": options, "pca": pca}},
                }
            )
        )
        return project.fewfold("run", "--cores", "2", "--configfile", file, "--out", out)

    assert run(1).returncode == 0
    for _ in range(2):
        done = run(9)
        assert done.returncode == 1 and "pca=9 for 40 rows x 2 columns" in done.stdout
    assert run(2).returncode == 0
    assert "Nothing to do" in run(2).stdout


def test_other_content_of_equal_size_and_date_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(file_digests, "SMALL", 0)
    monkeypatch.setattr(file_digests, "SETTLED_NS", -1)
    path, memory = tmp_path / "a.csv", tmp_path / "memory.json"
    path.write_text("1,2")
    os.utime(path, (1e9, 1e9))
    first = file_digest(path, memory)
    assert file_digest(path, memory) == first and memory.exists()
    path.write_text("3,4")
    os.utime(path, (1e9, 1e9))
    second = file_digest(path, memory)
    assert second != first
    memory.write_text("[]")  # rubbish is not trusted
    assert file_digest(path, memory) == second


def test_a_large_file_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr(file_digests, "SMALL", 0)
    path, memory = tmp_path / "a.csv", tmp_path / "memory.json"
    path.write_text("1,2")
    monkeypatch.setattr(file_digests, "SETTLED_NS", -1)
    first = file_digest(path, memory)
    monkeypatch.setattr(file_digests, "_read", lambda path: pytest.fail("read again"))
    assert file_digest(path, memory) == first


def test_a_file_changed_on_the_way_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.csv"
    path.write_text("1,2")
    planned = {str(path): file_digest(path)}
    check_unchanged(planned)
    path.write_text("1,3")
    with pytest.raises(InputError, match="a.csv was changed while the run was reading it"):
        check_unchanged(planned)
    path.unlink()
    with pytest.raises(InputError, match="cannot be read .No such file"):
        check_unchanged(planned)


def test_what_was_to_be_made_and_is_missing(tmp_path):
    (tmp_path / "a.h5").write_text("")
    set_out(["a.h5", "b.h5"], tmp_path)
    assert missing_outputs(tmp_path) == ["b.h5"]
    set_out(["c.h5"], tmp_path)
    assert missing_outputs(tmp_path) == ["b.h5", "c.h5"]
    (tmp_path / "c.h5").write_text("")
    succeeded(tmp_path)
    (tmp_path / "c.h5").unlink()  # by hand, after a run that made it
    assert missing_outputs(tmp_path) == ["b.h5"]
