"""Find a dataset's files: mirror, then cache, then network; each verified by its contents."""

from __future__ import annotations

import contextlib
import os
import warnings
from pathlib import Path

from fewfold.datasets.registry import DataFile
from fewfold.datasets.verification import fault_of
from fewfold.exceptions import DataWarning, DownloadError

MIRROR_VARIABLE = "FEWFOLD_MIRROR"
CACHE_VARIABLE = "FEWFOLD_CACHE"


def mirror_dir() -> Path | None:
    """Give the folder named by FEWFOLD_MIRROR, or None when it is not set."""
    value = os.environ.get(MIRROR_VARIABLE, "").strip()
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DownloadError(
            f"{MIRROR_VARIABLE}={value!r} is not a folder. Set it to a folder that holds the "
            "published data files (see docs/datasets.md), or unset it to use the network."
        )
    return folder


def cache_dir() -> Path:
    """Give the folder for downloads.

    ``FEWFOLD_CACHE`` if set; ``data/cache`` of the checkout that holds the working directory;
    otherwise the user's cache folder.
    """
    value = os.environ.get(CACHE_VARIABLE, "").strip()
    if value:
        return Path(value).expanduser()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "Snakefile").is_file() and (folder / "pyproject.toml").is_file():
            return folder / "data" / "cache"
    import pooch

    return Path(pooch.os_cache("fewfold"))


def find_local(wanted: DataFile) -> tuple[Path | None, str]:
    """Look for a file in the mirror and the cache without reading it.

    Returns
    -------
    path : Path or None
    where : {'mirror', 'cached', 'no'}
    """
    mirror = mirror_dir()
    if mirror is not None and (mirror / wanted.path).is_file():
        return mirror / wanted.path, "mirror"
    cached = cache_dir() / wanted.path
    return (cached, "cached") if cached.is_file() else (None, "no")


def obtain(wanted: DataFile) -> Path:
    """Give the path of a verified copy of a file, downloading it if need be.

    Parameters
    ----------
    wanted : DataFile
        The file as the registry describes it.

    Returns
    -------
    Path
        A file in the mirror or in the cache.
    """
    faults = []
    mirror = mirror_dir()
    if mirror is not None:
        candidate = mirror / wanted.path
        fault = fault_of(candidate, wanted) if candidate.is_file() else "no such file"
        if fault is None:
            return candidate
        faults.append(f"{MIRROR_VARIABLE}: {candidate}: {fault}")
        if candidate.is_file():
            warnings.warn(
                f"{candidate} is not used: {fault}. Replace it from its source.",
                DataWarning,
                stacklevel=2,
            )
    cached = cache_dir() / wanted.path
    with folder_lock(cached.parent):
        if cached.is_file():
            fault = fault_of(cached, wanted)
            if fault is None:
                return cached
            cached.unlink()
            faults.append(f"cache: {cached}: {fault} (removed)")
        from fewfold.datasets.transfer import download

        try:
            return download(wanted, cached, faults)
        except DownloadError:
            with contextlib.suppress(OSError):
                cached.parent.rmdir()  # only if empty
            raise


@contextlib.contextmanager
def folder_lock(folder: Path):
    """Let one process at a time fill a cache folder; file systems without locks do without."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise DownloadError(
            f"the cache folder {folder} cannot be made ({error}). Set {CACHE_VARIABLE} to a folder "
            "that can be written."
        ) from error
    try:
        with contextlib.suppress(OSError, ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
