"""What an exact machine of each pair of classes comes to, whoever solved it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.runs import reached
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.pairs import PairsModel
from dcsvm_dask.solvers import SolvedMachine
from dcsvm_dask.storage.run import RunFolder

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """Coefficients of all rows and what else is learned.

    Attributes
    ----------
    coef : ndarray, shape (n_classes - 1, n), float64
        Of a row of class c: row k belongs to the machine of c and the k-th of the other classes,
        whose first class is positive.
    bias, objective, violation : ndarray, shape (n_pairs,), float64
    n_iter : ndarray, shape (n_pairs,), int64
    solved : list of bool
        Whether each machine is within the tolerance.
    """

    coef: Vector
    bias: Vector
    objective: Vector
    violation: Vector
    n_iter: NDArray[np.int64]
    solved: list[bool]


def of_machines(
    machines: list[SolvedMachine], variables: Variables, codes: NDArray[np.int32], n_classes: int
) -> Exact:
    """Return what machines that were solved in memory come to, row by row."""
    coef = np.zeros((n_classes - 1, len(codes)))
    for one in machines:
        a, b = one.machine.positive, one.machine.negative
        assert b is not None
        alpha = np.zeros(len(variables.rows))
        alpha[one.rows] = np.abs(one.coef)
        of_rows = variables.shared_out(alpha)
        first, second = codes == a, codes == b
        coef[b - 1, first] = of_rows[first]
        coef[a, second] = -of_rows[second]
    solutions = [one.solution for one in machines]
    return Exact(
        coef,
        np.array([one.bias for one in solutions]),
        np.array([one.objective for one in solutions]),
        np.array([one.violation for one in solutions]),
        np.array([one.n_iter for one in solutions], dtype=np.int64),
        [bool(one.converged) for one in solutions],
    )


def of_run(run: RunFolder, codes: NDArray[np.int32], tol: float) -> Exact:
    """Return what a run that has reached the exact model came to, row by row."""
    _, node, model = reached(run)
    alpha, record = node.read("alpha"), node.record
    if isinstance(model, PairsModel):
        coef, bias, each = alpha, model.bias, record["of_pairs"]
    else:
        assert isinstance(model, Model)
        # Of two classes a run has the second one positive.
        coef, bias = np.where(codes == 0, alpha, -alpha), -model.bias
        each = {"objective": [record["objective"]], "violation": [record["violation"]]}
    return Exact(
        coef,
        bias,
        np.array(each["objective"]),
        np.array(each["violation"]),
        np.array(each.get("iterations", [1]), dtype=np.int64),
        [violation <= tol for violation in each["violation"]],
    )
