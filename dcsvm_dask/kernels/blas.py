"""BLAS on one thread, for matrices that are too small to be worth more."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread meanwhile, in the whole process.

    NumPy and SciPy have a pool of threads each, which wait for each other's cores: where other
    work is on the machine, many small products take several times as long on two threads as on
    one.
    """
    limit: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that are loaded: to look for them takes milliseconds."""
    import scipy.linalg.blas  # noqa: F401  # SciPy has a BLAS of its own

    return ThreadpoolController()
