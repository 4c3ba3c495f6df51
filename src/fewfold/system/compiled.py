"""numba, with a folder that its compiled code can be kept in; slow to load, so imported late."""

from fewfold.system.caches import ensure_cache

ensure_cache()

import numba  # noqa: E402
from numba import njit, prange  # noqa: E402

__all__ = ["njit", "numba", "prange"]
