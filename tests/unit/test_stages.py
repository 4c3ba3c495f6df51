"""Logs, costs and progress of stages."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from fewfold.exceptions import ArtifactError, DataWarning, InputError
from fewfold.pipeline.stages import Progress, stage_log


@pytest.fixture(autouse=True)
def restored():
    before = warnings.showwarning
    yield
    warnings.showwarning = before


def test_prints_and_warnings_go_to_the_log(tmp_path, capsys):
    log = tmp_path / "deep/stage.log"
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with stage_log(log):
            print("hello é")
            warnings.warn("odd rows", DataWarning, stacklevel=1)
    text = log.read_text(encoding="utf-8")
    assert text.startswith("hello é\nDataWarning: odd rows\ndone in ")
    assert capsys.readouterr() == ("", "")
    names, values = (log.parent / "stage.cost.tsv").read_text().splitlines()
    assert names == "s\tcpu_s\tmax_rss_mb" and all(float(v) >= 0 for v in values.split("\t"))


def test_a_fewfold_error_is_one_sentence(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended, stage_log(tmp_path / "a.log"):
        raise InputError("the table is empty")
    assert ended.value.code == 1
    assert (tmp_path / "a.log").read_text() == "error: the table is empty\n"
    assert capsys.readouterr().err == "error: the table is empty\n"
    assert not (tmp_path / "a.cost.tsv").exists()


@pytest.mark.parametrize("raised", [ZeroDivisionError, KeyboardInterrupt])
def test_other_errors_keep_their_traceback(tmp_path, raised):
    with pytest.raises(raised), stage_log(tmp_path / "a.log"):
        raise raised("deep inside")
    text = (tmp_path / "a.log").read_text()
    assert "Traceback" in text and "deep inside" in text and raised.__name__ in text
    assert sys.stdout is not None and not sys.stdout.closed


def test_standard_streams_are_put_back(tmp_path):
    out, err = sys.stdout, sys.stderr
    with stage_log(tmp_path / "a.log"):
        assert sys.stdout is not out
    assert (sys.stdout, sys.stderr) == (out, err)


def test_progress_is_silent_when_quick_and_counts_when_slow(capsys):
    quick = Progress(10)
    for _ in range(10):
        quick(1)
    assert capsys.readouterr().out == ""
    slow = Progress(4, "tiles", every_s=0)
    for _ in range(4):
        slow(1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 of 4 tiles (25 %), ") and lines[-1].startswith(
        "4 of 4 tiles (100"
    )
    Progress(0, every_s=0)(0)


def test_a_log_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit), stage_log(tmp_path / "file/a.log"):
        pass
    said = capsys.readouterr().err
    assert said.startswith("error: Could not write the log ") and said.count("\n") == 1


def test_a_full_disk_stops_no_log(small_disk, capsys):
    """What a stage prints is lost, its work is not; an error reaches the terminal."""
    with stage_log(small_disk / "a.log"):
        (small_disk / "filler").write_bytes(
            bytes(1 << 20)[: os.statvfs(small_disk).f_bavail * 4096]
        )
        print("x" * 10_000)
    with pytest.raises(SystemExit), stage_log(small_disk / "b.log"):
        print("x" * 10_000)
        raise InputError("what was wrong")
    assert "error: what was wrong" in capsys.readouterr().err
    assert not (small_disk / "a.cost.tsv").exists()


def test_importing_the_stages_is_quick():
    # Every job is a new process: what all scripts import must not load the heavy libraries.
    modules = "fewfold.pipeline.stages, fewfold.pipeline.artifacts, fewfold.methods.registry"
    code = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "faiss",
        "ortools",
        "numba",
        "matplotlib",
        "sklearn",
        "snakemake",
        "pandas",
    }


@pytest.mark.parametrize(
    "text", ["", "s\tcpu_s\tmax_rss_mb\n", "s\tcpu_s\tmax_rss_mb\n1\t1\tnan\n", "\0\0", "a\n1\n"]
)
def test_a_cost_file_of_a_killed_job_is_left_out_of_the_report(tmp_path, text):
    from fewfold.report.gather import stage_costs

    (tmp_path / "fetch_dataset.cost.tsv").write_text(text)
    (tmp_path / "draw_map.cost.tsv").write_text("s\tcpu_s\tmax_rss_mb\n2\t1\t90\n")
    assert [list(c.values()) for c in stage_costs(tmp_path)] == [
        ["draw_map", "all", 2.0, 90.0, 50.0]
    ]


def test_a_report_refuses_labels_of_other_rows(tmp_path):
    from fewfold.pipeline.artifacts import writing
    from fewfold.report.gather import gather

    files = {name: tmp_path / f"{name}.h5" for name in ("features", "labels")}
    with writing(files["features"], "prepare_features") as out:
        out.add("X", np.ones((4, 2)))
    with writing(files["labels"], "prepare_labels") as out:
        out.add("y", np.array([0, 1, 0]))
        out.add("classes", ["a", "b"])
        out.note("task", "classification")
    with pytest.raises(ArtifactError, match="labels is about 3 rows, the features have 4"):
        gather({}, {"d": files | {"predictions": {}}}, {})
