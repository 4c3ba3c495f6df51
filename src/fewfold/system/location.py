"""Where the workflow is: Snakefile, rules, scripts, default config."""

from __future__ import annotations

from pathlib import Path

from fewfold.exceptions import ConfigError


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
