"""Processes of tests compile each function once for all of them.

Numba's cache keeps what was compiled, but processes that need a function at the same time each
compile it, and of two that write a function's index at the same time one is lost.
"""

from __future__ import annotations

import fcntl
from functools import wraps
from pathlib import Path
from typing import Any


def compile_in_turn() -> None:
    """Let processes that have the same cache compile a function, or look it up, one by one."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    dispatcher: Any = Dispatcher
    compile_ = dispatcher.compile
    held: set[str] = set()

    @wraps(compile_)
    def in_turn(self: Any, signature: Any) -> Any:
        folder = self.stats.cache_path
        function = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if folder is None or function in held:
            return compile_(self, signature)
        # Threads have their turn first: one with the file's lock must not wait for another.
        with global_compiler_lock:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with (Path(folder) / f"{function}.lock").open("wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                held.add(function)
                try:
                    return compile_(self, signature)
                finally:
                    held.remove(function)

    dispatcher.compile = in_turn
