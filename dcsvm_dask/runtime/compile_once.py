"""Compiling once a node: by a process of its own, while the workers go on answering.

Compiling takes half a minute or more and 200 MiB that stay with whoever does it. So one worker of a
node has a child process do it, the others wait, and all of them load what it left in Numba's cache.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import IO

from dcsvm_dask.errors import RunError
from dcsvm_dask.runtime.compilation import cache_folder, is_compiled, warm_up
from dcsvm_dask.runtime.exits import described

LOCK = "dcsvm-compiling.lock"
LOOK_SECONDS, BEAT_SECONDS = 0.1, 2.0
COMMAND = "from dcsvm_dask.runtime.compilation import warm_up; warm_up()"
"""What the child does."""
logger = logging.getLogger(__name__)


async def compile_once(
    tell: Callable[[str], object], beat: Callable[[], Awaitable[object]]
) -> None:
    """Load compiled code, and before that have it compiled if nobody has on this node.

    Parameters
    ----------
    tell : callable
        Told in a sentence that a child of this process compiles.
    beat : callable
        Awaited every few seconds meanwhile.

    Raises
    ------
    RunError
        If the child fails or is killed.
    """
    if not is_compiled():
        try:
            await _compile(tell, beat)
        except OSError as error:  # a folder or a file system without locks, no further process
            logger.warning("this worker compiles by itself, during which it is silent: %s", error)
    warm_up()


async def _compile(tell: Callable[[str], object], beat: Callable[[], Awaitable[object]]) -> None:
    """Hold the node's lock and compile, or wait until who holds it has compiled."""
    beaten = time.monotonic()

    async def wait() -> None:
        nonlocal beaten
        await asyncio.sleep(LOOK_SECONDS)
        if time.monotonic() - beaten >= BEAT_SECONDS:
            await beat()
            beaten = time.monotonic()

    folder = cache_folder()
    if folder is None:  # nothing is compiled
        return
    # The lock goes with the last process that has the file open: the child, too, where this
    # process ends before it.
    with (folder / LOCK).open("wb") as lock, tempfile.TemporaryFile() as said:
        while not _taken(lock):
            await wait()
            if is_compiled():
                return
        if is_compiled():
            return
        tell(f"compiling for the workers of {socket.gethostname()} (about half a minute, once)")
        child = subprocess.Popen(
            [sys.executable, "-c", COMMAND],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            pass_fds=[lock.fileno()],
        )
        try:
            while child.poll() is None:
                await wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            child.wait()
        if child.returncode:
            raise RunError(_failure(child.returncode, said))


def _taken(lock: IO[bytes]) -> bool:
    """Whether the lock is this process's now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _failure(status: int, said: IO[bytes]) -> str:
    """Return what is wrong and what to do where the child ended with a status."""
    said.seek(0)
    last = said.read().decode(errors="replace").strip().rpartition("\n")[2]
    why = f" ({last})" if last and status > 0 else ""
    return (
        f"compiling for the workers of {socket.gethostname()} failed: {described(status, None)}"
        f"{why}; it takes about 450 MiB beside the workers: give that node or container more "
        f"memory, or see whether `{Path(sys.executable).name} -c '{COMMAND}'` works there"
    )
