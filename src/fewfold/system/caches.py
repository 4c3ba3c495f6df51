"""A folder for caches where the user has none: no HOME, a read-only one, a container."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

PRIVATE = "FEWFOLD_PRIVATE_CACHE"  # set for the processes that use the folder of their parent


def cache_home() -> Path | None:
    """Return where this user's programs keep caches; None if that cannot even be named."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    try:
        return Path.home() / ".cache"
    except RuntimeError:  # no HOME, and a user without an entry in the system's list
        return None


def is_usable(folder: Path | None) -> bool:
    """Whether files can be written below a folder; it is created if need be."""
    if folder is None or not folder.is_absolute():
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK)


def ensure_cache() -> Path | None:
    """Give this process and its children a private temporary cache if the user's is not usable.

    numba, Snakemake, matplotlib and pooch keep files there, and the first two fail without. The
    folder is readable by nobody else (numba's cache is code), and removed when the process that
    made it ends.

    Returns
    -------
    Path or None
        The private folder; None if the user's own is usable.
    """
    if is_usable(cache_home()):
        private = os.environ.get(PRIVATE)
        return Path(private) if private and Path(private) == cache_home() else None
    folder = Path(tempfile.mkdtemp(prefix="fewfold-cache-"))
    os.environ["XDG_CACHE_HOME"] = os.environ[PRIVATE] = str(folder)
    os.environ.setdefault("MPLCONFIGDIR", str(folder / "matplotlib"))
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder, owner):
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)
