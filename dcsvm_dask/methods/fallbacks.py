"""The warning of working sets that an inner solver did not finish."""

from __future__ import annotations

from dcsvm_dask.numbers import counted


def fallbacks_warning(inner: str, count: int) -> str:
    """Return the text of the warning.

    Parameters
    ----------
    inner : str
        The name of the inner solver.
    count : int
        See `Solution.fallbacks`.
    """
    return (
        f"inner={inner!r} did not converge on {counted(count, 'working set')}: SMO went on there, "
        "to the same tolerance; inner='auto' chooses by itself"
    )
