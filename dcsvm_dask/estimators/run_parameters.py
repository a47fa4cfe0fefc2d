"""When the fit of an estimator is a run."""

from __future__ import annotations

import math
import numbers
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators.known_kernel import is_known

RUN_PARAMETERS = ("run", "client", "stop_at", "time_budget", "callbacks")
"""Parameters that only a run can serve."""
LEAST_ROWS_OF_RUN = 65_536
"""From so many rows on a run is sooner done than a fit in memory: levels are worth its files."""


def given_run_parameters(estimator: Any) -> list[str]:
    """Return which parameters of an estimator ask for a run."""
    return [name for name in RUN_PARAMETERS if _is_given(name, getattr(estimator, name))]


def trains_run(estimator: Any, n: int = 0, *, by_size: bool = False) -> bool:
    """Return whether `fit` trains a run: if a parameter asks for one, or n is large.

    Parameters
    ----------
    estimator : estimator
        With the parameters `RUN_PARAMETERS` and `max_iter`.
    n : int, default 0
        Number of distinct rows.
    by_size : bool, default False
        Whether n counts, which it does where a run of many rows is sooner done than a fit in
        memory.

    Raises
    ------
    InputError
        If `max_iter` is set with a parameter that asks for a run, or kernel values are given.
    """
    asked, bounded = given_run_parameters(estimator), estimator.max_iter != -1
    if asked and bounded:
        raise InputError(
            f"max_iter is not possible with {asked[0]}: a run takes its steps in many blocks and "
            "rounds, which a time_budget bounds. Leave one of them out."
        )
    known = is_known(estimator.kernel)
    if asked and known:
        raise InputError(
            f"{asked[0]} is not possible with a kernel that is precomputed or a callable: a run "
            "computes kernel values from rows. Leave one of them out, or name a kernel."
        )
    in_memory = bounded or known or getattr(estimator, "C", 1.0) == math.inf
    return bool(asked) or (by_size and not in_memory and n >= LEAST_ROWS_OF_RUN)


def _is_given(name: str, value: Any) -> bool:
    """Return whether a value asks for a run: one that is not possible does, to be refused."""
    if name == "stop_at" and isinstance(value, numbers.Number):
        return bool(value)
    is_empty = name == "callbacks" and isinstance(value, list | tuple) and not value
    return value is not None and not is_empty
