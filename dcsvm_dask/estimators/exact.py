"""What exact SVMs come to, whoever solved them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.solvers import SolvedMachine, coefficient_rows, scheme_of
from dcsvm_dask.solvers.machines import places_of

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Exact:
    """Coefficients of all rows and what else is learned.

    Attributes
    ----------
    coef : ndarray, shape (n_coefficients, n), float64
        y_i alpha_i of the machine that `dcsvm_dask.solvers.Machine.place` says; of a pair the first
        class is positive.
    bias, objective, violation : ndarray, shape (n_machines,), float64
    n_iter : ndarray, shape (n_machines,), int64
    solved : list of bool
        Whether each SVM is within the tolerance.
    """

    coef: Vector
    bias: Vector
    objective: Vector
    violation: Vector
    n_iter: NDArray[np.int64]
    solved: list[bool]


def of_machines(
    machines: list[SolvedMachine],
    variables: Variables,
    codes: NDArray[np.int32],
    n_classes: int,
    *,
    bounded: bool = True,
    scales: Vector | None = None,
) -> Exact:
    """Return the coefficients and measures of SVMs that were solved in memory.

    Parameters
    ----------
    machines : list of SolvedMachine
    variables : Variables
    codes : ndarray, shape (n,), int32
        Classes of all rows.
    n_classes : int
    bounded : bool, default True
        Whether the weights of rows bound their variables.
    scales : ndarray, shape (n_machines,), float64, optional
        What each SVM's variables were divided by, after which weights do not bound them.

    Returns
    -------
    Exact
    """
    scheme = scheme_of([one.machine for one in machines])
    coef = np.zeros((coefficient_rows(n_classes, scheme), len(codes)))
    beta = np.concatenate([one.solution.beta for one in machines])
    number = np.repeat(np.arange(len(machines)), [len(one.rows) for one in machines])
    support = np.flatnonzero(beta)
    variable, beta = np.concatenate([one.rows for one in machines])[support], beta[support]
    number = number[support]
    if scales is not None:
        beta = beta * scales[number]
    of, rows, values = variables.shared_out_to_rows(variable, beta, bounded=bounded)
    number = number[of]
    places = places_of([one.machine for one in machines], number, codes[rows])
    coef[places, rows] = values if scales is None else values / scales[number]
    solutions = [one.solution for one in machines]
    return Exact(
        coef,
        np.array([one.bias for one in solutions]),
        np.array([one.objective for one in solutions]),
        np.array([one.violation for one in solutions]),
        np.array([one.n_iter for one in solutions], dtype=np.int64),
        [bool(one.converged) for one in solutions],
    )
