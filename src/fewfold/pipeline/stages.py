"""What every stage script shares: its log, its progress lines, its errors."""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import time
import traceback
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

from fewfold.exceptions import FewfoldError
from fewfold.pipeline.layout import cost_files
from fewfold.system.plain_text import printable


@contextmanager
def stage_log(path):
    """Send prints and warnings of a stage to its log; show errors as one clear sentence.

    What the stage took (seconds, CPU seconds, peak memory) is written beside the log, with
    the ending ``.cost.tsv``. Snakemake's own benchmark files cannot be combined with its cache
    between runs; and these give the true peak, not that of samples.

    A `FewfoldError` goes to the log and to the terminal as its message only; any other
    exception goes to both with its traceback. Either way the job fails, and a note beside the
    log (see `error_note`) says so to whoever started the run.
    """
    path = Path(path)
    # Snakemake hands a job's threads to BLAS this way; compiled loops should keep to them too.
    if "OMP_NUM_THREADS" in os.environ:
        os.environ.setdefault("NUMBA_NUM_THREADS", os.environ["OMP_NUM_THREADS"])
    terminal, plain = sys.stderr, sys.stdout
    with _open_log(path) as log:
        sys.stderr = sys.stdout = log
        warnings.showwarning = _show_warning
        start = time.perf_counter()
        if "SLURMD_NODENAME" in os.environ:
            print(f"on {os.environ['SLURMD_NODENAME']}")
        try:
            yield
            seconds = time.perf_counter() - start
            _write_cost(path.with_suffix(".cost.tsv"), seconds)
            print(f"done in {seconds:.1f} s")
        except FewfoldError as error:
            for stream in (terminal, log):
                print(f"error: {printable(str(error))}", file=stream, flush=True)
            _write_note(error_note(path), error)
            raise SystemExit(1) from error
        except BaseException:
            traceback.print_exc(file=log)
            raise
        finally:
            sys.stderr, sys.stdout = terminal, plain


def import_scikit_learn():
    """Import scikit-learn without pandas, which it looks for: 0.3 s of each job that trains.

    Stages hand arrays to estimators, never frames.
    """
    if not {"sklearn", "pandas"} & set(sys.modules):
        sys.modules["pandas"] = None  # what Python itself takes for "not there"
        try:
            import sklearn.base  # noqa: F401
        finally:
            del sys.modules["pandas"]


class _Log(io.TextIOWrapper):
    """A log that loses lines on a full disk: what the stage itself writes says that it is full."""

    def write(self, text):
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self):
        with suppress(OSError):
            super().flush()

    def close(self):
        with suppress(OSError):
            super().close()


def _open_log(path):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        error_note(path).unlink(missing_ok=True)
        return _Log(open(path, "wb"), encoding="utf-8", line_buffering=True)
    except OSError as error:
        print(f"error: Could not write the log {path}: {error.strerror}. Check free space and "
              "permissions of the folder, then run again.", file=sys.stderr)  # fmt: skip
        raise SystemExit(1) from error


def error_note(log) -> Path:
    """Return the path of the note that a failed stage leaves beside its log.

    It is JSON: ``error``, the message; ``damaged``, the path of a stage file that cannot be used,
    or null.
    """
    return Path(log).with_suffix(".error.json")


def _write_note(path, error):
    damaged = getattr(error, "damaged", None)
    found = {"error": str(error), "damaged": None if damaged is None else str(damaged)}
    with suppress(OSError):  # the disk may be full: the message has been shown all the same
        path.write_text(json.dumps(found), encoding="utf-8")


def read_notes(folder) -> list[dict]:
    """Return the notes of failed stages below a folder of logs; what cannot be read is left out."""
    found = []
    for path in sorted(Path(folder).rglob("*.error.json")):
        with suppress(OSError, ValueError):
            note = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(note, dict) and isinstance(note.get("error"), str):
                found.append(note)
    return found


def _write_cost(path, seconds):
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = _peak_memory_mb()
    values = {
        "s": round(seconds, 3),
        "cpu_s": round(used.ru_utime + used.ru_stime, 3),
        "max_rss_mb": round(peak if peak else used.ru_maxrss / 1024, 1),
    }
    try:
        path.write_text("\t".join(values) + "\n" + "\t".join(map(str, values.values())) + "\n")
    except OSError:  # the stage's own file is there: a full disk may keep what it took from us
        path.unlink(missing_ok=True)


def read_cost(path) -> dict[str, float] | None:
    """Return what a stage took (``s``, ``cpu_s``, ``max_rss_mb``); None if the file does not say.

    A job killed while it wrote the file leaves it empty: the report goes without it.
    """
    with suppress(OSError, ValueError):
        names, values, *_ = Path(path).read_text(encoding="utf-8").splitlines()
        cost = dict(zip(names.split("\t"), map(float, values.split("\t")), strict=True))
        if set(cost) == {"s", "cpu_s", "max_rss_mb"} and all(0 <= v < 1e12 for v in cost.values()):
            return cost
    return None


def read_costs(logs) -> list[dict]:
    """List what each job of a run took: dataset, rule, target, s, cpu_s, max_rss_mb."""
    return [
        {"dataset": file.dataset, "rule": file.stage, "target": file.target, **cost}
        for file in cost_files(logs)
        if (cost := read_cost(file.path))
    ]


def _peak_memory_mb():
    """Peak of this process. (ru_maxrss would start from the parent's, through fork and exec.)"""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def _show_warning(message, category, filename, lineno, file=None, line=None):
    print(f"{category.__name__}: {message}", file=sys.stderr)


class Progress:
    """Prints how far a long step is, and the time left, every few seconds.

    Parameters
    ----------
    total : int
    what : str
        "rows", "tiles", ...
    every_s : float

    Examples
    --------
    >>> progress = Progress(10, "rows", every_s=0)
    >>> progress(5)  # doctest: +ELLIPSIS
    5 of 10 rows (50 %), ... left
    """

    def __init__(self, total: int, what: str = "rows", every_s: float = 5.0):
        self.total, self.what, self.every_s = total, what, every_s
        self.done, self.start = 0, time.perf_counter()
        self._last = self.start

    def __call__(self, count: int) -> None:
        """Count finished items; print when it is time to."""
        self.done += count
        now = time.perf_counter()
        if now - self._last < self.every_s and self.done < self.total:
            return
        if now - self.start < self.every_s:
            return  # nothing longer than a few seconds needs a progress line
        self._last = now
        left = (now - self.start) * (self.total - self.done) / max(1, self.done)
        share = 100 * self.done // max(1, self.total)
        print(f"{self.done} of {self.total} {self.what} ({share} %), {left:.0f} s left", flush=True)
