"""The kernel matrix that a solver is given, checked, with the ridge on its diagonal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks import Dual


@contextmanager
def prepared(K: NDArray[np.floating], dual: Dual) -> Iterator[tuple[NDArray[np.floating], Dual]]:
    """Give a checked kernel matrix with the ridge on its diagonal, and the problem without it.

    The ridge is in the matrix's own memory until the context is left.

    Parameters
    ----------
    K : ndarray, shape (n, n)
    dual : Dual

    Raises
    ------
    InputError
        If the matrix is not square, of floats, and of the size of the ridge.
    """
    K = _matrix(K)
    if dual.ridge is None:
        yield K, dual
        return
    if K.shape[0] != len(dual.ridge):
        raise InputError(f"ridge has {len(dual.ridge)} values for {K.shape[0]} rows.")
    K = K if K.flags.writeable else K.copy()
    before = K.diagonal().copy()
    np.fill_diagonal(K, before + dual.ridge)
    try:
        yield K, replace(dual, ridge=None)
    finally:
        np.fill_diagonal(K, before)


def _matrix(K: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return K with contiguous rows; it is symmetric, so the transposed serves as well."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InputError(f"the kernel matrix has the shape {K.shape}: it must be square.")
    if K.dtype not in (np.float32, np.float64):
        raise InputError(f"the kernel matrix is {K.dtype}: give float32 or float64.")
    return np.ascontiguousarray(K.T if K.flags.f_contiguous else K)
