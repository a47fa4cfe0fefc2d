"""Numba's decorator for this package: one cache of compiled code for commands, Python and workers.

Numba looks at the file of a function only, not at those of the functions that it calls, and so
takes old code after a change elsewhere. The cache of this package is a folder for each state of the
sources that compiled code is made from.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
SETTING = "NUMBA_CACHE_DIR"
NOT_COMPILED = frozenset(
    {
        "api",
        "cli",
        "demo",
        "diagnostics",
        "estimators",
        "methods",
        "pipeline",
        "prediction",
        "runtime",
    }
)
"""Rooms that compiled code neither lives in nor imports."""
_decorating = threading.Lock()


def njit(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return Numba's decorator of the same name; what it compiles is kept in `own_cache`."""
    import numba  # not above: commands that compute nothing start without it
    from numba import config

    def compiled(function: Callable[..., Any]) -> Any:
        # The setting is that of the whole process; a function keeps what it is decorated with.
        # Threads import at the same time where names are imported on first use.
        with _decorating:
            before = config.CACHE_DIR
            config.CACHE_DIR = before or usable_cache()
            try:
                # Nothing takes the address of a function, which another wrapper is for.
                return numba.njit(no_cfunc_wrapper=True, **flags)(function)
            finally:
                config.CACHE_DIR = before

    return compiled


def load_numba() -> None:
    """Load what Numba loads before the first call of a compiled function: a fifth of a second."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


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
    """Return a short hash of the sources that compiled code is made from.

    Every program that computes waits for it, so the other half of the files are not read.
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(ROOT):
        above = folder == str(ROOT)
        folders[:] = sorted(one for one in folders if not (above and one in NOT_COMPILED))
        for name in sorted(file for file in files if file.endswith(".py")):
            path = os.path.join(folder, name)  # noqa: PTH118 (twice as fast as pathlib's)
            digest.update(path[len(str(ROOT)) :].replace(os.sep, "/").encode())
            with open(path, "rb") as file:  # noqa: PTH123
                digest.update(file.read())
    return digest.hexdigest()[:16]


def sources() -> list[Path]:
    """Return the package's files, in order."""
    return sorted(ROOT.rglob("*.py"))
