"""The model of descent on a budget: the support vectors of each SVM are its own."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dcsvm_dask.kernels import Rows
from dcsvm_dask.methods.budget.nodes import point_of
from dcsvm_dask.methods.graph import COMMIT, Stage, single
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import SINGLE
from dcsvm_dask.solvers import BudgetedPoint, Machine
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import MODEL, StageId

COUNTED = ("steps", "violations", "merges", "removals", "far_merges")


def model_stage(source: str) -> Stage:
    """Return the stage that writes the model of a stage."""
    layers = (single(COMMIT, commit_budgeted, source=source),)
    return Stage(StageId.about(MODEL, source), layers, "model")


def commit_budgeted(run: RunFolder, attempt: Attempt, *, source: str) -> Record:
    """Commit the model of a stage.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    source : str
        The stage.
    """
    problem, node = read_problem(run), run.node(source, "commit")
    points = [point_of(node, machine) for machine in range(node.record["svms"])]
    model = budgeted_model(problem, points)
    bias = model.bias[0]
    # Merged points are rows of nobody: whether rows see each other is looked at among all.
    nothing_seen = 0 < node.record["merges"] == node.record["far_merges"]
    return {
        "source": source,
        **{key: node.record[key] for key in COUNTED},
        "support": model.n_support,
        "bias": float(bias[0]) if len(bias) == 1 else bias.tolist(),
        **(isolation(problem) if nothing_seen else {}),
        **write_whole(attempt, model),
    }


def budgeted_model(problem: Problem, points: list[BudgetedPoint]) -> Model:
    """Return the model of some SVMs, whose support vectors follow each other.

    Parameters
    ----------
    problem : Problem
    points : list of BudgetedPoint
        One for each SVM, in the order of the scheme.
    """
    scheme = problem.scheme if problem.has_several else SINGLE
    sizes = [len(point.coef) for point in points]
    ends = np.cumsum([0, *sizes])
    coef = np.zeros((scheme.n_coefficients, int(ends[-1])))
    counts = np.zeros((1, scheme.n_groups), dtype=np.int64)
    for i, machine in enumerate(problem.machines if problem.has_several else [None]):
        group = row = 0
        if isinstance(machine, Machine):
            group = machine.positive
            row = int(machine.place(np.array([group]))[0])
        elif machine is not None:
            row = i
        coef[row, ends[i] : ends[i + 1]] = points[i].beta
        counts[0, group] += sizes[i]
    support: Rows = np.concatenate([point.points for point in points])
    support = sparse.csr_array(support) if problem.X.is_sparse else support
    bias = np.array([[point.intercept for point in points]]) + problem.task.centre
    return Model(problem.settings.kernel, support, coef, counts, bias, scheme)
