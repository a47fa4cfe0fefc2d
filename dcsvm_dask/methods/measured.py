"""What a plan knows beside sizes: measurements of the probe, or typical values."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.storage.node import Record

NEAR_PAIRS = 0.1
"""Typical share of pairs of rows that are not provably negligible where the kernel is local."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements that a plan uses beside sizes; the defaults are typical values."""

    smooth: bool | None = None
    """Whether the kernel is smooth, so that levels do not pay; None: not known."""
    set_share: float = 1.0
    """Share of the variables that the working set needs; 1: not known."""
    free_support: float = 0.0
    """Support vectors below their bound that all rows are expected to have; 0: not known."""
    support_share: float = 1.0
    """Share of a sample's rows that are support vectors, of more than two classes."""
    near_share: float = NEAR_PAIRS
    """Share of pairs of rows whose kernel values are computed: others are provably negligible."""
    kept_share: float = 0.3
    """Share of the variables that an online solver keeps."""
    value_seconds: float = 0.0
    """Time of a core for a kernel value including the solver's steps, in seconds; 0: not measured,
    that of `usual_value_seconds`."""
    process_bytes: int = 215 << 20
    """Memory of a worker before its first task: Python, NumPy, Numba, Dask, compiled code.

    The mapped pages of a library that was just installed may be counted as 70 MiB more.
    """

    @classmethod
    def of(cls, record: Record) -> Measured:
        """Return the measurements in the probe's record."""
        return cls(**{name: record[name] for name in cls.__slots__ if name in record})


TYPICAL = Measured()

VALUE_SECONDS, FEATURE_SECONDS, SPARSE_SECONDS = 1.1e-9, 0.04e-9, 0.4e-9
"""Seconds of a core for a kernel value with its share of the solver's steps: beside its features,
for a feature, and for a stored value of a sparse row; as the probe measures them for rows of random
numbers with 4 to 784 features."""


def usual_value_seconds(width: float, values: float) -> float:
    """Return the typical time of a core for a kernel value, in seconds.

    Parameters
    ----------
    width : float
        Features of a row.
    values : float
        Stored values of a row.
    """
    each = FEATURE_SECONDS * width
    return VALUE_SECONDS + (each if values >= width else min(each, SPARSE_SECONDS * values))


SUPPORT_SHARE, OF_SET = 0.3, 0.8
"""Share of the support vectors among the variables, typical of noisy data, and among those that a
working set needs, where these are known."""


def support_share(set_share: float) -> float:
    """Return the expected share of support vectors among the variables.

    Parameters
    ----------
    set_share : float
        Share of the variables that the working set needs; 1: not known.
    """
    return OF_SET * set_share if set_share < 1.0 else SUPPORT_SHARE
