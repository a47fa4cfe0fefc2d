"""Compiling the numerics at a known moment, and the cache of compiled code."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcsvm_dask.compiled import ROOT, SETTING, own_cache, sources
from dcsvm_dask.runtime.interrupts import raised_between_passes

if TYPE_CHECKING:
    from dcsvm_dask.runtime.announcer import Announcer

COMPILING = "compiling (some seconds, in a new installation up to half a minute)"
"""What is reported where code is compiled."""


_KERNELS, _SOLVERS = "dcsvm_dask.kernels", "dcsvm_dask.solvers"
_OF_ROWS = (_KERNELS, "dcsvm_dask.clustering", "dcsvm_dask.storage.hashing")
PARTS: dict[str, list[tuple[str, str, dict[str, bool]]]] = {
    "dense": [(room, "warm_up", {"sparse": False}) for room in _OF_ROWS],
    "sparse": [(room, "warm_up", {"sparse": True}) for room in _OF_ROWS],
    "l1": [(_KERNELS, "warm_up_l1", {})],
    "matrix": [(_KERNELS, "warm_up_matrix", {})],
    "prediction": [(_KERNELS, "warm_up_products", {"blocks": False})],
    "early_prediction": [(_KERNELS, "warm_up_products", {"blocks": True})],
    "on_demand": [(_SOLVERS, "warm_up_on_demand", {})],
    "box": [(_SOLVERS, "warm_up_steps", {"equality": False})],
    "pairs": [(_SOLVERS, "warm_up_steps", {"equality": True})],
    "box_kinks": [(_SOLVERS, "warm_up_steps", {"equality": False, "kinks": True})],
    "pairs_kinks": [(_SOLVERS, "warm_up_steps", {"equality": True, "kinks": True})],
    "linear_svm": [("dcsvm_dask.features", "warm_up", {}), (_SOLVERS, "warm_up_linear", {})],
    "signed": [(_SOLVERS, "warm_up_linear_dual", {})],
    "free_bias": [(_SOLVERS, "warm_up_free_bias", {})],
    "classes": [(_SOLVERS, "warm_up_classes", {})],
    "cutting": [(_SOLVERS, "warm_up_cutting", {})],
    "budget": [(_SOLVERS, "warm_up_budget", {})],
    "online": [(_SOLVERS, "warm_up_online", {})],
    "parallel": [(_SOLVERS, "warm_up_parallel", {"sparse": False})],
    "parallel_sparse": [(_SOLVERS, "warm_up_parallel", {"sparse": True})],
}
"""What compiles, or loads from the cache, each part of the package: functions of modules."""
DENSE = ("dense",)
"""The parts that dense rows need, whatever is done with them."""
ANY_ROWS = ("dense", "sparse", "l1")
"""Those that any rows need, with any kernel."""
BASE = (*ANY_ROWS, "box", "pairs", "box_kinks", "pairs_kinks")
"""Those of most runs, which workers share where they are forks of one process."""


def parts_of_run(*, sparse: bool, bias: bool, kinks: bool, l1: bool = False) -> tuple[str, ...]:
    """Return the parts that every run of a kernel SVM needs.

    Parameters
    ----------
    sparse : bool
        Whether rows are CSR.
    bias : bool
        Whether variables have a sum.
    kinks : bool
        Whether the dual problem has kinks, as epsilon-SVR's has.
    l1 : bool, default False
        Whether the kernel is one of L1 distances.
    """
    rows = ("sparse",) if sparse else ("dense", "l1") if l1 else DENSE
    # Blocks of a level are solved for a bias that is given, whole problems with it.
    steps = {steps_of(bias=False, kinks=kinks), steps_of(bias=bias, kinks=kinks)}
    return (*rows, *sorted(steps))


def steps_of(*, bias: bool, kinks: bool) -> str:
    """Return the part that has the steps of a dual problem; see `parts_of_run`."""
    return ("pairs" if bias else "box") + "_kinks" * kinks


def warm_up(parts: Iterable[str], compiling: Callable[[], None] | None = None) -> None:
    """Compile, or load from the cache, the compiled functions of some parts of the package.

    Functions that this process has compiled or loaded cost nothing. See `is_compiled` for the marks
    in the cache. Ctrl-C ends it between two passes of the compiler.

    Parameters
    ----------
    parts : iterable of str
        Keys of `PARTS`.
    compiling : callable, optional
        Called once before the first compilation, if there is any.
    """
    with raised_between_passes(), first_compiled(compiling or (lambda: None)):
        for part in parts:
            _warm_up(part)


@cache
def _warm_up(part: str) -> None:
    _drop_outdated()
    for module, name, how in PARTS[part]:
        getattr(import_module(module), name)(**how)
    _loaded.add(part)
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):  # then other processes check each function
            (folder / _mark(part)).touch()


_loaded: set[str] = set()


def cache_folder() -> Path | None:
    """Return the folder of Numba's cache for this package; None where nothing is compiled."""
    from dcsvm_dask.kernels import far

    stats = getattr(far._gaps, "stats", None)  # absent with NUMBA_DISABLE_JIT
    return None if stats is None else Path(stats.cache_path)


def is_compiled(parts: Iterable[str]) -> bool:
    """Return whether the functions of some parts are compiled or cached."""
    folder = cache_folder()
    missing = set(parts) - _loaded
    return folder is None or all((folder / _mark(part)).exists() for part in missing)


@cache
def _drop_outdated() -> None:
    """Delete code that was compiled before a source file changed.

    Numba checks the file of a function only, not those of the functions that it calls, so in a
    checkout it would use old code. `use_own_cache` gives other sources another folder.
    """
    folder = cache_folder()
    if folder is None or ROOT not in folder.parents or any(folder.glob(f"{_mark('*')}")):
        return
    for pattern in ("*.nbi", "*.nbc", "dcsvm-compiled-*"):
        for file in ROOT.rglob(f"__pycache__/{pattern}"):
            with contextlib.suppress(OSError):  # of another user: code is compiled to memory then
                file.unlink()


def _mark(part: str) -> str:
    """Return the name of the file that says that a part is compiled."""
    return f"dcsvm-compiled-{_conditions()}-{part}"


@cache
def _conditions() -> str:
    """Return a hash of everything that makes Numba compile again."""
    import numba
    from numba.core.registry import cpu_target

    digest = hashlib.sha256(repr((numba.__version__, sys.version)).encode())
    digest.update(repr(cpu_target.target_context.codegen().magic_tuple()).encode())
    for path in sources():
        about = path.stat()
        digest.update(repr((str(path), about.st_mtime, about.st_size)).encode())
    return digest.hexdigest()[:16]


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
            announcer.send({"kind": "notice", "text": COMPILING, "doing": doing})

    with first_compiled(report):
        yield


def use_own_cache() -> None:
    """Set Numba's cache to that of the package for this process and its children, if none is set.

    Call this function before anything imports Numba.
    """
    if SETTING not in os.environ:
        os.environ[SETTING] = str(own_cache())
