"""The exact model: support vectors, coefficients, and alpha of every row of the data set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.doubtful import always, codes_by_sign
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.problem import Problem, chunks_in_data_order, read_problem
from dcsvm_dask.methods.repeats import shared_out
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.storage.dataset_sample import SampledDataSet
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import scale_of_decisions


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
    epsilon = point.record.get("epsilon", 0.0)
    task, scale, beta = problem.task, 1.0, point.read("beta")[0]
    if task.has_sum:
        how = {"objective": point.record["objective"], "size": float(np.abs(beta).sum())}
        scale = scale_of_decisions(task, epsilon, problem.dual, **how)
    bias = point.record["bias"] / scale
    model = write_machine(run, attempt, problem, beta, bias, scale)
    # What nobody has measured of the whole problem is null.
    keys = ("objective", "gap", "violation", "support", "bounded")
    measured: Record = {key: point.record.get(key) for key in keys}
    if problem.size is not None:
        measured = {
            **measured,
            "objective": measured["objective"] / scale**2,
            "gap": measured["gap"] / scale**2,
            "multiplier": abs(epsilon),
        }
    sampled = isinstance(data, SampledDataSet)
    constant: Record = {}
    if problem.task.has_classes and point.has("f"):
        f, true = point.read("f"), codes_by_sign(problem.targets)
        if len(f) == problem.n:
            decision = codes_by_sign(f + point.record["bias"])
            constant = always(decision, true, data.classes, "training rows")
    return {
        **constant,
        "source": source,
        "sampled": sampled,
        **measured,
        "bias": bias + problem.task.centre,
        **model,
    }


def write_machine(
    run: RunFolder,
    attempt: Attempt,
    problem: Problem,
    beta: NDArray[np.float64],
    bias: float,
    scale: float = 1.0,
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
        That of the decision values, whose targets are centred.
    scale : float, default 1.0
        What variables are divided by; see `Task.decision_scale`.
    """
    attempt.write("alpha", shared_out(run, problem, beta)[None, :] / scale)
    support = np.flatnonzero(beta)
    support = support[np.argsort(problem.rows[support], kind="stable")]
    stored = write_model(
        attempt,
        chunks_in_data_order(run, problem, support),
        beta[None, support] / scale,
        np.array([[len(support)]]),
        np.array([[bias + problem.task.centre]]),
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
    )
    return {**isolation(problem, support), **stored}
