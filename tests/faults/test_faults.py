"""Whatever happens to a run, the same command finishes it, with the same tables."""

import os
import signal
import subprocess
import time

import h5py
import pytest

STAGES = [
    "fetch_dataset", "prepare_features", "prepare_labels", "draw_splits", "search_neighbors",
    "build_graph", "extend_graph", "fit_manifold", "compute_kernel_tile", "join_kernel",
    "train_method", "evaluate_method", "collect_metrics", "draw_map", "make_report",
]  # fmt: skip


def test_workers_killed_in_every_stage(sandbox, undisturbed):
    """Each stage loses a job to kill -9, at once or just before its output gets its name."""
    for number, stage in enumerate(STAGES):
        sandbox.fault(stage, "kill 0" if number % 2 else "kill-at-rename")
    runs = 0
    for _ in range(len(STAGES) + 2):
        done = sandbox.run()
        runs += 1
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stdout
    assert runs > 1
    assert sandbox.unused_faults == []
    assert sandbox.tables() == undisturbed.tables()
    assert sandbox.leftovers() == []


def test_snakemake_itself_killed(sandbox, undisturbed):
    process = sandbox.start()
    deadline = time.monotonic() + 300
    while not list((sandbox.folder / "results").glob("*/features.h5")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = sandbox.run()
    assert done.returncode == 0, done.stdout
    assert "was killed; going on where it stopped" in done.stdout
    assert sandbox.tables() == undisturbed.tables()


def test_interrupted_by_a_person(sandbox, undisturbed):
    process = sandbox.start()
    while not list((sandbox.folder / "results").glob("*/labels.h5")):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert "the same command goes on from here" in said
    assert "Traceback" not in said
    done = sandbox.run()
    assert done.returncode == 0, done.stdout
    assert sandbox.tables() == undisturbed.tables()


def test_two_runs_at_once(sandbox):
    first = sandbox.start()
    while not (sandbox.folder / ".snakemake/fewfold.lock").exists():
        time.sleep(0.1)
    time.sleep(1)
    second = sandbox.run(timeout=60)
    os.killpg(first.pid, signal.SIGINT)
    first.communicate(timeout=120)
    assert second.returncode == 1
    assert "is at work in" in second.stdout
    assert "Traceback" not in second.stdout


def damaged(path, how):
    data = bytearray(path.read_bytes())
    if how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "flipped":
        with h5py.File(path) as file:
            name = "X" if "X" in file else "order" if "order" in file else "y"
            offset = file[name].id.get_offset()
        data[offset + 5] ^= 16
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["truncated", "flipped"])
@pytest.mark.parametrize("name", ["features.h5", "splits.h5"])
def test_damaged_file_is_named_and_made_anew(finished, undisturbed, name, how):
    path = finished.folder / "results/tiny" / name
    times = path.stat()
    damaged(path, how)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # silent damage, not a new file
    batch = next((finished.folder / "results/tiny/methods/knn").glob("trials_*.h5"))
    batch.unlink()
    failed = finished.run()
    assert failed.returncode == 1
    assert str(path.name) in failed.stdout
    assert "Delete it and run again" in failed.stdout
    path.unlink()
    done = finished.run()
    assert done.returncode == 0, done.stdout
    assert finished.tables() == undisturbed.tables()


def test_file_of_another_stage_or_format(finished, undisturbed):
    base = finished.folder / "results/tiny"
    os.replace(base / "labels.h5", base / "features.h5")
    failed = finished.run()
    assert "is a file of stage 'prepare_labels', expected was 'prepare_features'" in failed.stdout
    (base / "features.h5").unlink()
    done = finished.run()
    assert done.returncode == 0, done.stdout
    with h5py.File(base / "splits.h5", "r+") as file:
        file.attrs["format_version"] = 0
    failed = finished.run()
    assert "has format version 0, this fewfold reads" in failed.stdout
    (base / "splits.h5").unlink()
    done = finished.run()
    assert done.returncode == 0, done.stdout
    assert finished.tables() == undisturbed.tables()


def test_full_disk_during_a_kernel_write(sandbox, undisturbed, tmp_path):
    """Kernel tiles go to a file system with room for nothing."""
    small = sandbox.folder / "results/tiny/kernels"
    small.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        failed = sandbox.run()
        assert failed.returncode == 1
        assert "No space left on device" in failed.stdout
        assert "Nothing was left half-written" in failed.stdout
        assert list(small.rglob("*.h5")) == list(small.rglob("*.part")) == []
        assert (sandbox.folder / "results/tiny/methods/knn/metrics.csv").exists()
    finally:
        subprocess.run(["umount", small], check=True)
    done = sandbox.run()
    assert done.returncode == 0, done.stdout
    assert sandbox.tables() == undisturbed.tables()


def test_read_only_results(finished):
    mounted = subprocess.run(
        ["mount", "--bind", finished.folder, finished.folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a read-only mount is not permitted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", finished.folder], check=True)
        failed = finished.run()
        assert failed.returncode == 1
        assert "Cannot write into" in failed.stdout
        assert "Traceback" not in failed.stdout
    finally:
        subprocess.run(["umount", finished.folder], check=True)


def test_cache_between_runs(sandbox, undisturbed, tmp_path, monkeypatch):
    """A second folder takes the expensive stages from the cache."""
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    assert sandbox.run().returncode == 0
    other = type(sandbox)(tmp_path / "other")
    done = other.run()
    assert done.returncode == 0, done.stdout
    assert other.tables() == undisturbed.tables() == sandbox.tables()
    logs = {p.name.split("_cost")[0] for p in (other.folder / "logs").rglob("*.cost.tsv")}
    assert not any(
        n.startswith(("train_method", "search_neighbors", "compute_kernel")) for n in logs
    )
