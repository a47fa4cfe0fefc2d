"""Copying one triangle of a symmetric matrix onto the other."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.compiled import njit


@njit(cache=True, nogil=True)
def mirror(K: Any, first: Any, last: Any) -> None:
    """Copy the lower triangle of a square matrix onto some rows of the upper one, by blocks.

    Eight rows by eight columns are a few cache lines of each side, so that every line is read and
    written once; a block of 64 stays within the pages whose addresses the processor remembers.
    """
    n = len(K)
    for i in range(first, min(last, n), 64):
        for j in range(i, n, 64):
            if j > i and j + 64 <= n:
                for q in range(j, j + 64, 8):
                    for p in range(i, i + 64, 8):
                        for a in range(8):
                            for b in range(8):
                                K[p + a, q + b] = K[q + b, p + a]
                continue
            for p in range(i, min(i + 64, n)):
                for q in range(max(j, p + 1), min(j + 64, n)):
                    K[p, q] = K[q, p]


@njit(cache=True, nogil=True)
def mirror_tile(K: Any, start: Any, stop: Any, chosen: Any) -> None:
    """Copy the chosen rows of columns start:stop to where their mirror images belong.

    Where eight chosen rows follow each other a block of them is copied at a time; see `mirror`.
    """
    for c in range(0, len(chosen), 64):
        last = min(c + 64, len(chosen))
        for i in range(start, stop, 8):
            end = min(i + 8, stop)
            r = c
            while r < last:
                j = chosen[r]
                if end == i + 8 and r + 8 <= last and chosen[r + 7] == j + 7:
                    for a in range(8):
                        for b in range(8):
                            K[i + a, j + b] = K[j + b, i + a]
                    r += 8
                else:
                    for p in range(i, end):
                        K[p, j] = K[j, p]
                    r += 1
