"""The model of linear SVMs: their weights are its support vectors, one for each SVM."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.graph import COMMIT, Stage, single
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.own_support import model_of_own
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import MODEL, StageId


def model_stage(source: str, constant: float) -> Stage:
    """Return the stage that writes the model of a round; see `commit_linear`."""
    layers = (single(COMMIT, commit_linear, source=source, constant=constant),)
    return Stage(StageId.about(MODEL, source), layers, "model")


def commit_linear(run: RunFolder, attempt: Attempt, *, source: str, constant: float) -> Record:
    """Commit the model of a round.

    Its commit has ``sums_i``, what each part of the rows gives to w of SVM i with the constant's
    weight last.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    source : str
        The stage of the round.
    constant : float
        The constant feature; 0: none.
    """
    problem, point = read_problem(run), run.node(source, "commit")
    number = len(problem.machines) if problem.has_several else 1
    w = np.stack([point.read(f"sums_{i:04d}").sum(axis=0) for i in range(number)])
    # The dual problem leaves the centre out: the bias is as short as its distance from there.
    bias = constant * w[:, -1] + problem.task.centre
    model = linear_model(problem, w[:, :-1], bias)
    keys = ("objective", "primal_objective", "gap", "violation", "bounded", "passes")
    return {
        "source": source,
        **{key: point.record[key] for key in keys},
        "support": model.n_support,
        "rows_in_margin": point.record["support"],
        "outputs": model.n_features,
        "bias": float(bias[0]) if number == 1 else bias.tolist(),
        **write_whole(attempt, model),
    }


def linear_model(problem: Problem, w: np.ndarray, bias: np.ndarray) -> Model:
    """Return the model of a run's linear SVMs.

    Parameters
    ----------
    problem : Problem
    w : ndarray, shape (n_svms, n_features), float64
        Weights; the model has them in float32, as all rows.
    bias : ndarray, shape (n_svms,), float64

    Returns
    -------
    Model
        Support vector i is w of SVM i, and belongs to no other.
    """
    return model_of_own(
        Kernel("linear"),
        list(np.asarray(w, dtype=np.float32)[:, None, :]),
        [np.ones(1)] * len(w),
        bias,
        problem.scheme if problem.has_several else None,
        problem.machines if problem.has_several else (),
        as_sparse=problem.X.is_sparse,
    )
