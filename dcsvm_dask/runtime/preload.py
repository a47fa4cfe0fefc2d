"""What a nanny does for its worker processes: their environment, and a word on how they end.

Only what is there at a process's start counts for its allocator, and for Numba's cache what is
there before Numba is imported. ``dask worker ... --preload-nanny dcsvm_dask.runtime.preload``.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from dcsvm_dask.runtime.compilation import sources_digest
from dcsvm_dask.runtime.exits import report_exits

MODULE = "dcsvm_dask.runtime.preload"


def dask_setup(nanny: Any) -> None:
    """Give a nanny's processes their environment, and let it say how they end; Dask calls it."""
    limit = nanny.memory_manager.memory_limit
    found = allocation(int(limit)) if limit else {}
    if "NUMBA_CACHE_DIR" not in os.environ:
        found["NUMBA_CACHE_DIR"] = str(own_cache(Path(nanny.local_directory)))
    nanny.pre_spawn_env.update(found)
    nanny.env.update(found)
    report_exits(nanny)


def allocation(memory_limit: int) -> dict[str, str]:
    """Return the environment in which glibc keeps freed memory for the next task.

    Matrices come and go with every block, and pages that the system has to clear for each of them
    took a quarter of the processors' time. What lies unused beyond an eighth goes back.
    """
    return {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(memory_limit // 8),
        "MALLOC_TOP_PAD_": str(64 << 20),
    }


def own_cache(folder: Path) -> Path:
    """Return a folder for compiled code below one on the node's own disk.

    Workers on one node share it, those of other sources of the package do not. Compiled code is
    run, so what somebody else has put there is not used.
    """
    found = folder / f"dcsvm-numba-{sources_digest()}"
    try:
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        if found.lstat().st_uid == os.getuid():
            return found
    except OSError:  # not ours to write to
        pass
    return Path(tempfile.mkdtemp(prefix="dcsvm-numba-"))
