"""What every stage script shares: its log, its progress lines, its way to fail."""

from __future__ import annotations

import os
import resource
import sys
import time
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

from fewfold.exceptions import FewfoldError


@contextmanager
def stage_log(path):
    """Send prints and warnings of a stage to its log; show errors as one clear sentence.

    What the stage took (seconds, CPU seconds, peak memory) is written beside the log, with
    the ending ``.cost.tsv``. Snakemake's own benchmark files cannot be combined with its cache
    between runs; and these give the true peak, not that of samples.

    A `FewfoldError` goes to the log and to the terminal as its message only; any other
    exception goes to both with its traceback. Either way the job fails.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Snakemake hands a job's threads to BLAS this way; compiled loops should keep to them too.
    if "OMP_NUM_THREADS" in os.environ:
        os.environ.setdefault("NUMBA_NUM_THREADS", os.environ["OMP_NUM_THREADS"])
    terminal, plain = sys.stderr, sys.stdout
    with open(path, "w", encoding="utf-8", buffering=1) as log:
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
            for stream in (log, terminal):
                print(f"error: {error}", file=stream, flush=True)
            raise SystemExit(1) from error
        except BaseException:
            traceback.print_exc(file=log)
            raise
        finally:
            sys.stderr, sys.stdout = terminal, plain


def _write_cost(path, seconds):
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = _peak_memory_mb()
    values = {
        "s": round(seconds, 3),
        "cpu_s": round(used.ru_utime + used.ru_stime, 3),
        "max_rss_mb": round(peak if peak else used.ru_maxrss / 1024, 1),
    }
    path.write_text("\t".join(values) + "\n" + "\t".join(map(str, values.values())) + "\n")


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
