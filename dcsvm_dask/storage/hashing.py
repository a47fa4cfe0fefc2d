"""128-bit hashes of rows, and the fingerprint of a data set.

A row's hash is the sum over its non-zero features of a mix of (feature, value), mixed with its
code: two independent sums of 64 bits. So it is the same for dense and sparse rows and for any
chunking. The mixing function is the 64-bit finaliser of MurmurHash3 (A. Appleby, public domain).
It finds repeats and accidental changes; it does not protect against forgery.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse as scipy_sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.rows import Rows

_SEED = np.uint64(0x9E3779B97F4A7C15)
_OTHER = np.uint64(0xD6E8FEB86659FD93)
_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_S33 = np.uint64(33)
_S32 = np.uint64(32)


def row_hashes(rows: Rows, y: NDArray[np.integer | np.float64] | None) -> NDArray[np.uint64]:
    """Return the 128-bit hashes of rows with their class codes or targets, or of rows alone.

    Parameters
    ----------
    rows : float32 ndarray or csr_array, shape (n, d)
    y : int32, int64 or float64 array, shape (n,), or None
        Class codes, or targets without -0.0; int64 may be the bits of such targets. None: rows
        that are equal have equal hashes.

    Returns
    -------
    uint64 array, shape (n, 2)
    """
    out = np.empty((rows.shape[0], 2), np.uint64)
    y = np.zeros(rows.shape[0], np.int32) if y is None else y
    codes = np.ascontiguousarray(y).view(np.int64) if y.dtype == np.float64 else y
    if scipy_sparse.issparse(rows):
        _hash_sparse(rows.data.view(np.uint32), rows.indices, rows.indptr, codes, out)
    else:
        _hash_dense(np.ascontiguousarray(rows).view(np.uint32), codes, out)
    return out


def warm_up(*, sparse: bool) -> None:
    """Compile, or load from Numba's cache, the hashes of rows with classes, dense or CSR.

    Loading takes 23 MiB of the compiler's library, which forked workers have from their parent.
    """
    rows = np.ones((1, 1), dtype=np.float32)
    some = scipy_sparse.csr_array(rows) if sparse else rows
    row_hashes(some, np.zeros(1, dtype=np.int32))


def fingerprint(hashes: Iterable[NDArray[np.uint64]], heading: str) -> str:
    """Return 32 hexadecimal digits over hashes in row order.

    Parameters
    ----------
    hashes : iterable of uint64 (m, 2)
        Pieces of any size.
    heading : str
        Other properties of the data, such as the number of features and the classes.
    """
    digest = hashlib.sha256(heading.encode())
    for piece in hashes:
        digest.update(np.ascontiguousarray(piece, dtype="<u8").data)
    return digest.hexdigest()[:32]


@njit(cache=True, nogil=True)
def _mix(key: np.uint64) -> np.uint64:
    key ^= key >> _S33
    key *= _M1
    key ^= key >> _S33
    key *= _M2
    return key ^ (key >> _S33)


@njit(cache=True, nogil=True)
def _close(first: np.uint64, second: np.uint64, code: int, out: Any) -> None:
    y = np.uint64(code) + _SEED
    out[0] = _mix(first ^ _mix(y))
    out[1] = _mix(second ^ _mix(y * _OTHER) ^ out[0])


@njit(cache=True, nogil=True)
def _hash_dense(bits: Any, codes: Any, out: Any) -> None:
    for i in range(bits.shape[0]):
        first = np.uint64(0)
        second = np.uint64(0)
        for j in range(bits.shape[1]):
            if bits[i, j] != 0:
                key = (np.uint64(j) << _S32) | np.uint64(bits[i, j])
                first += _mix(key ^ _SEED)
                second += _mix(key * _OTHER)
        _close(first, second, codes[i], out[i])


@njit(cache=True, nogil=True)
def _hash_sparse(bits: Any, indices: Any, indptr: Any, codes: Any, out: Any) -> None:
    for i in range(indptr.size - 1):
        first = np.uint64(0)
        second = np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            if bits[k] != 0:
                key = (np.uint64(indices[k]) << _S32) | np.uint64(bits[k])
                first += _mix(key ^ _SEED)
                second += _mix(key * _OTHER)
        _close(first, second, codes[i], out[i])
