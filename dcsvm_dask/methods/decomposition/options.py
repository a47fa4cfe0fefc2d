"""The parameters of parallel decomposition, and how the work of a run is shared."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.checks import check
from dcsvm_dask.methods.options import Options
from dcsvm_dask.parameters import parameter


@dataclass(frozen=True)
class Decomposition(Options):
    """Working sets and what is kept between them."""

    size: int = parameter(2048, "rows of a working set (q)", least=2, most=46340)
    entering: int | None = parameter(
        None,
        "rows that may enter a working set at first (n); fewer later on",
        least=2,
        default_text="half of size",
    )
    cache: float = parameter(
        256.0, "megabytes of each worker for kernel columns that are met again", least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        most = f"at most size, which is {self.size}"
        check(self.entering is None or self.entering <= self.size, "entering", self.entering, most)

    @classmethod
    def within(cls, cap: int) -> Decomposition:
        """Return the defaults within a cap on working sets.

        Parameters
        ----------
        cap : int
            Rows whose kernel matrix in float32 takes as much memory as kernel columns may.
        """
        return cls(size=max(2, min(cls.size, cap)), cache=min(cls.cache, 4.0 * cap**2 / 2**20))

    @property
    def first_entering(self) -> int:
        """Rows that may enter a working set at first."""
        return max(2, self.size // 2) if self.entering is None else self.entering
