"""What was seen of a data set and of a worker before the work begins."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.storage.node import Record


@dataclass(frozen=True, slots=True)
class Measured:
    """What a plan rests on beside sizes; the defaults are what is typical."""

    smooth: bool | None = None
    """Whether the kernel is smooth, so that levels do not pay; None: nobody has looked."""
    set_share: float = 1.0
    """Share of the variables that a working set has to hold."""
    support_share: float = 1.0
    """Share of a sample's rows that are support vectors, where classes are many."""
    kept_share: float = 0.3
    """Share of the variables that a solver which learns row by row keeps."""
    value_seconds: float = 2e-9
    """Time of a core for a kernel value, with the steps of the solver."""
    process_bytes: int = 215 << 20
    """What a worker takes before its first task: Python, NumPy, Numba, Dask, compiled code."""

    @classmethod
    def of(cls, record: Record) -> Measured:
        """Return what the probe's record says."""
        return cls(**{name: record[name] for name in cls.__slots__ if name in record})


TYPICAL = Measured()
