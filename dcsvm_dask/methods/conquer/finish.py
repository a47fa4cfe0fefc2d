"""The exact model: support vectors, coefficients, and alpha of every row of the data set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.problem import Problem, data_of, read_problem, shared_out
from dcsvm_dask.storage.dataset_sample import SampledDataSet
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def commit_model(run: RunFolder, attempt: Attempt, *, source: str) -> Record:
    """Commit the model of a point; rows that were merged share its alpha.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    source : str
        The stage of the point.
    """
    problem = read_problem(run)
    point = run.node(source, "commit")
    data = data_of(run)
    if isinstance(data, SampledDataSet):
        attempt.write("sampled", data.index)
    bias = point.record["bias"]
    model = write_machine(run, attempt, problem, point.read("beta")[0], bias)
    # What nobody has measured of the whole problem is null.
    keys = ("objective", "gap", "violation", "support", "bounded")
    sampled = isinstance(data, SampledDataSet)
    return {
        "source": source,
        "sampled": sampled,
        **{key: point.record.get(key) for key in keys},
        "bias": bias + problem.task.centre,
        **model,
    }


def write_machine(
    run: RunFolder, attempt: Attempt, problem: Problem, beta: NDArray[np.float64], bias: float
) -> Record:
    """Write the model of a point, and return its entry of the node's record.

    Writes ``alpha`` of every row of the data set, and the model with its support vectors in that
    order.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    problem : Problem
    beta : ndarray, shape (n,), float64
    bias : float
        That of the dual problem, whose targets are centred.
    """
    attempt.write("alpha", shared_out(run, problem, beta)[None, :])
    support = np.flatnonzero(beta)
    support = support[np.argsort(problem.rows[support], kind="stable")]
    return write_model(
        attempt,
        problem.take_chunks(support),
        beta[None, support],
        np.array([[len(support)]]),
        np.array([[bias + problem.task.centre]]),
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
    )
