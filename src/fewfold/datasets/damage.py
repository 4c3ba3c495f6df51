"""What a library raises on a damaged file, turned into one clear error."""

from __future__ import annotations

import contextlib
from pathlib import Path

from fewfold.exceptions import InputError


@contextlib.contextmanager
def sound(where: str | Path, what: str, advice: str = "Write it again."):
    """Turn whatever a library raises on a damaged file into one clear error."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # damage can surface as nearly any kind
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{where}: not {what} ({reason[:200]}). {advice}") from error
