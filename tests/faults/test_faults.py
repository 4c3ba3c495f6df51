"""Whatever happens to a run, the same command finishes it, with the same tables."""

import os
import shutil
import signal
import subprocess

import h5py
import psutil
import pytest

from _mounting import mounted

STAGES = [
    "fetch_dataset", "prepare_features", "prepare_labels", "search_neighbors",
    "build_graph", "extend_graph", "fit_manifold", "encode_points", "compute_kernel_tile",
    "join_kernel", "make_copies", "train_method", "collect_metrics", "draw_map", "make_report",
]  # fmt: skip


def test_every_stage_is_in_the_list(undisturbed):
    ran = {p.name.split(".")[0] for p in (undisturbed.folder / "logs").rglob("*.cost.tsv")}
    for stage in STAGES:
        assert any(name.startswith(stage) for name in ran), stage
    assert all(name.startswith(tuple(STAGES)) for name in ran), ran


def test_workers_killed_in_every_stage(sandbox, undisturbed):
    """Each stage loses a job to kill -9, at its start or just before its output gets its name."""
    for number, stage in enumerate(STAGES):
        sandbox.fault(stage, "kill" if number % 2 else "kill-at-rename")
    runs = 0
    while sandbox.died != set(STAGES):
        assert sandbox.run().returncode == 1
        runs += 1
        assert runs <= len(STAGES)
    sandbox.completes()
    assert sandbox.tables() == undisturbed.tables()


def test_snakemake_itself_killed_alone_and_with_everything(sandbox, undisturbed):
    process = sandbox.start()
    sandbox.wait_for("results/tiny/raw.h5", process)
    snakemake = psutil.Process(process.pid).children()[0]
    assert "snakemake" in snakemake.cmdline()
    snakemake.kill()
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 1 and "Traceback" not in said

    process = sandbox.start()
    sandbox.wait_for("results/tiny/graphs/*/neighbors_*.h5", process)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.stdout.readline() == (
        "A run before this one was killed; resuming where it stopped.\n"
    )
    process.wait()

    said = sandbox.completes()
    assert said.splitlines()[0] == "A run before this one was killed; resuming where it stopped."
    assert sandbox.tables() == undisturbed.tables()


def test_interrupted_by_a_person(sandbox, undisturbed):
    process = sandbox.start()
    sandbox.wait_for("results/tiny/labels.h5", process)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert "the same command resumes from here" in said
    assert "Traceback" not in said
    assert "was killed" not in sandbox.completes()
    assert sandbox.tables() == undisturbed.tables()


def ignore_interrupts():
    """As in a child of a script's background job."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_by_a_signal_that_was_inherited_as_ignored(sandbox, undisturbed, number):
    """Only fewfold gets the signal, and the job at work ignores it, for an hour."""
    sandbox.fault("prepare_features", "deaf 3600")
    process = sandbox.start(ignore_interrupts)
    sandbox.wait_for("faults/prepare_features.deaf", process)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 2
    process.send_signal(number)
    said, _ = process.communicate(timeout=300)  # not the hour that the job would take
    assert process.returncode == 130 and "the same command resumes from here" in said
    assert "Traceback" not in said
    assert [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE] == []
    assert "was killed" not in sandbox.completes()
    assert sandbox.tables() == undisturbed.tables()


def test_two_runs_started_at_once(sandbox, undisturbed):
    both = [sandbox.start(), sandbox.start()]
    said = [process.communicate(timeout=600)[0] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 1], said
    loser = said[codes.index(1)]
    assert "is running in" in loser and len(loser.splitlines()) == 1
    assert "Nothing to do" in sandbox.completes()
    assert sandbox.tables() == undisturbed.tables()


def replaced(path, data):
    """Put other bytes into a file without a trace in its times."""
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def truncated(path):
    replaced(path, path.read_bytes()[: path.stat().st_size // 2])


def flipped(path):
    """One wrong bit in the largest array."""
    with h5py.File(path) as file:
        arrays = []
        file.visititems(lambda _, i: arrays.append(i) if isinstance(i, h5py.Dataset) else None)
        largest = max(arrays, key=lambda item: item.nbytes)
        offset = largest.id.get_offset() + largest.nbytes // 2
    data = bytearray(path.read_bytes())
    data[offset] ^= 16
    replaced(path, bytes(data))


def of_another_stage(path):
    replaced(path, path.with_name("labels.h5").read_bytes())


def of_an_older_format(path):
    times = path.stat()
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 0
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CASES = {
    # damage: (file, what reads it and is to be made again, for which method, words of the fault)
    "truncated": (
        truncated, "kernels/rbf/tile_1.h5", "kernels/rbf.h5", "rbf_svm",
        "is not a whole HDF5 file",
    ),
    "flipped": (
        flipped, "manifolds/charts.h5", "manifolds/charts.points.h5", "atlas", "is damaged",
    ),
    "other stage": (
        of_another_stage, "splits.h5", "methods/rbf_svm/trials_0_2.h5", "rbf_svm",
        "is a file of stage 'prepare_labels', expected was 'draw_splits'",
    ),
    "older format": (
        of_an_older_format, "graphs/euclidean.h5", "graphs/euclidean.new.h5", "eigenbasis",
        "has format version 0, this fewfold reads 1",
    ),
}  # fmt: skip


def lost(sandbox, *paths, method):
    """Remove files, and what comes after them up to the tables: else nothing would read on."""
    base = sandbox.folder / "results/tiny"
    for path in paths:
        (base / path).unlink(missing_ok=True)
    shutil.rmtree(base / "methods" / method)
    (sandbox.folder / "results/metrics.csv").unlink()


@pytest.mark.parametrize("name", CASES)
def test_damaged_file_is_named_set_aside_and_made_again(finished, undisturbed, name):
    damage, file, reader, method, words = CASES[name]
    base = finished.folder / "results/tiny"
    lost(finished, reader, method=method)
    damage(base / file)
    failed = finished.run()
    assert failed.returncode == 1, failed.stdout
    assert f"{file} {words}" in failed.stdout
    assert "the same command makes it again" in failed.stdout
    finished.completes()
    assert (base / f"{file}.damaged").exists() and (base / file).exists()
    assert finished.tables() == undisturbed.tables()


def test_full_disk_during_a_kernel_write(sandbox, undisturbed):
    """Kernel tiles go to a disk with room for one of the two."""
    small = sandbox.folder / "results/tiny/kernels"
    small.mkdir(parents=True)
    mounted("-t", "tmpfs", "-o", "size=8k", "tmpfs", small, needs="a small disk")
    try:
        failed = sandbox.run()
        assert failed.returncode == 1
        assert "error: Could not write results/tiny/kernels/rbf/tile_" in failed.stdout
        assert "No space left on device. Nothing was left half-written." in failed.stdout
        assert len(list(small.rglob("*.h5"))) < 2 and not list(small.rglob(".*.part"))
        assert (sandbox.folder / "results/tiny/methods/eigenbasis/trials_0_2.csv").exists()
        subprocess.run(["mount", "-o", "remount,size=16m", small], check=True)  # space is freed
        sandbox.completes()
        assert sandbox.tables() == undisturbed.tables()
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)


def test_read_only_results(finished, undisturbed):
    folder = finished.folder
    (folder / "results/summary.csv").unlink()
    mounted("--bind", folder, folder, needs="a read-only folder")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        failed = finished.run()
        assert failed.returncode == 1
        assert f"--out {folder}: you may not write into this folder" in failed.stdout
        assert len(failed.stdout.splitlines()) == 1
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
    finished.completes()
    assert finished.tables() == undisturbed.tables()


def test_only_the_results_below_are_read_only(finished, undisturbed):
    """The folder of the run can be written to, a dataset's results cannot."""
    base = finished.folder / "results/tiny"
    (base / "methods/eigenbasis/trials_0_2.h5").unlink()
    (base / "methods/eigenbasis/trials_0_2.csv").unlink()
    (finished.folder / "results/metrics.csv").unlink()
    mounted("--bind", base, base, needs="a read-only folder")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", base], check=True)
        failed = finished.run()
        assert failed.returncode == 1
        assert "Read-only file system" in failed.stdout
    finally:
        subprocess.run(["umount", "--lazy", base], check=True)
    finished.completes()
    assert finished.tables() == undisturbed.tables()
