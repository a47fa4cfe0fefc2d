"""Compiling the numerics at a known moment, and where the compiled code is kept."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def warm_up(
    compiling: Callable[[], None] | None = None, *, linear: bool = False, online: bool = False
) -> None:
    """Compile, or load from the cache, every compiled function of the package.

    What this process has compiled or loaded before costs nothing. See `is_compiled` for what is
    left in the cache.

    Parameters
    ----------
    compiling : callable, optional
        Is called once if there is anything to compile, before the first of it.
    linear : bool, default False
        Whether what only feature maps and linear machines need is among it.
    online : bool, default False
        Whether what only LaSVM needs is among it.
    """
    from dcsvm_dask import clustering, features, kernels, solvers

    with first_compiled(compiling or (lambda: None)):
        _once(_drop_outdated)
        _once(kernels.warm_up)
        _once(solvers.warm_up)
        _once(clustering.warm_up)
        _once(_mark)
        if linear:
            _once(features.warm_up)
            _once(solvers.warm_up_linear)
        if online:
            _once(solvers.warm_up_online)


@cache
def _once(warm_up_room: Callable[[], None]) -> None:
    warm_up_room()


def cache_folder() -> Path | None:
    """Return a folder of Numba's cache for this package; None where nothing is compiled."""
    from dcsvm_dask.kernels import far

    stats = getattr(far._gaps, "stats", None)  # absent with NUMBA_DISABLE_JIT
    return None if stats is None else Path(stats.cache_path)


def is_compiled() -> bool:
    """Whether Numba's cache or this process has all but the linear and online parts compiled."""
    folder = cache_folder()
    return folder is None or is_loaded() or (folder / _mark_name()).exists()


def is_loaded() -> bool:
    """Whether `warm_up` has come to its end in this process."""
    return bool(_loaded)


_loaded: list[bool] = []


def _mark() -> None:
    """Leave word in the cache that it has all."""
    _loaded.append(True)
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):  # then others look for themselves
            (folder / _mark_name()).touch()


def _drop_outdated() -> None:
    """Delete what was compiled beside the sources before one of them changed.

    Numba looks at the file of a function alone, not at those of the functions that it calls, so in
    a checkout it would go on with old code. `use_own_cache` gives other sources another folder.
    """
    folder = cache_folder()
    if folder is None or ROOT not in folder.parents or (folder / _mark_name()).exists():
        return
    for pattern in ("*.nbi", "*.nbc", "dcsvm-compiled-*"):
        for file in ROOT.rglob(f"__pycache__/{pattern}"):
            with contextlib.suppress(OSError):  # of another user's: it compiles to memory, then
                file.unlink()


@cache
def _mark_name() -> str:
    """Return a name that changes with all that makes Numba compile anew."""
    import numba
    from numba.core.registry import cpu_target

    digest = hashlib.sha256(repr((numba.__version__, sys.version)).encode())
    digest.update(repr(cpu_target.target_context.codegen().magic_tuple()).encode())
    for path in _sources():
        about = path.stat()
        digest.update(repr((str(path), about.st_mtime, about.st_size)).encode())
    return f"dcsvm-compiled-{digest.hexdigest()[:16]}"


@contextmanager
def first_compiled(tell: Callable[[], None]) -> Iterator[None]:
    """Have it told, once, that Numba begins to compile inside the block."""
    from numba.core import event

    class First(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: Any) -> None:
            del event
            if not self.told:
                self.told = True
                tell()

        def on_end(self, event: Any) -> None:
            """Nothing is told of it."""

    # What comes from the cache is no such event.
    with event.install_listener("numba:compile", First()):
        yield


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
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sources() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))
