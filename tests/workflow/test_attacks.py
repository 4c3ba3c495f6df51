"""The eleven attacks of docs/notes/faults.md, by the command line only: any version can be tried.

    FEWFOLD_CODE=../old python -m pytest tests/workflow/test_attacks.py

runs them on another checkout, where they say what it does wrong. Here they hold.
"""

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import psutil
import pytest
import yaml

from _mounting import mounted
from _project import PARTS, ROOT

CODE = Path(os.environ.get("FEWFOLD_CODE", ROOT)).resolve()
TESTS = Path(__file__).resolve().parents[1]
MEMORY = 8 << 30
RESEAL = """
import json, sys, types
try:
    import fewfold.pipeline.artifacts
except ImportError:  # where it was in older versions
    import fewfold.artifacts
    sys.modules["fewfold.pipeline"] = types.SimpleNamespace(artifacts=fewfold.artifacts)
from _resealed import change_file
import numpy as np
path, notes, arrays = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
change_file(path, notes=notes, arrays={k: np.array(v, np.float32) for k, v in arrays.items()})
"""


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SNAKEMAKE", "PYTEST"))}
    path = os.pathsep.join([str(CODE / "src"), str(TESTS)])
    return clean | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"} | more


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def start(*words, cwd, prepare=None, **more):
    program = () if words[0] == "-c" else ("-m", "fewfold.cli")
    return subprocess.Popen(
        [sys.executable, *program, *map(str, words)], cwd=cwd, text=True,
        env=environment(**more), preexec_fn=prepare, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def fewfold(*words, cwd, **more):
    process = start(*words, cwd=cwd, **more)
    said, _ = process.communicate(timeout=900)
    return subprocess.CompletedProcess(words, process.returncode, said)


def refused(done):
    """Exit code 1 and one message, nothing else: no traceback, nobody else's error text."""
    assert "Traceback" not in done.stdout, done.stdout[-1500:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert done.returncode == 1 and len(lines) == 1, (done.returncode, done.stdout[-1500:])
    return lines[0]


def label(table, out, cwd, *words, method="knn", **more):
    return fewfold("label", table, "--target", "kind", "--ids", "id", "--methods", method,
                   "--out", out, *words, cwd=cwd, **more)  # fmt: skip


def write_table(path, names="ab", n=40, first_id="r0"):
    rng = np.random.default_rng(0)
    rows = [
        f"r{i},{rng.normal() + 6 * (i % 2):.3f},{rng.normal():.3f},{names[i % 2] if i < 20 else ''}"
        for i in range(n)
    ]
    rows[0] = first_id + rows[0][2:]
    path.write_text("id,x,y,kind\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A finished `fewfold label`."""
    folder = tmp_path_factory.mktemp("attacks")
    done = label(write_table(folder / "my.csv"), "answer", folder, method="diffusion")
    assert done.returncode == 0, done.stdout
    return folder / "answer"


@pytest.fixture
def model(answered, tmp_path):
    """A model file of one's own, and new rows beside it."""
    write_table(tmp_path / "new.csv")
    return Path(shutil.copy(answered / "model.h5", tmp_path / "model.h5"))


def reseal(path, notes=None, arrays=None):
    """Change a file and compute its digests and seal as the code itself would."""
    words = [sys.executable, "-c", RESEAL, path, json.dumps(notes or {}), json.dumps(arrays or {})]
    subprocess.run(words, env=environment(), check=True)


def notes_of(path):
    with h5py.File(path) as file:
        named = {k.removeprefix("note:"): file.attrs[k] for k in file.attrs if "note:" in k}
    return {key: json.loads(text) for key, text in named.items()}


def planted(value, key, text):
    """Put a text wherever a key stands in a note."""
    if isinstance(value, list):
        return [planted(item, key, text) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: text if k == key else planted(v, key, text) for k, v in value.items()}


@pytest.mark.slow
def test_point_1_a_model_file_runs_no_code(model, tmp_path):
    trace = tmp_path / "was-imported"
    (tmp_path / "canary_module.py").write_text(f"open({str(trace)!r}, 'w')\n")
    notes = notes_of(model)
    assert "metric" in json.dumps(notes)
    reseal(model, notes=planted(notes, "metric", "canary_module:distance"))
    path = environment()["PYTHONPATH"] + os.pathsep + str(tmp_path)
    done = fewfold("predict", model, "new.csv", cwd=tmp_path, PYTHONPATH=path)
    assert not trace.exists(), "the module that the model file names was imported"
    refused(done)


@pytest.mark.slow
def test_point_2_a_refused_label_leaves_the_running_one_alone(tmp_path):
    write_table(tmp_path / "mine.csv", "ab")
    write_table(tmp_path / "other.csv", "ba")  # the opposite
    first = start("label", "mine.csv", "--target", "kind", "--ids", "id", "--methods", "knn",
                  "--out", "answer", "--cores", "1", cwd=tmp_path)  # fmt: skip
    end = time.monotonic() + 300
    while not list((tmp_path / "answer").glob("input/*.h5")):
        assert first.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    second = label("other.csv", "answer", tmp_path)
    said, _ = first.communicate(timeout=600)
    assert second.returncode == 1 and "is running" in second.stdout
    assert first.returncode == 0, said
    rows = [line.split(",") for line in (tmp_path / "answer/labels.csv").read_text().splitlines()]
    found = dict(zip([r[0] for r in rows], [r[rows[0].index("label")] for r in rows]))
    wrong = sum(found[f"r{i}"] != "ab"[i % 2] for i in range(20))
    assert wrong == 0, f"{wrong} of 20 given labels are those of the refused command"


@pytest.mark.slow
def test_point_3_no_input_is_overwritten(model, tmp_path):
    kept = {}
    for name in ("labels.csv", "n.csv"):
        kept[tmp_path / name] = write_table(tmp_path / name).read_bytes()
    kept[model] = model.read_bytes()
    (tmp_path / "link.csv").symlink_to("n.csv")
    os.link(tmp_path / "n.csv", tmp_path / "same.csv")
    refusals = [
        label("labels.csv", ".", tmp_path),
        fewfold("predict", "model.h5", "n.csv", "--out", "n.csv", cwd=tmp_path),
        fewfold("predict", "model.h5", "n.csv", "--out", "model.h5", cwd=tmp_path),
        fewfold("predict", "model.h5", "n.csv", "--out", "link.csv", cwd=tmp_path),
        fewfold("predict", "model.h5", "link.csv", "--out", "n.csv", cwd=tmp_path),
        fewfold("predict", "model.h5", "n.csv", "--out", "same.csv", cwd=tmp_path),
    ]
    changed = [path.name for path, data in kept.items() if path.read_bytes() != data]
    assert changed == [], f"overwritten: {changed}"
    for done in refusals:
        refused(done)


@pytest.mark.slow
def test_point_4_stale_results_are_not_up_to_date(tmp_path):
    table = write_table(tmp_path / "my.csv", n=20)
    config = {
        "run": {"datasets": ["mine"], "methods": ["knn"], "labels": [4], "trials": 1},
        "datasets": {"mine": {"source": "file", "options": {"path": str(table), "target": "kind"}}},
    }
    text = table.read_text()
    table.write_text("\n".join(line.partition(",")[2] for line in text.splitlines()) + "\n")
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))

    def run():
        return fewfold("run", "--configfile", "c.yaml", "--out", "out", "--cores", "2",
                       cwd=tmp_path)  # fmt: skip

    assert run().returncode == 0
    sound = table.read_text()
    table.write_text(sound.replace("x,y,kind\n", "x,y,kind\ntall,1.0,a\n"))
    for _ in range(2):
        done = run()
        assert "Nothing to do" not in done.stdout, "a failed stage is called up to date"
        assert done.returncode == 1 and "found 'tall'" in done.stdout, done.stdout
    table.write_text(sound.replace("0.", "1."))
    os.utime(table, (1e9, 1e9))
    done = run()
    assert done.returncode == 0 and "Fetching mine" in done.stdout, done.stdout


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_point_5_sigterm_is_heard_though_sigint_was_ignored(tmp_path):
    """The job at work sleeps for an hour; the limit is long because the machine may be loaded."""
    faults = tmp_path / "faults"
    faults.mkdir()
    (faults / "fetch_dataset").write_text("sleep 3600")
    path = os.pathsep.join([str(TESTS / "faults/inject"), environment()["PYTHONPATH"]])
    process = start(
        "run", "--configfile", TESTS / "faults/nth_write.yaml", "--out", "out", "--cores", "1",
        cwd=tmp_path, prepare=ignore_interrupts, PYTHONPATH=path, FEWFOLD_FAULTS=str(faults),
    )  # fmt: skip
    end = time.monotonic() + 120
    while not list(faults.glob("*.taken")):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    family = psutil.Process(process.pid).children(recursive=True)
    began = time.monotonic()
    process.terminate()
    try:
        said, _ = process.communicate(timeout=60)
        print(f"stopped after {time.monotonic() - began:.1f} s")
        alive = [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        # 1 on the code before, which had no number of its own for it
        assert process.returncode in (1, 130) and "Stopped." in said
        assert alive == [], "processes of the run are still at work"
    except subprocess.TimeoutExpired:
        pytest.fail("SIGTERM was not heard: the run was still at work after 60 s")
    finally:
        if psutil.pid_exists(process.pid) or any(p.is_running() for p in family):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def read_only_code(tmp_path):
    """A copy whose folders take no compiled code: __pycache__ is a file. (Root may write all.)"""
    (tmp_path / "code").mkdir()
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info", ".snakemake")
    for part in PARTS:
        if (CODE / part).is_dir():
            shutil.copytree(CODE / part, tmp_path / "code" / part, ignore=leave)
        else:
            shutil.copy(CODE / part, tmp_path / "code" / part)
    for folder in [*(tmp_path / "code/src").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    return tmp_path / "code"


@pytest.mark.slow
def test_point_6_label_works_without_a_home(read_only_code, tmp_path):
    write_table(tmp_path / "my.csv")
    (tmp_path / "tmp").mkdir()
    more = {"HOME": "/dev/null/home", "TMPDIR": str(tmp_path / "tmp"),
            "PYTHONPATH": str(read_only_code / "src"), "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": "", "MPLCONFIGDIR": ""}  # fmt: skip
    done = label("my.csv", "answer", tmp_path, **more)
    assert "Traceback" not in done.stdout, done.stdout[-1500:]
    assert done.returncode == 0 and (tmp_path / "answer/labels.csv").exists(), done.stdout
    assert "caches" in fewfold("doctor", cwd=tmp_path, **more).stdout


CELLS = {"4e38": "4e38", "1e308": "1e308", "NUL in a class": "a\0b", "5000 digits": "9" * 5000}


@pytest.mark.parametrize("name", CELLS)
def test_point_7_bad_cells(tmp_path, name):
    lines = write_table(tmp_path / "my.csv").read_text().splitlines()
    cells = lines[3].split(",")
    cells[3 if "class" in name else 1] = CELLS[name]
    (tmp_path / "my.csv").write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]) + "\n")
    refused(label("my.csv", "answer", tmp_path))


def test_point_7_bad_places_and_arrays(tmp_path):
    write_table(tmp_path / "my.csv")
    (tmp_path / "taken").write_text("mine")
    refused(label("my.csv", "taken", tmp_path))
    assert (tmp_path / "taken").read_text() == "mine"
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((1, 3)))
    raw = buffer.getvalue().replace(b"(1, 3), }   ", b"(True, 3), }")
    assert b"True" in raw
    (tmp_path / "a.npy").write_bytes(raw)
    refused(fewfold("label", "a.npy", "--classes", "2", cwd=tmp_path))


CONFIGS = {
    "infinite": "run: {labels: [.inf]}",
    "not a number": "run: {labels: [.nan]}",
    "a number as key": "datasets: {3: {source: iris}}",
    "5000 digits": f"run: {{trials: {'9' * 5000}}}",
    "deep": "run: " + "[" * 3000 + "]" * 3000,
}


@pytest.mark.parametrize("name", CONFIGS)
def test_point_7_bad_configs(tmp_path, name):
    (tmp_path / "c.yaml").write_text(CONFIGS[name] + "\n")
    message = refused(fewfold("run", "--configfile", "c.yaml", "--out", "out", cwd=tmp_path))
    assert "The run did not finish" not in message, message  # nothing was started


@pytest.mark.slow
def test_point_7_braces_in_the_names_of_a_file_and_its_folder(tmp_path):
    folder = tmp_path / "a {dataset} {0}"
    folder.mkdir()
    write_table(folder / "my {x}.csv")
    done = label(folder / "my {x}.csv", "answer", tmp_path)
    assert done.returncode == 0, done.stdout[-1500:]
    message = refused(label(folder / "my {x}.csv", "{0}", tmp_path))
    assert "{0}" in message and "brace" in message


@pytest.mark.slow
def test_point_8_contents_of_a_model_file_are_checked(model, tmp_path):
    with h5py.File(model) as file:
        names = [k for k in file if isinstance(file[k], h5py.Dataset) and file[k].dtype.kind == "f"]
        arrays = {k: file[k][()] for k in names if file[k].size}
    sound, accepted = model.read_bytes(), []
    for name, values in arrays.items():
        bad = values.astype(np.float32)
        bad.flat[0] = np.nan
        reseal(model, arrays={name: np.where(np.isnan(bad), None, bad).tolist()})
        done = fewfold("predict", "model.h5", "new.csv", cwd=tmp_path)
        accepted += [name] * (done.returncode == 0)
        model.write_bytes(sound)
    assert names and accepted == [], f"labels were given with a NaN in {accepted}"
    for key in sorted({"columns", "classes", "graph"} & set(notes_of(model))):
        reseal(model, notes={key: 3})
        refused(fewfold("predict", "model.h5", "new.csv", cwd=tmp_path))
        model.write_bytes(sound)


READ = """
import sys
from pathlib import Path
from fewfold.datasets.arrays import read_mtx
from fewfold.exceptions import FewfoldError
try:
    read_mtx(Path(sys.argv[1]))
except FewfoldError as error:
    sys.exit(print(f"error: {error}") or 1)
"""


def matrix_market(path):
    """By its reader: commands compare it with a file of labels first, which must be as long."""
    path.write_text("%%MatrixMarket matrix coordinate real general\n400000000 2 1\n1 1 1.0\n")
    return "-c", READ, path


def parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), ["x" * 50_000])
    pq.write_table(pa.table({"a": np.arange(100_000.0), "b": text}), path)
    return "label", path.name, "--classes", "2"


def hdf5(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (200_000, 4000), "f8", chunks=(1000, 1000), compression=1)
        file["y"] = np.zeros(200_000)
    return "label", path.name, "--target", "y"


BOMBS = {"bomb.mtx": matrix_market, "bomb.parquet": parquet, "bomb.h5": hdf5}


@pytest.mark.parametrize("name", BOMBS)
def test_point_9_memory_bombs(tmp_path, name):
    path = tmp_path / name
    process = start(*BOMBS[name](path), cwd=tmp_path, prepare=limited)
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss / 2**20
    assert peak < 1, f"{path.stat().st_size / 1e6:.2f} MB took {peak:.1f} GiB: {said[-300:]}"
    refused(subprocess.CompletedProcess((), process.returncode, said))


def test_point_10_swapped_arguments(model, tmp_path):
    message = refused(fewfold("predict", "new.csv", "model.h5", cwd=tmp_path))
    assert "elete" not in message, message
    assert "model first" in message


def test_point_11_names_in_a_model_file_do_not_steer_the_terminal(model, tmp_path):
    reseal(model, notes={"method": "\x1b[2Jyour disk is empty"})
    done = fewfold("predict", "model.h5", "new.csv", cwd=tmp_path)
    assert "\x1b[2J" not in done.stdout


@pytest.mark.slow
def test_point_11_formulas_are_guarded(tmp_path):
    write_table(tmp_path / "my.csv", first_id="=1+0")
    done = label("my.csv", "answer", tmp_path, "--spreadsheet-safe")
    assert done.returncode == 0, done.stdout[-1500:]
    assert "\n'=1+0," in (tmp_path / "answer/labels.csv").read_text()


@pytest.mark.slow
def test_point_11_equal_runs_give_equal_model_files(answered, tmp_path):
    write_table(tmp_path / "my.csv")
    assert label("my.csv", "answer", tmp_path, method="diffusion").returncode == 0
    same = (tmp_path / "answer/model.h5").read_bytes() == (answered / "model.h5").read_bytes()
    assert same, "the same table gave another model file"


@pytest.mark.slow
def test_point_11_a_full_disk_that_holds_the_logs(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted("-t", "tmpfs", "-o", "size=80k", "tmpfs", disk, needs="a small disk")
    try:
        done = fewfold("run", "--configfile", TESTS / "faults/nth_write.yaml", "--out", disk / "o",
                       "--cores", "1", cwd=tmp_path)  # fmt: skip
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
    assert done.returncode == 1 and "No space left on device" in done.stdout.splitlines()[-1]
    for words in ("Errno", "synchronously", "time =", "OSError", "Traceback"):
        assert words not in done.stdout
