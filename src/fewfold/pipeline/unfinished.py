"""Outputs that a run announced: those missing are made by the next run.

Snakemake removes a job's old output before the job starts. If the job fails or is killed, nothing
is left that could be compared with the config, and files made from the *old* output still look up
to date: the next run would have nothing to do. So a run writes down first what it will make.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from fewfold.system.stopping import MARK

NOTE = ".snakemake/fewfold-unfinished.json"


def missing_outputs(folder=".") -> list[str]:
    """Return the files that earlier runs announced and did not make.

    Parameters
    ----------
    folder : path-like
        The folder of the run.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> set_out(["results/a.h5"], folder)
    >>> missing_outputs(folder)
    ['results/a.h5']
    """
    try:
        found = json.loads(Path(folder, NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    names = found if isinstance(found, list) else []
    return [n for n in names if isinstance(n, str) and not Path(folder, n).exists()]


def set_out(outputs: Iterable[str], folder=".") -> None:
    """Note that these files will be made; what earlier runs did not finish stays noted."""
    _write(sorted({*missing_outputs(folder), *map(str, outputs)}), folder)


def succeeded(folder=".") -> None:
    """Note that a run has made all files that it announced."""
    _write(missing_outputs(folder), folder)


def warn_unless_forced(folder=".") -> None:
    """Warn who calls Snakemake by hand; `fewfold run` passes ``--forcerun`` by itself."""
    missing = [] if os.environ.get(MARK) else missing_outputs(folder)
    if missing:
        some = " ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        print(
            f"warning: an earlier run did not make {len(missing)} files. Use 'fewfold run', which "
            f"makes them, or add --forcerun {some}",
            file=sys.stderr,
        )


def _write(names, folder):
    from fewfold.pipeline.artifacts import atomic_path  # and with it HDF5, which commands need not

    with atomic_path(Path(folder, NOTE)) as part:
        part.write_text(json.dumps(names), encoding="utf-8")
