"""What is known of one chunk of rows while it is not in memory, and the few rows kept of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows


@dataclass(slots=True)
class Part:
    """One chunk's rows among all."""

    rows: slice
    order: NDArray[np.int32]
    """Rows, counted from the first of the chunk, that take part in passes; active ones first."""
    active: int
    kept: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Rows, counted from the first of all, of which copies stay in memory."""
    copies: Rows = None

    @property
    def is_full(self) -> bool:
        """Whether all rows that take part are active."""
        return self.active == len(self.order)

    def keep(self, rows: Rows, chosen: NDArray[np.int64]) -> None:
        """Keep copies of some rows of the chunk, which is `rows`."""
        self.kept = self.rows.start + chosen
        self.copies = rows[chosen]

    def settle(self, order: NDArray[np.int32], active: int, of: int) -> None:
        """Take over which rows are active from a pass that had other chunks' rows behind its own.

        `order` had the chunk's active rows first when the pass began; the chunk has `of` rows.
        """
        here = order[:active]
        gone = order[active:]
        here, gone = here[here < of], gone[gone < of]
        self.order[: self.active] = np.concatenate([here, gone])
        self.active = len(here)
