"""Structure-aware fuzz: change what files say, seal them again, and use them.

    make fuzz        (python tests/fuzz_contents.py --cases 5000)

Every kind of stage file, model file, table and config. A case ends in an answer for which all
invariants hold ("used"), in a FewfoldError ("refused"), or it failed. Cases run in processes with
limits on memory (RLIMIT_AS) and CPU time; what fails is printed with the kind and case that make it
again: python tests/fuzz_contents.py --only KIND --case N.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "unit")]

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import psutil  # noqa: E402

from _fuzz_stages import STAGES, make_stage_files, use  # noqa: E402
from _fuzz_tables import FORMATS, make_table_files, use_table, write_changed  # noqa: E402
from _mutations import mutate_array, mutate_json  # noqa: E402
from _resealed import change_file  # noqa: E402

# A fork of a process with compiled threads may hang.
SPAWN = multiprocessing.get_context("spawn")
MEMORY = 6 << 30
CPU_SECONDS, SECONDS = 60, 900  # of one case; the machine may have other work to do
BATCH = 250
# By the members of the model; what some share is changed for all of them.
MODELS = {
    "model diffusion": ("diffusion", "eigenbasis", "metric_svm"),
    "model trees": ("extra_trees", "knn"),
    "model kernels": ("clusters_2", "logistic_1", "low_density", "rbf_tsvm"),
}
KINDS = (*STAGES, *MODELS, *FORMATS)


def make_files(folder):
    """Make one sound file of each kind; returns kind -> path."""
    from _labeling_material import saved

    with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
        files = make_stage_files(folder) | make_table_files(folder)
    return files | {kind: saved(folder, names, n=90)[2] for kind, names in MODELS.items()}


def use_file(kind, path, files):
    """Use a file as the program does."""
    if kind in FORMATS:
        use_table(kind, path)
    elif kind in STAGES:
        with open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
            use(kind, path, files)
    else:
        _use_model(path)


def _use_model(path):
    from fewfold.labeling.model_file import Model

    model = Model.load(path)
    said = model.predict(np.zeros((3, model.n_features), np.float32))
    assert len(said["label"]) == 3
    if model.task == "classification":
        assert np.isfinite(said["confidence"]).all()
        assert (said["label"] < len(model.classes)).all()


def mutate(kind, source, target, rng):
    """Write a changed copy of a file; digests and seal fit the new contents."""
    if kind in FORMATS:
        write_changed(kind, source, target, rng)
        return
    shutil.copy(source, target)
    for _ in range(rng.choice([1, 1, 1, 2])):
        _mutate_stage_file(target, rng)


def _mutate_stage_file(target, rng):
    import json

    with h5py.File(target) as file:
        notes = sorted(key for key in file.attrs if key.startswith("note:"))
        settings = json.loads(file.attrs["settings"])
        arrays = []
        file.visititems(lambda n, v: arrays.append(n) if isinstance(v, h5py.Dataset) else None)
        choice = rng.random()
        if choice < 0.4 and notes:
            name = rng.choice(notes)
            value = mutate_json(json.loads(file.attrs[name]), rng)
            changes = {"notes": {name.removeprefix("note:"): value}}
        elif choice < 0.45:
            changes = {"settings": mutate_json(settings, rng)}
        elif choice < 0.55 or not arrays:
            changes = {"remove": [rng.choice([*arrays, *notes])]}
        else:
            name = rng.choice(arrays)
            value = file[name][()]
            if "count" in file[name].attrs:
                value = value.tobytes().decode().split("\0")
            changes = {"arrays": {name: mutate_array(value, rng)}}
    change_file(target, **changes)


def run_case(files, kind, seed, case, folder):
    """Return the outcome of one case and words about it."""
    from fewfold.exceptions import FewfoldError

    rng = random.Random(f"{kind}/{seed}/{case}")
    target = folder / f"case-{os.getpid()}-{case}{files[kind].suffix}"
    mutate(kind, files[kind], target, rng)
    try:
        use_file(kind, target, files)
    except FewfoldError as error:
        return ("refused", str(error)) if len(str(error)) > 20 else ("FAILED", f"short: {error}")
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})"
        return "FAILED", words
    return "used", ""


def run_batch(folder, files, kind, seed, first, last, results):
    """Run some cases of one kind within limits."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    for case in range(first, last):
        results.put((case, "began", ""))
        results.put((case, *run_case(files, kind, seed, case, folder)))


def cpu_seconds(process):
    """CPU time that a process has taken so far; 0 for one that has ended."""
    with contextlib.suppress(psutil.Error):
        return sum(psutil.Process(process.pid).cpu_times()[:2])
    return 0.0


def run_kind(folder, files, kind, seed, cases):
    """Run all cases of a kind; a batch that dies or hangs fails its case, and the rest resumes."""
    outcomes, faults, case = Counter(), [], 0
    while case < cases:
        results = SPAWN.SimpleQueue()
        last = min(case + BATCH, cases)
        batch = SPAWN.Process(
            target=run_batch, args=(folder, files, kind, seed, case, last, results)
        )
        batch.start()
        current, since, used = case, time.monotonic(), 0.0
        while batch.is_alive() or not results.empty():
            if results.empty():
                now = cpu_seconds(batch)
                if now - used > CPU_SECONDS or time.monotonic() - since > SECONDS:
                    batch.kill()
                time.sleep(0.02)
                continue
            current, outcome, words = results.get()
            since, used = time.monotonic(), cpu_seconds(batch)
            if outcome != "began":
                outcomes[outcome] += 1
                case = current + 1
                if outcome == "FAILED":
                    faults.append((kind, current, words))
        batch.join()
        if batch.exitcode:
            outcomes["FAILED"] += 1
            faults.append((kind, current, f"ended by signal or limit ({batch.exitcode})"))
            case = current + 1
    return outcomes, faults


def fuzz(cases, seed=0, only=None, echo=lambda text: print(text, flush=True), jobs=1):
    """Run about ``cases`` cases over all kinds; returns counts by kind, and what failed."""
    chosen = [kind for kind in KINDS if only is None or kind == only]
    counts, faults = {}, []
    with tempfile.TemporaryDirectory() as name:
        files = make_files(Path(name))
        each = -(-cases // len(chosen))

        def run(kind):
            # A folder for each: stages that use a file write beside it.
            folder = Path(name) / f"of {kind}"
            folder.mkdir()
            counts[kind], found = run_kind(folder, files, kind, seed, each)
            faults.extend(found)
            numbers = (f"{counts[kind][o]:5} {o}" for o in ("used", "refused", "FAILED"))
            echo(f"{kind:16}{', '.join(numbers)}")

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(run, chosen))
    total = sum((Counter(c) for c in counts.values()), Counter())
    echo(f"{sum(total.values())} cases of {len(chosen)} kinds, seed {seed}: "
         f"{total['used']} used, {total['refused']} refused, {total['FAILED']} failed")  # fmt: skip
    for kind, case, words in faults[:100]:
        echo(f"  {kind}, case {case}: {words}")
    return counts, faults


def run_one(kind, seed, case):
    """Run one case in this process, to see its traceback."""
    with tempfile.TemporaryDirectory() as name:
        files = make_files(Path(name))
        target = Path(name) / f"case{files[kind].suffix}"
        mutate(kind, files[kind], target, random.Random(f"{kind}/{seed}/{case}"))
        use_file(kind, target, files)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--case", type=int)
    given = parser.parse_args()
    if given.case is not None:
        run_one(given.only, given.seed, given.case)
    else:
        found = fuzz(given.cases, given.seed, given.only, jobs=os.cpu_count() or 1)
        sys.exit(bool(found[1]))
