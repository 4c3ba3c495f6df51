"""Where the workflow is: Snakefile, rules, scripts, default config."""

from __future__ import annotations

from pathlib import Path

from fewfold.exceptions import ConfigError

PACKAGE = Path(__file__).resolve().parents[1]
PACKAGED = PACKAGE / "project"  # where a wheel holds them, see pyproject.toml


def _holds_workflow(folder: Path) -> bool:
    return (folder / "workflow/Snakefile").is_file() and (folder / "scripts").is_dir()


def checkout() -> Path | None:
    """Return the checkout whose ``src/`` this package is in, None where it was installed."""
    folder = PACKAGE.parents[1]
    return folder if PACKAGE.parent.name == "src" and _holds_workflow(folder) else None


def project_root() -> Path:
    """Return the folder with workflow/, scripts/ and config/ that belong to this package.

    That is the checkout whose ``src/`` is in use, else the copy inside the installed package,
    which may be read-only. The working folder does not matter: code and workflow of different
    versions must not meet.
    """
    root = checkout()
    if root is not None:
        return root
    if _holds_workflow(PACKAGED):
        return PACKAGED
    raise ConfigError(
        f"The workflow's files are missing beside {PACKAGE}. Install fewfold again "
        "(pip install --force-reinstall --no-deps fewfold), or 'make install' in a checkout."
    )


def workflow_root(rules) -> Path:
    """Return the root of the workflow whose rules are being read.

    Parameters
    ----------
    rules : snakemake.sourcecache.SourceFile
        The folder workflow/rules. Where it is not on this disk (a module taken from a
        repository), the installed package has the same files.
    """
    root = Path(rules.get_path_or_uri(secret_free=True)).parents[1]
    return root if _holds_workflow(root) else project_root()
