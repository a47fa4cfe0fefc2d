"""Compiling the numerics at a known moment, and where the compiled code is kept."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def warm_up() -> None:
    """Compile, or load from the cache, every compiled function of the package."""
    from dcsvm_dask import clustering, kernels, solvers

    kernels.warm_up()
    solvers.warm_up()
    clustering.warm_up()


def use_own_cache() -> None:
    """Keep compiled code in a folder of this version of the sources, unless one is set.

    Numba's cache does not see that a function called from another file has changed. Call this
    before anything imports Numba; child processes inherit it.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    os.environ["NUMBA_CACHE_DIR"] = str(Path(base) / "dcsvm_dask" / sources_digest())


def sources_digest() -> str:
    """Return a short hash of the package's sources."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
