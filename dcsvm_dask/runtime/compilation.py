"""Compiling the numerics at a known moment, and the cache of compiled code."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcsvm_dask.compiled import ROOT, SETTING, own_cache, sources
from dcsvm_dask.runtime.interrupts import raised_between_passes

if TYPE_CHECKING:
    from dcsvm_dask.runtime.announcer import Announcer

COMPILING = "compiling (about half a minute, once)"
"""What is reported where code is compiled."""


def warm_up(
    compiling: Callable[[], None] | None = None,
    *,
    linear: bool = False,
    online: bool = False,
    kinks: bool = False,
    signed: bool = False,
    cutting: bool = False,
    budget: bool = False,
    classes: bool = False,
    free_bias: bool = False,
    parallel: bool = False,
    one_set: bool = False,
    bias: bool = False,
    scores: bool = False,
) -> None:
    """Compile, or load from the cache, every compiled function of the package, or some of them.

    Functions that this process has compiled or loaded cost nothing. See `is_compiled` for the mark
    in the cache. Ctrl-C ends it between two passes of the compiler.

    Parameters
    ----------
    compiling : callable, optional
        Called once before the first compilation, if there is any.
    linear : bool, default False
        Whether to include functions for feature maps and linear SVMs.
    online : bool, default False
        Whether to include functions for LaSVM.
    kinks : bool, default False
        Whether to include functions for dual problems with kinks, as epsilon-SVR has them.
    signed : bool, default False
        Whether to include functions for linear SVMs of tasks without classes.
    cutting : bool, default False
        Whether to include functions for linear SVMs by cutting planes.
    budget : bool, default False
        Whether to include functions for SVMs on a budget of support vectors.
    classes : bool, default False
        Whether to include functions for linear SVMs of all classes in one problem.
    free_bias : bool, default False
        Whether to include functions for linear SVMs whose bias is free.
    parallel : bool, default False
        Whether to include functions for working sets over shares of the rows.
    one_set : bool, default False
        Whether to leave out what the solution of one working set in this process does not need:
        half of all, or more.
    bias : bool, default False
        Whether that working set has a bias.
    scores : bool, default False
        Whether the model of that working set predicts, too.
    """
    from dcsvm_dask import clustering, features, kernels, solvers
    from dcsvm_dask.storage import hashing

    with raised_between_passes(), first_compiled(compiling or (lambda: None)):
        _once(_drop_outdated)
        if one_set:
            _once(kernels.warm_up_matrix)
            _once(solvers.warm_up_one_set, kinks=kinks, equality=bias)
            if scores:
                _once(kernels.warm_up_products, blocks=False)
            return
        _once(kernels.warm_up)
        _once(solvers.warm_up)
        _once(clustering.warm_up)
        _once(hashing.warm_up)
        _once(_mark)
        if linear:
            _once(features.warm_up)
            _once(solvers.warm_up_linear)
        if online:
            _once(solvers.warm_up_online)
        if kinks:
            _once(solvers.warm_up_kinks)
        if signed:
            _once(solvers.warm_up_linear_dual)
        if cutting:
            _once(solvers.warm_up_cutting)
        if budget:
            _once(solvers.warm_up_budget)
        if classes:
            _once(solvers.warm_up_classes)
        if free_bias:
            _once(solvers.warm_up_free_bias)
        if parallel:
            _once(solvers.warm_up_parallel)


def warm_up_prediction(*, early: bool) -> None:
    """Compile, or load from the cache, what the exact model predicts by, or an early one."""
    from dcsvm_dask import kernels

    with raised_between_passes():
        _once(_drop_outdated)
        _once(kernels.warm_up_products, blocks=early)


@cache
def _once(warm_up_room: Callable[..., None], **how: bool) -> None:
    warm_up_room(**how)


def cache_folder() -> Path | None:
    """Return the folder of Numba's cache for this package; None where nothing is compiled."""
    from dcsvm_dask.kernels import far

    stats = getattr(far._gaps, "stats", None)  # absent with NUMBA_DISABLE_JIT
    return None if stats is None else Path(stats.cache_path)


def is_compiled() -> bool:
    """Return whether all functions, but for linear and online solvers, are compiled or cached."""
    folder = cache_folder()
    return folder is None or is_loaded() or (folder / _mark_name()).exists()


def is_loaded() -> bool:
    """Return whether `warm_up` has finished in this process."""
    return bool(_loaded)


_loaded: list[bool] = []


def _mark() -> None:
    """Mark the cache as complete."""
    _loaded.append(True)
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):  # then other processes check each function
            (folder / _mark_name()).touch()


def _drop_outdated() -> None:
    """Delete code that was compiled before a source file changed.

    Numba checks the file of a function only, not those of the functions that it calls, so in a
    checkout it would use old code. `use_own_cache` gives other sources another folder.
    """
    folder = cache_folder()
    if folder is None or ROOT not in folder.parents or (folder / _mark_name()).exists():
        return
    for pattern in ("*.nbi", "*.nbc", "dcsvm-compiled-*"):
        for file in ROOT.rglob(f"__pycache__/{pattern}"):
            with contextlib.suppress(
                OSError
            ):  # a file of another user; code is then compiled to memory
                file.unlink()


@cache
def _mark_name() -> str:
    """Return a name that depends on everything that makes Numba compile again."""
    import numba
    from numba.core.registry import cpu_target

    digest = hashlib.sha256(repr((numba.__version__, sys.version)).encode())
    digest.update(repr(cpu_target.target_context.codegen().magic_tuple()).encode())
    for path in sources():
        about = path.stat()
        digest.update(repr((str(path), about.st_mtime, about.st_size)).encode())
    return f"dcsvm-compiled-{digest.hexdigest()[:16]}"


@contextmanager
def first_compiled(report: Callable[[], None]) -> Iterator[None]:
    """Call a function once if Numba begins to compile code of this package inside the block."""
    from numba.core import event

    class First(event.Listener):  # type: ignore[misc]
        reported = False

        def on_start(self, event: Any) -> None:
            module = getattr(event.data["dispatcher"].py_func, "__module__", "")
            if not self.reported and module.startswith(ROOT.name):
                self.reported = True
                report()

        def on_end(self, event: Any) -> None:
            """Do nothing."""

    # Loading from the cache is no such event.
    with event.install_listener("numba:compile", First()):
        yield


@contextmanager
def announced(announcer: Announcer, *, doing: bool = False) -> Iterator[None]:
    """Report once that code of this package is compiled, if it is, inside the block.

    Where another thread compiles, it is reported when this one next reports something.

    Parameters
    ----------
    announcer : Announcer
    doing : bool, default False
        See `Announcer.say`.
    """
    here = threading.get_ident()

    def report() -> None:
        if threading.get_ident() == here:
            announcer.say(COMPILING, doing=doing)
        else:
            announcer.send({"kind": "said", "text": COMPILING, "doing": doing})

    with first_compiled(report):
        yield


def use_own_cache() -> None:
    """Set Numba's cache to that of the package for this process and its children, if none is set.

    Call this function before anything imports Numba.
    """
    if SETTING not in os.environ:
        os.environ[SETTING] = str(own_cache())
