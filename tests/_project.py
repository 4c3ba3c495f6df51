"""A copy of the project, and ways to run it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("Snakefile", "workflow", "scripts", "config", "src")


def heed_interrupts():
    """Run in a child before its program: Ctrl-C counts, even if the tests run in the background.

    A shell's background jobs ignore it, and so would whatever they start.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Project:
    """A copy of the project's code, and ways to run it.

    ``code`` is where the library comes from, if not from the copy itself. Snakemake compares the
    paths of scripts too, so a change of the library alone must leave the rest where it is.
    """

    def __init__(self, folder: Path, code: Path | None = None):
        self.folder = folder
        self.code = code or folder / "src"
        self.config = folder / "config/test/config.yaml"
        self.python = sys.executable

    @property
    def environment(self):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SNAKEMAKE", "PYTEST"))}
        return clean | {"PYTHONPATH": str(self.code), "OMP_NUM_THREADS": "1"}

    def run(self, *command, timeout=900, cwd=None):
        return subprocess.run(
            list(map(str, command)), env=self.environment, cwd=cwd or self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False,
        )  # fmt: skip

    def command(self, directory, *more, configs=None):
        files = [self.config] if configs is None else configs
        return [
            sys.executable, "-m", "snakemake", "--snakefile", self.folder / "workflow/Snakefile",
            "--workflow-profile", self.folder / "workflow/profiles/default",
            "--directory", directory, "--configfile", *files, *more,
        ]  # fmt: skip

    def snakemake(self, directory, *more, configs=None, timeout=900):
        return self.run(*self.command(directory, *more, configs=configs), timeout=timeout)

    def fewfold(self, *words, cwd=None, timeout=900):
        return self.run(sys.executable, "-m", "fewfold.cli", *words, cwd=cwd, timeout=timeout)

    def jobs(self, directory, changes=None) -> dict:
        """Return {rule: number of jobs} that a dry run announces after changes to the config."""
        config = yaml.safe_load(self.config.read_text())
        for place, value in (changes or {}).items():
            *path, last = place.split(".")
            entry = config
            for step in path:
                entry = entry.setdefault(step, {})
            entry[last] = value
        changed = Path(directory).parent / f"changed_{os.getpid()}.yaml"
        changed.write_text(yaml.safe_dump(config, sort_keys=False))
        done = self.snakemake(directory, "--dry-run", "--cores", "1", configs=[changed])
        assert done.returncode == 0, done.stdout[-3000:]
        if "Nothing to be done" in done.stdout:
            return {}
        table = done.stdout.rsplit("Job stats:", 1)[1]
        return {
            rule: int(count)
            for rule, count in re.findall(r"^(\w+)\s+(\d+)\s*$", table, re.MULTILINE)
            if rule not in ("total", "all")
        }


def copy_project(folder: Path) -> Project:
    folder.mkdir(parents=True)
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info", ".snakemake")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=leave)
        else:
            shutil.copy2(source, folder / part)
    return Project(folder)
