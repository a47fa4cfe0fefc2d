"""A preload module of nannies: the environment of worker processes, and reports of their exits.

The allocator reads its environment when a process starts, and Numba that of its cache when it is
imported. Use it as ``dask worker ... --preload-nanny dcsvm_dask.runtime.preload``.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from dcsvm_dask.compiled import sources_digest
from dcsvm_dask.runtime.exits import report_exits

MODULE = "dcsvm_dask.runtime.preload"


def dask_setup(nanny: Any) -> None:
    """Set the environment of a nanny's processes and report their exits.

    Dask calls this function.
    """
    limit = nanny.memory_manager.memory_limit
    found = allocation(int(limit)) if limit else {}
    if "NUMBA_CACHE_DIR" not in os.environ:
        found["NUMBA_CACHE_DIR"] = str(own_cache(Path(nanny.local_directory)))
    nanny.pre_spawn_env.update(found)
    nanny.env.update(found)
    report_exits(nanny)


def allocation(memory_limit: int) -> dict[str, str]:
    """Return environment variables with which glibc keeps freed memory for the next task.

    Matrices are allocated and freed with every block, and clearing new pages took a quarter of the
    processors' time. Free memory beyond an eighth of the limit is returned to the system.
    """
    return {
        "MALLOC_ARENA_MAX": "1",
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(free_memory(memory_limit)),
        "MALLOC_TOP_PAD_": str(64 << 20),
    }


def free_memory(memory_limit: int) -> int:
    """Return how many bytes of free memory a process keeps, given its limit."""
    return memory_limit // 8


def own_cache(folder: Path) -> Path:
    """Return a folder for compiled code below a folder on the node's disk.

    Workers on one node with the same sources share it. Since compiled code is executed, a folder of
    another user is not used.
    """
    found = folder / f"dcsvm-numba-{sources_digest()}"
    try:
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        if found.lstat().st_uid == os.getuid():
            return found
    except OSError:  # not ours to write to
        pass
    return Path(tempfile.mkdtemp(prefix="dcsvm-numba-"))
