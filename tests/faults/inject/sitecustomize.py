"""Faults for the tests: loaded by every Python that has this folder on PYTHONPATH.

A file FOLDER/<rule> (FOLDER from FEWFOLD_FAULTS) makes the next job of that rule
    kill SECONDS     kill itself without warning (kill -9) after so many seconds
    kill-at-rename   kill itself just before its output gets its name
    sleep SECONDS    start late, for jobs that must run into their time limit
    fail             raise
and is used up by it. The product knows nothing of this.
"""

import os
import signal
import sys
import threading
import time


def _rule():
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    return name.split(".")[-2] if name.endswith(".py") and name.count(".") >= 2 else None


def _take(folder, rule):
    path = os.path.join(folder, rule)
    taken = f"{path}.{os.getpid()}.taken"
    try:
        os.rename(path, taken)  # only one of several jobs gets it
    except OSError:
        return None
    with open(taken) as file:
        return file.read().split()


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_at_rename():
    def replace(source, target, _real=os.replace):
        if str(source).endswith(".part"):
            _die()
        return _real(source, target)

    os.replace = replace


def _inject(words):
    what, amount = words[0], float(words[1]) if len(words) > 1 else 0.0
    if what == "kill":
        threading.Timer(amount, _die).start() if amount else _die()
    elif what == "kill-at-rename":
        _kill_at_rename()
    elif what == "sleep":
        time.sleep(amount)
    elif what == "fail":
        raise RuntimeError("a fault was injected")


# At start-up sys.argv is not there yet; orig_argv is.
sys.argv = getattr(sys, "argv", None) or [a for a in sys.orig_argv[1:] if not a.startswith("-")]
_folder = os.environ.get("FEWFOLD_FAULTS")
_name = _rule() if _folder else None
if _name:
    _found = _take(_folder, _name)
    if _found:
        _inject(_found)
