"""Compiling once for each node in a child process, so that workers keep answering.

Compiling takes up to half a minute and 200 MiB that stay with the process. So one worker of a
node starts a child process for it, the others wait, and all of them load the result from Numba's
cache.
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
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import IO

from dcsvm_dask.errors import RunError
from dcsvm_dask.runtime.compilation import cache_folder, is_compiled, warm_up
from dcsvm_dask.runtime.exits import described

LOCK = "dcsvm-compiling.lock"
LOOK_SECONDS, BEAT_SECONDS = 0.1, 2.0
COMMAND = "from dcsvm_dask.runtime.compilation import warm_up; warm_up({parts})"
"""Python code of the child."""
logger = logging.getLogger(__name__)


async def compile_once(
    parts: Sequence[str],
    report: Callable[[str], object],
    beat: Callable[[], Awaitable[object]],
) -> None:
    """Load compiled code, after compiling it in a child process if the node's cache has none.

    Parameters
    ----------
    parts : sequence of str
        As for `warm_up`.
    report : callable
        Called with a sentence when a child of this process compiles.
    beat : callable
        Awaited every few seconds while compiling.

    Raises
    ------
    RunError
        If the child fails or is killed.
    """
    if not is_compiled(parts):
        try:
            await _compile(parts, report, beat)
        except OSError as error:  # no folder, no locks, or no further process
            logger.warning("this worker compiles by itself, during which it is silent: %s", error)
    warm_up(parts)


async def _compile(
    parts: Sequence[str], report: Callable[[str], object], beat: Callable[[], Awaitable[object]]
) -> None:
    """Acquire the node's lock and compile, or wait until the owner of the lock has compiled."""
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
    # The lock is released with the last process that has the file open, which may be the child.
    with (folder / LOCK).open("wb") as lock, tempfile.TemporaryFile() as output:
        while not _taken(lock):
            await wait()
            if is_compiled(parts):
                return
        if is_compiled(parts):
            return
        command = COMMAND.format(parts=tuple(parts))
        report(f"compiling for the workers of {socket.gethostname()} (up to half a minute)")
        child = subprocess.Popen(
            [sys.executable, "-c", command],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
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
            raise RunError(_failure(command, child.returncode, output))


def _taken(lock: IO[bytes]) -> bool:
    """Acquire the lock if it is free; return whether this process owns it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _failure(command: str, status: int, output: IO[bytes]) -> str:
    """Return a message for a child that failed, with its last line of output."""
    output.seek(0)
    last = output.read().decode(errors="replace").strip().rpartition("\n")[2]
    why = f" ({last})" if last and status > 0 else ""
    return (
        f"compiling for the workers of {socket.gethostname()} failed: {described(status, None)}"
        f"{why}; it takes about 450 MiB beside the workers: give that node or container more "
        f'memory, or see whether `{Path(sys.executable).name} -c "{command}"` works there'
    )
