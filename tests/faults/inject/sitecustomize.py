"""Faults for the tests: loaded by every Python that has this folder on PYTHONPATH.

A file FOLDER/<rule>, or FOLDER/<rule>@<dataset>, (FOLDER from FEWFOLD_FAULTS) makes the next job
of that rule
    kill             kill itself without warning (kill -9) at its start
    kill-at-rename   kill itself just before its output gets its name
    sleep SECONDS    start late: slow jobs, or jobs that must run into their time limit
    wait FILE        start when a file is there
    deaf SECONDS     ignore every signal that can be, and start late
and is used up by it, unless its name ends in .always. The product knows nothing of this.
"""

import os
import signal
import sys
import time


def _script():
    """The job's script: Snakemake runs it as .snakemake/scripts/tmp1234.<rule>.py."""
    for word in sys.orig_argv[1:]:
        name = os.path.basename(word)
        if name.endswith(".py") and name.count(".") >= 2 and name.startswith("tmp"):
            return word
    return None


def _names(folder, rule, script, always):
    """The faults that are for this job, now."""
    with open(script) as file:  # Snakemake writes the job's files into the script
        text = file.read()
    for name in sorted(os.listdir(folder)):
        wanted, _, dataset = name.removesuffix(".always").partition("@")
        if name.endswith(".always") != always or wanted != rule:
            continue
        if not dataset or f"results/{dataset}/" in text:
            yield name


def _take(folder, name):
    path = os.path.join(folder, name)
    taken = path if name.endswith(".always") else f"{path}.{os.getpid()}.taken"
    try:
        if taken != path:
            os.rename(path, taken)  # only one of several jobs gets it
        with open(taken) as file:
            return file.read().split()
    except OSError:
        return None


def _die(folder, rule):
    # Left behind so that a test can tell that the job did not end before it was killed.
    open(os.path.join(folder, f"{rule}.died"), "w").close()
    os.kill(os.getpid(), signal.SIGKILL)


def _die_at_rename(folder, rule):
    def replace(source, target, *more, _real=os.replace, **options):
        if str(source).endswith(".part"):
            _die(folder, rule)
        return _real(source, target, *more, **options)

    os.replace = replace


def _inject(folder, rule, words):
    if words[0] == "kill":
        _die(folder, rule)
    elif words[0] == "kill-at-rename":
        _die_at_rename(folder, rule)
    elif words[0] == "sleep":
        time.sleep(float(words[1]))
    elif words[0] == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        open(os.path.join(folder, f"{rule}.deaf"), "w").close()
        time.sleep(float(words[1]))
    elif words[0] == "wait":
        while not os.path.exists(words[1]):
            time.sleep(0.2)


_folder = os.environ.get("FEWFOLD_FAULTS")
_path = _script() if _folder else None
if _path:
    _rule = os.path.basename(_path).split(".")[-2]
    for _always in (True, False):
        for _name in list(_names(_folder, _rule, _path, _always)):
            _found = _take(_folder, _name)
            if _found:
                _inject(_folder, _rule, _found)
