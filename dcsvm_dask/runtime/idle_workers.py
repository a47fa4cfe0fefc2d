"""Idle workers help with the large products of a task that still runs.

At the end of a level most workers have nothing to do, and its largest block is solved by one task.
The rows of such a block are in shares (`SharedRows`). For every product the task asks the scheduler
which workers are idle and gives each of them some shares, whose rows stay there; it computes a part
itself, and what does not come in time, whatever happened to it. So no product waits for a worker
that is busy, slow or lost, and none depends on who computed it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from distributed import KilledWorker, get_client, get_worker

from dcsvm_dask.kernels import Rows
from dcsvm_dask.runtime.placement import Placement, known_workers
from dcsvm_dask.solvers import CarryOut, Part, PartSums, Product

PATIENCE, LEAST_PATIENCE = 2.0, 0.1
"""Help that takes so many times as long as this task's own part, or seconds, is late."""
LATE_PRODUCTS = 8
"""After help was late a task goes without for so many products."""


def helped(shares: list[Rows]) -> CarryOut:
    """Return what carries out products of a task's shares, on idle workers where there are any."""
    return _Helped(shares)


class _Helped:
    """Carries out products for the task of this thread."""

    def __init__(self, shares: list[Rows]) -> None:
        self._shares = shares
        self._held: dict[tuple[str, tuple[int, ...]], Any] = {}
        self._alone = 0
        self._client, self._address, self._placement, self._priority = _this_task()

    def __call__(self, product: Product, parts: Sequence[Part]) -> list[PartSums]:
        most = product.most(parts)
        found: dict[int, PartSums] = {}
        if self._client is not None and most:
            if self._alone:
                self._alone -= 1
            else:
                self._alone = LATE_PRODUCTS
                with contextlib.suppress(Exception):  # whatever it was: help is never needed
                    found = self._by_others(product, parts, most)
        return [
            found.get(part.share) or product.sums(self._shares[part.share], part) for part in parts
        ]

    def _by_others(self, product: Product, parts: Sequence[Part], most: int) -> dict[int, PartSums]:
        """Return sums of parts that at most so many others computed, and of this task's own."""
        helpers = self._idle()[:most]
        if not helpers:
            self._alone = 0
            return {}
        mine, *theirs = _dealt(parts, 1 + len(helpers))
        # Without `broadcast`: helpers fetch it from here, and no event says that it was copied,
        # at which the scheduler closes the connections of clients that read its topic "all".
        asked = self._client.scatter(product, direct=True, hash=False)
        futures = [
            self._client.submit(
                sums_of,
                self._rows_at(helper, tuple(part.share for part in some)),
                asked,
                some,
                workers=[helper],
                priority=self._priority,
                pure=False,
                retries=0,
            )
            for helper, some in zip(helpers, theirs, strict=True)
        ]
        begin = time.monotonic()
        found = {part.share: product.sums(self._shares[part.share], part) for part in mine}
        until = time.monotonic() + max(LEAST_PATIENCE, PATIENCE * (time.monotonic() - begin))
        late = False
        for future, some in zip(futures, theirs, strict=True):
            try:
                sums = future.result(timeout=max(0.01, until - time.monotonic()))
            except (TimeoutError, CancelledError, KilledWorker, OSError):
                late = True
            else:
                found |= {part.share: one for part, one in zip(some, sums, strict=True)}
        if late:
            self._held.clear()
        else:
            self._alone = 0
        return found

    def _idle(self) -> list[str]:
        """Return the addresses of workers that have nothing to do and may run this run's tasks."""
        about = self._placement.among(known_workers(self._client))
        tasks = self._client.processing()
        return sorted(
            address
            for address in about
            if address != self._address and address in tasks and not tasks[address]
        )

    def _rows_at(self, helper: str, shares: tuple[int, ...]) -> Any:
        """Return the future of the rows of some shares, which stay on a worker."""
        key = (helper, shares)
        if key not in self._held:
            for other in [other for other in self._held if other[0] == helper]:
                del self._held[other]  # who is idle has changed: it gets others
            rows = HeldShares({share: self._shares[share] for share in shares})
            self._held[key] = self._client.scatter(rows, workers=[helper], direct=True, hash=False)
        return self._held[key]


@dataclass(frozen=True)
class HeldShares:
    """The rows of some shares, by their numbers: a dict alone would be scattered value by value."""

    rows: dict[int, Rows]

    def __sizeof__(self) -> int:
        """Return the bytes of the rows, by which Dask leaves them where they are."""
        return sum(sizeof(X) for X in self.rows.values())


def sums_of(held: HeldShares, product: Product, parts: Sequence[Part]) -> list[PartSums]:
    """Return the sums of parts of shares that are held here."""
    return [replace(product.sums(held.rows[part.share], part), is_elsewhere=True) for part in parts]


def _dealt(parts: Sequence[Part], groups: int) -> list[list[Part]]:
    """Return neighbouring parts in groups of about as many rows, none of them empty."""
    ends = np.cumsum([len(part.rows) for part in parts])
    cuts = [0]
    for group in range(1, groups):
        cut = int(np.searchsorted(ends, ends[-1] * group / groups, side="left"))
        cuts.append(min(max(cut, cuts[-1] + 1), len(parts) - (groups - group)))
    cuts.append(len(parts))
    return [list(parts[a:b]) for a, b in pairwise(cuts)]


def _this_task() -> tuple[Any, str, Placement, float]:
    """Return the client of the worker that runs this task, its address, and where tasks may run.

    The client is None where there is no worker, or no client. The priority of products is above
    that of the run's other tasks: who waits for them has begun.
    """
    with contextlib.suppress(Exception):
        worker = get_worker()
        annotations = worker.state.tasks[worker.get_current_task()].annotations or {}
        workers = annotations.get("workers") or ()
        workers = (workers,) if isinstance(workers, str) else tuple(workers)
        placement = Placement(workers, annotations.get("resources") or {})
        return get_client(), worker.address, placement, annotations.get("priority", 0) + 1
    return None, "", Placement(), 0.0
