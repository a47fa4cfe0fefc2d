"""Where all SVMs of a run stand, as nodes write and read it, and the model of that."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.own_support import model_of_own
from dcsvm_dask.solvers import BudgetedPoint
from dcsvm_dask.storage.node import Attempt, Committed, Record


def point_of(node: Committed, machine: int) -> BudgetedPoint:
    """Return where an SVM stands, as a node has written it."""
    record = node.record["of_svms"][machine]
    return BudgetedPoint(
        node.read(f"points_{machine:04d}"),
        node.read(f"coef_{machine:04d}"),
        record["bias"],
        np.array(record["counts"], dtype=np.int64),
    )


def written(attempt: Attempt, points: list[BudgetedPoint], begun: int) -> Record:
    """Write points of all SVMs; return the record, with the sums of what they have counted.

    Parameters
    ----------
    attempt : Attempt
    points : list of BudgetedPoint
    begun : int
        Kernel values that were computed before this node.
    """
    of_svms = []
    for machine, point in enumerate(points):
        attempt.write(f"points_{machine:04d}", point.points)
        attempt.write(f"coef_{machine:04d}", point.coef)
        of_svms.append({"bias": point.bias, "counts": point.counts.tolist()})
    words = [point.words() for point in points]
    total = {key: sum(one[key] for one in words) for key in words[0]}
    computed = sum(point.kernel_values for point in points) - begun
    return {**total, "kernel_values": computed, "svms": len(points), "of_svms": of_svms}


def model_at(problem: Problem, points: list[BudgetedPoint]) -> Model:
    """Return the model of SVMs that stand at some points."""
    return model_of_own(
        problem.settings.kernel,
        [point.points for point in points],
        [point.beta for point in points],
        np.array([point.intercept for point in points]) + problem.task.centre,
        problem.scheme if problem.has_several else None,
        problem.machines if problem.has_several else (),
        as_sparse=problem.X.is_sparse,
    )
