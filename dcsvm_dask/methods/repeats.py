"""Variables of a run and the rows that they stand for: repeats of a row share its variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.problem import ARRANGE, Problem
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder


def shared_out(run: RunFolder, problem: Problem, beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return alpha of every row of the data set: rows that were merged share by their weights."""
    commit, dual = run.node(ARRANGE, "commit"), problem.task.dual(problem.targets, problem.each_C)
    each = np.zeros(commit.record["rows"])
    shares = dual.clip(beta / problem.weights)  # rounding may lead beyond a bound
    each[problem.rows] = problem.task.alpha(shares)
    return spread(run, commit, each)


def spread(run: RunFolder, arranged: Committed, each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what every row has of what its representative has for each unit of weight.

    Parameters
    ----------
    each : ndarray, shape (..., n_rows)
    """
    representative, data = representatives(arranged), data_of(run)
    by_row = each if representative is None else each[..., representative]
    weights = data.read_weights(0, data.n_rows)
    return by_row if weights is None else by_row * weights


def representatives(arranged: Committed) -> NDArray[np.int64] | None:
    """Return the row that stands for each row of the data set; None: there are no repeats."""
    record = arranged.record
    return None if record["variables"] == record["rows"] else arranged.read("representative")
