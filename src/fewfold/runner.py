"""Driving Snakemake: one run per directory, stale locks cleared, progress in plain words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from fewfold.config.reading import read_config
from fewfold.exceptions import ConfigError, RunFailed, Stopped
from fewfold.pipeline.stages import read_notes
from fewfold.pipeline.unfinished import missing_outputs
from fewfold.system.location import project_root
from fewfold.system.outputs import RUN_OUTPUTS, refuse_overwriting, run_directory
from fewfold.system.run_folder import clear_stale_locks, only_run, remove_dead_parts, set_aside
from fewfold.system.stopping import CLUSTER_GRACE_S, GRACE_S, MARK, heeding_signals, new_mark, stop

_STEPS = re.compile(r"^(\d+) of (\d+) steps")
_MESSAGE = re.compile(r"^Job \d+: (.*)")
_ERROR = re.compile(r"^error: (.*)")
_FAILED_RULE = re.compile(r"^Error in rule (\w+):")
_EXCEPTION = re.compile(
    r"^(?!WorkflowError|CalledProcessError|RuleException)[\w.]*(Error|Exception): "
)
# The names of its errors, at the top of a paragraph; what follows says why.
_HEADING = re.compile(r"^\w+(Error|Exception)( in (rule|file|line) .*)?:$")
_ONLY_THAT = "At least one job did not complete successfully."
_DISK_FULL = "No space left on device"
_NO_EXECUTOR = re.compile(r"argument --executor/-e: invalid choice: '([\w-]+)'")
_PLUGIN_ADVICE = (
    "the profile submits jobs by the executor '{0}', which Snakemake does not have here. "
    "Install it where fewfold is installed (pip install snakemake-executor-plugin-{0}), "
    "or leave --profile out."
)
_REFUSED = re.compile(r"sbatch: error: (.*?)'?\.?$")
_SUBMITTED = re.compile(r"^Job \d+ has been submitted with SLURM jobid (\w+) \(log: (.*)\)\.$")
_JOB_FAILED = re.compile(r"SLURM-job '(\w+)' failed")
_OF_SLURM = re.compile(r"^(?:srun|slurmstepd(?:-\w+)?): error: (?:\*+ )?(.*?)(?: \*+)?$")
_TOTAL = re.compile(r"^total\s+(\d+)")
LOCAL = (None, "default")  # profiles that run jobs on this machine, by Snakemake alone


def snakemake_command(
    *, cores, configfiles=(), directory=None, profile=None, targets=(), forcerun=(), light=False
) -> list[str]:
    """Return the command line of a run.

    ``forcerun`` are rules and files to make in any case; ``light`` starts Snakemake without the
    libraries of `fewfold.system.light_snakemake`, unless a profile may need them.
    """
    root = project_root()
    light = light and profile in LOCAL
    module = "fewfold.system.light_snakemake" if light else "snakemake"
    command = [sys.executable, "-m", module, "--snakefile", str(root / "workflow/Snakefile")]
    if cores is not None:
        command += ["--cores", str(cores)]
    profile_dir = Path(profile) if profile else root / "workflow/profiles/default"
    if profile and not profile_dir.is_dir():
        profile_dir = root / "workflow/profiles" / profile
    if not (profile_dir / "config.yaml").exists():
        known = sorted(p.parent.name for p in root.glob("workflow/profiles/*/config.yaml"))
        raise ConfigError(
            f"--profile {profile}: no such profile. Known: {', '.join(known)}, or give a folder "
            "that holds a config.yaml."
        )
    command += ["--workflow-profile", str(profile_dir)]
    if os.environ.get("SNAKEMAKE_OUTPUT_CACHE"):
        command += ["--cache"]
    if directory is not None:
        command += ["--directory", str(directory)]
    if configfiles:
        command += ["--configfile", *map(str, configfiles)]
    if forcerun:
        command += ["--forcerun", *forcerun]
    # "--" ends the lists of values: a target is never taken for a config file.
    return [*command, *(["--", *targets] if targets else [])]


class _Watcher:
    """Turns Snakemake's output into short lines: step, total, time left."""

    def __init__(self, echo):
        self.echo, self.start = echo, time.monotonic()
        self.total = self.done = 0
        self.errors: list[str] = []
        self.lines: list[str] = []

    def feed(self, line):
        line = line.rstrip("\n")
        self.lines.append(line)
        if match := _TOTAL.match(line):
            self.total = int(match[1])
        elif match := _STEPS.match(line):
            self.done, self.total = int(match[1]), int(match[2])
        elif match := _MESSAGE.match(line):
            self.echo(f"[{self.done + 1:>3}/{self.total or '?'}] {match[1]}{self._left()}")
        elif match := _ERROR.match(line.strip()):
            if match[1] not in self.errors:
                self.errors.append(match[1])
                self.echo(f"error: {match[1]}")

    def _left(self):
        if not self.done:
            return ""
        seconds = (time.monotonic() - self.start) * (self.total - self.done) / self.done
        if seconds > 90:
            return f"  (about {seconds / 60:.0f} min left)"
        return f"  (about {seconds:.0f} s left)" if seconds > 10 else ""

    def reason(self):
        """The most specific message about why a run failed."""
        if self.errors:
            return "; ".join(self.errors)
        for line in self.lines:
            if executor := _NO_EXECUTOR.search(line):
                return _PLUGIN_ADVICE.format(executor[1])
        refused = [m[1] for line in self.lines if (m := _REFUSED.search(line))]
        if refused:
            words = "; ".join(dict.fromkeys(refused))
            return f"SLURM refused a job: {words}. Check with fewfold doctor --profile."
        if any(_DISK_FULL in line for line in self.lines):
            return f"{_DISK_FULL}. Free some, or choose another --out."
        config = [line for line in self.lines if "ConfigError" in line or "config:" in line]
        if config:
            text = config[-1]
            return text[text.index("config:") :] if "config:" in text else text
        rules = [m[1] for line in self.lines if (m := _FAILED_RULE.match(line.strip()))]
        raised = [line.strip() for line in self.lines if _EXCEPTION.match(line.strip())]
        words = [f"rule {rules[0]} failed"] if rules else []
        words += raised[:1] or self._of_snakemake() or self._of_slurm()
        words = ": ".join(words) or next(
            (w for w in reversed(self.lines) if w.strip()), "no output"
        )
        return words.strip().rstrip(".") + "."

    def _of_snakemake(self):
        """What stands below Snakemake's own headings, such as "WorkflowError in rule x:"."""
        for number, line in enumerate(self.lines):
            if _HEADING.match(line.strip()):
                below = [text.strip() for text in self.lines[number + 1 : number + 6]]
                below = list(takewhile(lambda text: text and not _HEADING.match(text), below))
                if below and below[0] != _ONLY_THAT:
                    return [" ".join(below)]
        return []

    def _of_slurm(self):
        """What SLURM wrote into the log of the last job that failed there."""
        logs = {m[1]: m[2] for line in self.lines if (m := _SUBMITTED.match(line))}
        failed = [m[1] for line in self.lines if (m := _JOB_FAILED.search(line))]
        log = Path(logs.get(failed[-1], "")) if failed else None
        if log is None or not log.is_file():
            return []
        text = log.read_text(encoding="utf-8", errors="replace")
        said = [m[1] for line in text.splitlines() if (m := _OF_SLURM.match(line))]
        return [f"{'; '.join(dict.fromkeys(said))} (SLURM, in {log})"] if said else []


def run_snakemake(*, directory=None, echo=print, **options) -> int:
    """Run the workflow and return the number of jobs that ran.

    Options are those of `snakemake_command`.

    Raises
    ------
    RunFailed
        With the message of the failing job. What was finished before stays.
    """
    folder = run_directory(directory or Path.cwd())
    refuse_overwriting([folder / name for name in RUN_OUTPUTS], options.get("configfiles", ()))
    with only_run(folder) as stale:
        return run_locked(folder, stale, echo=echo, **options)


def run_locked(folder: Path, stale: int, *, echo=print, **options) -> int:
    """Run the workflow in a folder whose lock (`fewfold.system.run_folder.only_run`) is held.

    Parameters
    ----------
    folder : Path
    stale : int
        What the lock yielded: locks that a killed run left.
    echo : callable
        Called with progress messages.
    **options
        Those of `snakemake_command`.
    """
    for file in options.get("configfiles", ()):
        read_config(file)  # says in one sentence what Snakemake would say in a traceback
    if stale:
        echo("A run before this one was killed; resuming where it stopped.")
    local = options.get("profile") in LOCAL
    if local:  # jobs of a cluster may still be at work elsewhere
        remove_dead_parts(folder)
    for note in (folder / "logs").rglob("*.error.json"):  # of an earlier run
        note.unlink(missing_ok=True)
    force = [*options.pop("forcerun", ()), *missing_outputs(folder)]
    command = snakemake_command(directory=folder, forcerun=force, **options)
    watcher = _Watcher(echo)
    with heeding_signals():
        code = _watch(command, folder, watcher, local=local)
    if code:
        raise RunFailed(_why(folder, watcher))
    return watcher.total


def _watch(command, folder, watcher, *, local):
    """Run a command to its end; a signal stops all that it started."""
    mark = new_mark()
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, MARK: mark},
        )
        try:
            for line in process.stdout:
                watcher.feed(line)
            return process.wait()
        except BaseException:
            stop(process, mark, GRACE_S if local else CLUSTER_GRACE_S)
            raise
    except KeyboardInterrupt:
        clear_stale_locks(folder)
        if local:
            remove_dead_parts(folder)
        raise Stopped(
            "Stopped. What was finished stays; the same command resumes from here."
        ) from None


def _why(folder, watcher):
    """One message about a failed run: the reason, what to do, where the logs are."""
    log = folder / ".snakemake/fewfold-last.log"
    with suppress(OSError):  # the disk may be full
        log.write_text("\n".join(watcher.lines) + "\n", encoding="utf-8")
    damaged = [note["damaged"] for note in read_notes(folder / "logs") if note["damaged"]]
    moved = set_aside(folder, damaged)
    if moved and len(moved) == len(watcher.errors):
        names = ", ".join(path.name for path in moved)
        advice = f"That was set aside ({names}.damaged): the same command makes it again."
    else:
        advice = "What was finished stays; run again after fixing it."
    return (
        f"The run did not finish: {watcher.reason()} {advice} "
        f"The whole output of Snakemake is in {log}, each job's log under logs/."
    )
