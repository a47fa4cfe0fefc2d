"""Numba's decorator for this package: one cache of compiled code for commands, Python and workers.

Numba looks at the file of a function only, not at those of the functions that it calls, and so
takes old code after a change elsewhere. The cache of this package is a folder for each state of its
sources.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
SETTING = "NUMBA_CACHE_DIR"


def njit(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return Numba's decorator of the same name; what it compiles is kept in `own_cache`."""
    import numba  # not above: commands that compute nothing start without it
    from numba import config

    def compiled(function: Callable[..., Any]) -> Any:
        before = config.CACHE_DIR
        # The setting is that of the whole process; a function keeps what it is decorated with.
        config.CACHE_DIR = before or usable_cache()
        try:
            # Nothing takes the address of a function, which another wrapper is for.
            return numba.njit(no_cfunc_wrapper=True, **flags)(function)
        finally:
            config.CACHE_DIR = before

    return compiled


@cache
def usable_cache() -> str:
    """Return `own_cache` as Numba takes it; empty, for a folder of Numba's, if it is read-only."""
    folder = own_cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def own_cache() -> Path:
    """Return the folder of compiled code of this version of the sources."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "dcsvm_dask" / sources_digest()


def sources_digest() -> str:
    """Return a short hash of the package's sources."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def sources() -> list[Path]:
    """Return the package's files, in order."""
    return sorted(ROOT.rglob("*.py"))
