"""Stopping a run: signals are heard whatever was inherited, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress

# Every process of a run inherits this variable, also one whose parent has died.
MARK = "FEWFOLD_RUN"
GRACE_S = 2.5  # for local jobs; what still runs then is killed
CLUSTER_GRACE_S = 30.0  # for Snakemake to cancel jobs on a cluster


def new_mark() -> str:
    """Return a value of `MARK` that no other run has."""
    return f"{os.getpid()}.{time.time_ns()}"


def _interrupt(number, frame):
    raise KeyboardInterrupt


@contextmanager
def heeding_signals():
    """Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP inside, even if they were ignored.

    A shell starts background jobs with SIGINT ignored, and some schedulers do; a child would
    inherit that. Signals that are *handled* go to their default in a child. SIGHUP stays ignored
    where it was: that is what nohup is for. Outside of the main thread nothing can be changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: it was set outside of Python, and cannot be set again from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def unignore_signals() -> None:
    """Let SIGINT and SIGTERM end this process, as they would have in a terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def marked_processes(mark: str) -> list:
    """Return the living processes that carry a run's mark, but this one."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def stop(process: subprocess.Popen, mark: str, grace_s: float = GRACE_S) -> None:
    """Interrupt a run and everything it started; kill what has not ended after a while.

    A second signal while this waits kills at once.
    """
    with suppress(KeyboardInterrupt):
        _send(marked_processes(mark), signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=grace_s)
    while left := _still_there(process, mark):
        _send(left, signal.SIGKILL)
        with suppress(KeyboardInterrupt):
            time.sleep(0.05)
    process.wait()


def _still_there(process, mark):
    with suppress(KeyboardInterrupt):
        process.poll()
    return marked_processes(mark)


def _send(processes, number):
    import psutil

    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)
