"""External permutation of the rows of a spool in bounded memory, by buckets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.spool import Column, RowSpool

BUCKET_BYTES = 48 << 20
"""Bytes of rows that are permuted in memory."""

MOST_BUCKETS = 32


def permuted(
    spool: RowSpool, y: Column, order: NDArray[np.int64]
) -> Iterator[tuple[Rows, NDArray[Any]]]:
    """Yield rows and their codes or targets in an order.

    Rows go to buckets by their place in the order, in one sequential pass; each bucket is then
    permuted in memory, or by buckets again.

    Parameters
    ----------
    spool : RowSpool
    y : Column
        A code or a target for every row of the spool.
    order : int64 array, shape (m,)
        Distinct row numbers; other rows are left out.

    Yields
    ------
    rows : ndarray or csr_array
    y : array
    """
    count = min(MOST_BUCKETS, -(-spool.nbytes // BUCKET_BYTES))
    if count <= 1:
        rows, found = spool.read(0, spool.n_rows), y.read(0, spool.n_rows)
        for start, stop in spool.spans():
            index = order[start : min(stop, order.size)]
            if index.size:
                yield rows[index], found[index]
        return
    place = np.full(spool.n_rows, -1, np.int64)
    place[order] = np.arange(order.size)
    with contextlib.ExitStack() as stack:
        buckets = []
        for _ in range(count):
            bucket = (RowSpool(spool.is_sparse), Column(y.dtype), Column(np.int64))
            buckets.append(bucket)
            for part in bucket:
                stack.callback(part.close)
        for start, stop in spool.spans():
            rows, found = spool.read(start, stop), y.read(start, stop)
            goal = place[start:stop]
            for number, (bucket_rows, bucket_y, bucket_places) in enumerate(buckets):
                low, high = (order.size * (number + k) // count for k in (0, 1))
                chosen = np.flatnonzero((goal >= low) & (goal < high))
                if chosen.size:
                    bucket_rows.append(rows[chosen])
                    bucket_y.append(found[chosen])
                    bucket_places.append(goal[chosen])
        del place
        for bucket_rows, bucket_y, bucket_places in buckets:
            bucket_rows.n_features = spool.n_features
            again = np.argsort(bucket_places.read(0, bucket_rows.n_rows))
            yield from permuted(bucket_rows, bucket_y, again)
            for part in (bucket_rows, bucket_y, bucket_places):
                part.close()
