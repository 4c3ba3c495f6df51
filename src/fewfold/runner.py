"""Driving Snakemake: one run per directory, stale locks cleared, progress in plain words."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from fewfold.exceptions import ConfigError, FewfoldError

_STEPS = re.compile(r"^(\d+) of (\d+) steps")
_MESSAGE = re.compile(r"^Job \d+: (.*)")
_ERROR = re.compile(r"^error: (.*)")
_FAILED_RULE = re.compile(r"^Error in rule (\w+):")
_EXCEPTION = re.compile(
    r"^(?!WorkflowError|CalledProcessError|RuleException)[\w.]*(Error|Exception): "
)
_TOTAL = re.compile(r"^total\s+(\d+)")
# What fewfold.artifacts says of a stage file that cannot be used.
_UNUSABLE = re.compile(r"^(.*?\.h5) .*Delete it and run again: rule \w+ makes it anew\.$")
_PART = re.compile(r"^\..*\.(\d+)\.part$")


class RunFailed(FewfoldError, RuntimeError):
    """Snakemake ended with an error; what it said is in the message."""


def project_root() -> Path:
    """Return the checkout that holds the Snakefile: here, above, or where fewfold lives."""
    here = Path.cwd().resolve()
    package = Path(__file__).resolve()
    for folder in (here, *here.parents, *package.parents):
        if (folder / "Snakefile").exists() and (folder / "workflow/schemas").is_dir():
            return folder
    raise ConfigError(
        "No fewfold checkout found here, above here, or around the installed package. "
        "Clone the repository and install it with 'make install'."
    )


@contextmanager
def only_run(directory: Path):
    """Hold the directory's run lock; a lock left by a killed run does not count.

    The kernel drops the lock when its process ends, however it ends, so Snakemake's own lock
    files can be told to be stale.
    """
    folder = directory / ".snakemake"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / "fewfold.lock", "a+")
    except OSError as error:
        raise RunFailed(
            f"Cannot write into {directory}: {error.strerror}. Choose a folder you may write to, "
            "or free some space."
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            raise RunFailed(
                f"Another fewfold run (process {owner}) is at work in {directory}. "
                "Wait for it to end, or stop it, and try again."
            ) from error
        other = _foreign_snakemake(directory)
        if other:
            raise RunFailed(
                f"Snakemake (process {other}) is at work in {directory}. Wait for it to end, or "
                "stop it, and try again."
            )
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield _clear_stale_locks(folder)


def _foreign_snakemake(directory):
    """Return the pid of a Snakemake that works in the directory, or None."""
    if not any((directory / ".snakemake/locks").glob("*.lock")):
        return None
    import psutil

    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        if process.info["pid"] != os.getpid() and any("snakemake" in w for w in words[:3]):
            if process.info["cwd"] and Path(process.info["cwd"]) == directory.resolve():
                return process.info["pid"]
    return None


def _clear_stale_locks(folder):
    stale = list((folder / "locks").glob("*.lock"))
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def remove_dead_parts(directory: Path) -> int:
    """Remove the unfinished files of jobs of this machine that were killed; return how many.

    Their names hold the number of the process that wrote them; those of living ones stay.
    """
    import psutil

    dead = [
        path
        for path in (directory / "results").rglob(".*.part")
        if (match := _PART.match(path.name)) and not psutil.pid_exists(int(match[1]))
    ]
    for path in dead:
        path.unlink(missing_ok=True)
    return len(dead)


def set_aside(directory: Path, errors: list[str]) -> list[Path]:
    """Rename stage files that a job found damaged, so that the next run makes them anew.

    Only files below ``results`` are touched, and a damaged file in the cache between runs that
    they link to. Nothing is deleted.
    """
    moved = []
    results = Path(os.path.abspath(directory / "results"))
    for error in errors:
        match = _UNUSABLE.match(error)
        path = Path(os.path.abspath(directory / match[1])) if match else None
        if path is None or not path.is_relative_to(results) or not os.path.lexists(path):
            continue
        if path.is_symlink():
            cached = path.resolve()
            cache = os.environ.get("SNAKEMAKE_OUTPUT_CACHE")
            if cache and cached.is_relative_to(Path(cache).resolve()):
                os.replace(cached, f"{cached}.damaged")
            path.unlink()
        else:
            os.replace(path, f"{path}.damaged")
        moved.append(path)
    return moved


def snakemake_command(*, cores, configfiles=(), directory=None, profile=None, targets=(), extra=()):
    """Return the command line of a run."""
    root = project_root()
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile")]
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
    # "--" ends the lists of values: a target is never taken for a config file.
    return [*command, *extra, *(["--", *targets] if targets else [])]


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
        return f"  (about {seconds:.0f} s left)" if seconds > 10 else ""

    def reason(self):
        """The most useful words about why a run failed."""
        if self.errors:
            return "; ".join(self.errors)
        config = [line for line in self.lines if "ConfigError" in line or "config:" in line]
        if config:
            text = config[-1]
            return text[text.index("config:") :] if "config:" in text else text
        rules = [m[1] for line in self.lines if (m := _FAILED_RULE.match(line.strip()))]
        raised = [line.strip() for line in self.lines if _EXCEPTION.match(line.strip())]
        words = [f"rule {rules[0]} failed"] if rules else []
        words += raised[:1]
        return (": ".join(words) or (self.lines or ["no output"])[-1].strip()) + "."


def _what_next(folder, errors):
    moved = set_aside(folder, errors)
    if moved and len(moved) == len(errors):
        names = ", ".join(path.name for path in moved)
        return f"That was set aside ({names}.damaged): the same command makes it anew and goes on."
    return "What was finished stays; run again after mending it."


def _interrupt(number, frame):
    raise KeyboardInterrupt


def run_snakemake(*, directory=None, echo=print, **options) -> int:
    """Run the workflow and return the number of jobs that ran.

    Raises
    ------
    RunFailed
        With the failing job's own words. What was finished before stays.
    """
    folder = Path(directory or Path.cwd())
    folder.mkdir(parents=True, exist_ok=True)
    with only_run(folder) as stale:
        if stale:
            echo("A run before this one was killed; going on where it stopped.")
        if options.get("profile") is None:  # jobs of a cluster may still be at work elsewhere
            remove_dead_parts(folder)
        command = snakemake_command(directory=directory, **options)
        watcher = _Watcher(echo)
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        before = signal.signal(signal.SIGTERM, _interrupt)
        try:
            for line in process.stdout:
                watcher.feed(line)
            code = process.wait()
        except KeyboardInterrupt:
            # Snakemake then stops its jobs and removes what they left unfinished.
            process.send_signal(signal.SIGINT)
            process.wait()
            raise RunFailed(
                "Stopped. What was finished stays; the same command goes on from here."
            ) from None
        finally:
            signal.signal(signal.SIGTERM, before)
    if code:
        log = folder / ".snakemake/fewfold-last.log"
        log.write_text("\n".join(watcher.lines) + "\n", encoding="utf-8")
        raise RunFailed(
            f"The run did not finish: {watcher.reason()} {_what_next(folder, watcher.errors)} "
            f"Everything Snakemake said is in {log}, each job's log under logs/."
        )
    return watcher.total
