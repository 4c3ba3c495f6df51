"""`fewfold doctor`: checks of an installation, and what to fix."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

LOW_MEMORY_GB, LOW_DISK_GB = 2.0, 2.0


@dataclass(frozen=True)
class Finding:
    """One check: ``level`` is ok, warning or error; ``advice`` says what to do."""

    level: str
    what: str
    found: str
    advice: str = ""


def examine(folder: Path = Path("."), profile: str | None = None) -> list[Finding]:
    """Check everything a run depends on.

    Parameters
    ----------
    folder : Path
        Where results would be written.
    profile : str, optional
        A cluster profile to check: a name under workflow/profiles, or a folder.

    Examples
    --------
    >>> {f.what for f in examine()} >= {"cores", "memory", "disk"}
    True
    """
    return [
        *check_packages(),
        check_workflow(),
        check_cores(),
        check_memory(),
        check_disk(folder),
        check_home(),
        check_compiled(),
        check_mirror(os.environ.get("FEWFOLD_MIRROR")),
        check_cache(),
        check_output_cache(os.environ.get("SNAKEMAKE_OUTPUT_CACHE")),
        *check_profile(profile),
    ]


def check_packages() -> list[Finding]:
    """Compare what is installed with what fewfold asks for."""
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in metadata.requires("fewfold") or ()]
    except metadata.PackageNotFoundError:
        return [
            Finding(
                "error",
                "fewfold",
                "not installed",
                "Run 'pip install fewfold', or 'make install' in a checkout.",
            )
        ]
    found = [Finding("ok", "fewfold", metadata.version("fewfold"))]
    missing = []
    wanted = [n for n in wanted if n.marker is None or n.marker.evaluate({"extra": ""})]
    for need in wanted:
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            missing.append(f"{need.name} (missing)")
            continue
        if not need.specifier.contains(version, prereleases=True):
            missing.append(f"{need.name} {version} (needs {need.specifier})")
    if missing:
        advice = "Install these with pip, or run 'make install' in a checkout."
        return [*found, Finding("error", "packages", ", ".join(missing), advice)]
    return [*found, Finding("ok", "packages", f"all {len(wanted)} requirements are met")]


def check_workflow() -> Finding:
    """Check that the workflow's files are there."""
    from fewfold.exceptions import FewfoldError
    from fewfold.system.location import project_root

    try:
        return Finding("ok", "workflow", str(project_root()))
    except FewfoldError as error:
        return Finding("error", "workflow", "not found", str(error))


def check_cores() -> Finding:
    """Count the cores this process may use."""
    from fewfold.system.memory import allowed_cores

    allowed = allowed_cores()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    found = f"{allowed} ({load:.1f} busy now)"
    if load > 2 * allowed:
        return Finding(
            "warning", "cores", found, "Other programs keep them busy; runs take longer."
        )
    return Finding("ok", "cores", found)


def check_memory() -> Finding:
    """Check how much memory is free."""
    import psutil

    memory = psutil.virtual_memory()
    found = f"{memory.available / 1e9:.1f} GB free of {memory.total / 1e9:.1f} GB"
    if memory.available < LOW_MEMORY_GB * 1e9:
        advice = "Close other programs, or use a larger computer: 70,000 images need about 2 GB."
        return Finding("warning", "memory", found, advice)
    return Finding("ok", "memory", found)


def check_disk(folder: Path) -> Finding:
    """Check whether results can be written, and how much disk is free."""
    from fewfold.system.outputs import nearest_folder

    place = nearest_folder(folder)
    if not os.access(place, os.W_OK):
        advice = "Choose a folder you may write to (--out)."
        return Finding("error", "disk", f"{place} cannot be written to", advice)
    free = shutil.disk_usage(place).free
    found = f"{free / 1e9:.1f} GB free in {place}"
    if free < LOW_DISK_GB * 1e9:
        return Finding("warning", "disk", found, "Free some space, or choose another --out.")
    return Finding("ok", "disk", found)


def check_home() -> Finding:
    """Check whether there is a folder for caches (compiled code, Snakemake's sources)."""
    from fewfold.system.caches import cache_home, ensure_cache

    private = ensure_cache()
    if private is None:
        return Finding("ok", "caches", str(cache_home()))
    home = os.environ.get("HOME", "not set")
    found = f"HOME ({home}) cannot be written to; a private temporary folder is used, {private}"
    advice = "Each run compiles again. Set XDG_CACHE_HOME to a folder you may write to."
    return Finding("warning", "caches", found, advice)


def check_compiled() -> Finding:
    """Check that numba has a folder for compiled code: without one it does not start."""
    try:
        from fewfold.system.compiled import njit, numba

        njit(cache=True)(_probe)
    except (ImportError, RuntimeError, OSError) as error:
        advice = "Set NUMBA_CACHE_DIR to a folder you may write to, or install numba again."
        return Finding("error", "compiled code", " ".join(str(error).split()), advice)
    return Finding("ok", "compiled code", f"numba {numba.__version__}")


def _probe(x):
    return x


def check_mirror(mirror: str | None) -> Finding:
    """Check FEWFOLD_MIRROR."""
    if not mirror:
        return Finding("ok", "mirror", "FEWFOLD_MIRROR is not set; datasets are downloaded")
    if not Path(mirror).is_dir():
        advice = "Set FEWFOLD_MIRROR to a folder with the data files, or unset it."
        return Finding("error", "mirror", f"FEWFOLD_MIRROR={mirror} is not a folder", advice)
    return Finding("ok", "mirror", f"{mirror} ({len(os.listdir(mirror))} entries)")


def check_cache() -> Finding:
    """Count the published datasets that are on disk."""
    from fewfold.datasets import available

    here = [r.name for r in available() if r.on_disk in ("cached", "mirror")]
    return Finding("ok", "datasets", f"on disk: {', '.join(here) or 'none yet'}")


def check_output_cache(cache: str | None) -> Finding:
    """Check Snakemake's cache between runs."""
    if not cache:
        return Finding("ok", "cache between runs", "off (set SNAKEMAKE_OUTPUT_CACHE to a folder)")
    if not Path(cache).is_dir() or not os.access(cache, os.W_OK):
        advice = "Create it, or unset SNAKEMAKE_OUTPUT_CACHE."
        found = f"SNAKEMAKE_OUTPUT_CACHE={cache} is not a folder one can write to"
        return Finding("error", "cache between runs", found, advice)
    return Finding("ok", "cache between runs", cache)


def check_profile(profile: str | None) -> list[Finding]:
    """Check a cluster profile: that it can be read, and that its programs are there."""
    import yaml

    from fewfold.exceptions import FewfoldError
    from fewfold.runner import snakemake_command

    if profile is None:
        sbatch = shutil.which("sbatch")
        found = (
            "SLURM found: try --profile slurm" if sbatch else "no cluster here; jobs run locally"
        )
        return [Finding("ok", "cluster", found)]
    try:
        command = snakemake_command(cores=1, profile=profile)
    except FewfoldError as error:
        return [Finding("error", "cluster", f"profile {profile!r}", str(error))]
    folder = Path(command[command.index("--workflow-profile") + 1])
    try:
        settings = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        advice = " ".join(str(error).split())
        return [Finding("error", "cluster", f"{folder}/config.yaml is not YAML", advice)]
    executor = str(settings.get("executor", "local"))
    findings = [Finding("ok", "cluster", f"profile {folder.name}, executor {executor}")]
    if executor != "local":
        try:
            metadata.version(f"snakemake-executor-plugin-{executor}")
        except metadata.PackageNotFoundError:
            advice = f"pip install snakemake-executor-plugin-{executor} (see docs/cluster.md)"
            found = f"the plugin for {executor} is not installed"
            findings.append(Finding("error", "cluster", found, advice))
    if executor == "slurm":
        findings.append(check_slurm(_partition(settings), folder / "config.yaml"))
    return findings


def _partition(settings: dict) -> str | None:
    """Return the partition that a profile names for all jobs, if it names one."""
    wanted = settings.get("default-resources") or []
    pairs = wanted.items() if isinstance(wanted, dict) else (str(w).split("=", 1) for w in wanted)
    return next((str(pair[1]) for pair in pairs if pair[0] == "slurm_partition"), None)


def check_slurm(partition: str | None = None, profile: Path | None = None) -> Finding:
    """Ask SLURM whether it is there and answers, and whether it has the profile's partition."""
    import subprocess

    login = "Run it on a login node of the cluster."
    if not shutil.which("sbatch"):
        return Finding("error", "cluster", "no sbatch on PATH", login)
    try:
        asked = subprocess.run(["sinfo", "-h", "-o", "%P %a %D"], timeout=20, capture_output=True,
                               text=True)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return Finding("error", "cluster", "sinfo gives no answer", login)
    if asked.returncode != 0:
        reason = " ".join(asked.stderr.split())[:200] or f"code {asked.returncode}"
        return Finding("error", "cluster", f"SLURM does not answer ({reason})", login)
    rows = [line.split() for line in asked.stdout.splitlines() if len(line.split()) == 3]
    up = [f"{name} ({nodes} nodes)" for name, state, nodes in rows if state == "up"]
    if up and partition is not None and partition not in [row[0].rstrip("*") for row in rows]:
        found = f"SLURM has no partition {partition!r}; it has {', '.join(up[:6])}"
        advice = f"Name one of these after slurm_partition= in {profile}."
        return Finding("error", "cluster", found, advice)
    if not up:
        return Finding(
            "error",
            "cluster",
            "SLURM has no partition that is up",
            "Contact the cluster's administrators.",
        )
    return Finding("ok", "cluster", f"SLURM answers; partitions: {', '.join(up[:6])}")


def show(findings: list[Finding], echo=print) -> None:
    """Print the findings, and what to do."""
    marks = {"ok": "ok     ", "warning": "warning", "error": "ERROR  "}
    for finding in findings:
        echo(f"{marks[finding.level]}  {finding.what}: {finding.found}")
        if finding.advice and finding.level != "ok":
            echo(f"         -> {finding.advice}")
    bad = [f for f in findings if f.level == "error"]
    echo("No problems found." if not bad else f"{len(bad)} to fix, see above.")
