"""How often the variables of a problem change in working sets, and in how many sets.

How often variables change is known only from the run. Where a kernel is local (a row sees few
others) it is some ten times for each variable: covtype at gamma = 32 changes 10.6 n. Where it is
smooth, it follows from the support vectors that a probe expects: these go to their bounds within a
few sets; free ones that do not fit into one set are set against each other again and again.
"""

from __future__ import annotations

from dcsvm_dask.methods.forecast import Forecast

OF_SUPPORT, OF_FREE, FREE_OF_SET = 2.0, 28.0, 0.75
"""How often a support vector changes, and how often a free one beyond this share of a set more."""
OF_ROWS = {False: 10.0, None: 3.0}
"""How often a variable changes where the kernel is not smooth, and where nobody knows whether it
is."""
TO_BOUNDS, AMONG_FREE, USUAL = 0.35, 0.8, 0.75
"""Share of a set that changes while variables go to their bounds, among free ones, and where
nothing is known of them."""


def moves(sizes: Forecast, size: int) -> float:
    """Return how many changes of variables take the problem from zero to its solution.

    Parameters
    ----------
    sizes : Forecast
    size : int
        Variables of a working set.
    """
    smooth = sizes.measured.smooth
    if sizes.n <= size:
        return float(sizes.n)
    return sum(_of_smooth(sizes, size)) if smooth else OF_ROWS[smooth] * sizes.n


def sets(sizes: Forecast, size: int) -> float:
    """Return in how many working sets they change; see `moves` for the parameters."""
    if sizes.n > size and sizes.measured.smooth:
        to_bounds, among_free = _of_smooth(sizes, size)
        changing = to_bounds / TO_BOUNDS + among_free / AMONG_FREE
    else:
        changing = moves(sizes, size) / USUAL
    return max(1.0, changing / size)


def _of_smooth(sizes: Forecast, size: int) -> tuple[float, float]:
    beyond = max(0.0, sizes.measured.free_support - FREE_OF_SET * size)
    return OF_SUPPORT * sizes.support, OF_FREE * beyond
