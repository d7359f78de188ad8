"""The one decorator of all numba kernels, and where their compiled code is cached.

Kernels live in files named ``*kernel*.py``. The cache directory is named by a hash of all of these, since
numba itself does not notice when a kernel in another file changes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def cache_directory() -> Path:
    """Directory of compiled kernels: ``$SEADA_CACHE_DIR`` or the user's cache, by the hash of all kernel
    sources.
    """
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted([*package.rglob("*kernel*.py"), Path(__file__).resolve()]):
        digest.update(source.relative_to(package).as_posix().encode())
        digest.update(source.read_bytes())
    base = os.environ.get("SEADA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seada" / f"kernels-{digest.hexdigest()[:16]}"


def kernel(function: Function) -> Function:
    """Compile lazily, without Python objects, with the shared on-disk cache."""
    config: Any = numba.config
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_directory())
    try:
        compiled: Any = numba.njit(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = previous
    return cast(Function, compiled)
