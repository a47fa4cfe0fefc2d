"""Large products of one node, in which others may take part; who does changes no result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict

from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers import SHARED_FROM, CarryOut, Count, SharedRows
from dcsvm_dask.storage.node import Record

Helpers = Callable[[list[Rows]], CarryOut]
_helpers: Helpers | None = None
_count: ContextVar[Count | None] = ContextVar("count", default=None)


def use(helpers: Helpers | None) -> None:
    """Set what carries out the products of this process, given the rows of all shares."""
    global _helpers
    _helpers = helpers


@contextmanager
def shared_rows(X: Rows) -> Iterator[SharedRows | None]:
    """Give rows in shares if they are many, and count their products for the node."""
    if X.shape[0] < SHARED_FROM:
        yield None
        return
    shared = SharedRows(X, _helpers)
    try:
        yield shared
    finally:
        count = _count.get()
        if count is not None:
            count.add(shared.count)


@contextmanager
def counted() -> Iterator[Record]:
    """Count the products of a node that others may take part in.

    The record is filled at the end: ``shared`` has what `Count` says; it stays empty where there
    were none.
    """
    record: Record = {}
    count = Count()
    before = _count.set(count)
    try:
        yield record
    finally:
        _count.reset(before)
        if count.products:
            record["shared"] = asdict(count)
