"""In which order passes of dual coordinate descent visit rows, and when they let rows go."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Literal, get_args

from dcsvm_dask.checks import is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.linear.loops import DRAWN, FIXED, SHUFFLED

Order = Literal["shuffled", "fixed", "drawn"]
_CODES = {"shuffled": SHUFFLED, "fixed": FIXED, "drawn": DRAWN}


@dataclass(frozen=True, slots=True)
class Visits:
    """What a pass visits: see `dcsvm_dask.solvers.solve_linear`."""

    order: Order = "shuffled"
    shrink: float = 1.0

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise InputError(f"order is {self.order!r:.80}: give {', '.join(get_args(Order))}.")
        if not (is_a(self.shrink, numbers.Real) and self.shrink > 0.0):
            raise InputError(
                f"shrink is {self.shrink!r:.80}: give a factor above 0, infinity to let no row go."
            )

    @property
    def is_random(self) -> bool:
        """Whether the order is random."""
        return self.order != "fixed"

    @property
    def compiled(self) -> tuple[int, float]:
        """What compiled passes take: the code of the order, and the factor of shrinking.

        Rows that are drawn stay in the pool.
        """
        return _CODES[self.order], float("inf") if self.order == "drawn" else float(self.shrink)


USUAL = Visits()
