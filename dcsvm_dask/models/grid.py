"""Machines of many C over the folds of one kernel matrix: it is computed once, C goes up."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import Machine, solve_smo

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What the machines of a fold say of the rows that were held out.

    Attributes
    ----------
    values : ndarray, shape (n_C, n_test, n_machines), float64
        Decision values, above 0 for a machine's positive class.
    solved : ndarray of bool, shape (n_C,)
        Whether all machines are within the tolerance.
    seconds : ndarray, shape (n_C,)
    """

    values: Vector
    solved: NDArray[np.bool_]
    seconds: Vector


def solve_fold(
    K: NDArray[np.floating],
    codes: NDArray[np.integer],
    weight: Vector,
    train: Index,
    test: Index,
    costs: Vector,
    machines: list[Machine],
    *,
    equality: bool = True,
    tol: float = 1e-3,
    max_iter: int | None = None,
) -> HeldOut:
    """Solve the machines of some rows for each C, each from the one before; decide the others.

    A solution for one C is feasible for every larger one, so they are solved ascending (as whole
    grids are in liquidSVM: Steinwart, Thomann, 2017).

    Parameters
    ----------
    K : ndarray, shape (n, m), float32 or float64
        Kernel values of all rows with the first m of them, among which are those to train on.
    codes : ndarray, shape (n,), integers
        Classes.
    weight : ndarray, shape (n,)
        Factors of C; rows of a weight of 0 are not trained on.
    train, test : ndarray of int64
        Rows that are trained on, and that are decided.
    costs : ndarray, shape (n_C,)
        Ascending.
    machines : list of Machine
    equality : bool, default True
        Whether machines have a bias.
    tol : float, default 1e-3
    max_iter : int, optional
        Most steps of each machine for each C.

    Returns
    -------
    HeldOut
    """
    train = train[weight[train] > 0]
    values = np.zeros((len(costs), len(test), len(machines)))
    solved, seconds = np.ones(len(costs), dtype=np.bool_), np.zeros(len(costs))
    for number, machine in enumerate(machines):
        own, y = machine.rows(codes[train])
        rows = train[own]
        if abs(y.sum()) == len(y):  # one class decides for itself, none for nobody
            values[:, :, number] = y[0] if len(y) else 0.0
            continue
        inner, across = _part(K, rows, rows), _part(K, test, rows)
        alpha = np.zeros(len(rows))
        for place, C in enumerate(costs.tolist()):
            begin = time.perf_counter()
            found = solve_smo(
                inner,
                y,
                C * weight[rows],
                alpha=alpha,
                equality=equality,
                tol=tol,
                max_iter=max_iter,
            )
            alpha = found.alpha
            values[place, :, number] = across @ (y * alpha) + found.bias
            solved[place] &= found.converged
            seconds[place] += time.perf_counter() - begin
    return HeldOut(values, solved, seconds)


def _part(K: NDArray[np.floating], rows: Index, columns: Index) -> NDArray[np.floating]:
    """Return some rows and columns; where they follow one another, not as a copy."""
    if len(rows) and len(columns) == K.shape[1] and rows[-1] - rows[0] == len(rows) - 1:
        return K[rows[0] : rows[-1] + 1]
    return K[np.ix_(rows, columns)]
