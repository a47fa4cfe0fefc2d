"""SVMs of many C: C goes up, each solution starts from the one before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import SCHEMES
from dcsvm_dask.solvers import (
    Machine,
    Output,
    Solution,
    coefficient_rows,
    scheme_of,
    solve_inner,
    solve_next,
    solve_nu,
    solve_nu_matrix,
    solve_whole,
    stretched,
)
from dcsvm_dask.solvers.machines import CLASSES, only_class, unsolved
from dcsvm_dask.tasks import Task

Machines = Sequence[Machine | Output]
Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Steps = Callable[[int], int | None]


def unlimited(rows: int) -> None:
    """Return no limit of steps."""


@dataclass(frozen=True, slots=True)
class FoldMachines:
    """The SVMs of some rows for each C.

    Attributes
    ----------
    rows : list of ndarray of int64
        Those that each SVM is trained on.
    coef : list of ndarray, shape (n_C, n_rows), float64
        Their dual variables beta_i = y_i alpha_i.
    bias : ndarray, shape (n_C, n_machines), float64
        With what the task leaves out of its targets.
    solved : ndarray of bool, shape (n_C,)
        Whether all SVMs are within the tolerance.
    seconds : ndarray, shape (n_C,)
    """

    rows: list[Index]
    coef: list[Vector]
    bias: Vector
    solved: NDArray[np.bool_]
    seconds: Vector

    def decide(self, K: NDArray[np.floating], test: Index) -> Vector:
        """Return decision values; of classes above 0 means an SVM's positive class.

        Parameters
        ----------
        K : ndarray, shape (n, m), float32 or float64
            Kernel values of some rows with the m among which the SVMs have theirs.
        test : ndarray of int64
            Which of the n.

        Returns
        -------
        ndarray, shape (n_C, n_test, n_machines), float64
        """
        values = np.empty((len(self.bias), len(test), len(self.rows)))
        for number, (rows, coef) in enumerate(zip(self.rows, self.coef, strict=True)):
            found = _part(K, test, rows) @ coef.T
            values[:, :, number] = found.T + self.bias[:, number, None]
        return values


@dataclass(frozen=True, slots=True)
class DecidedFold:
    """What the SVMs of a fold say of the rows that were held out.

    Attributes
    ----------
    values : ndarray, shape (n_C, n_test, n_machines), float64
        Decision values, above 0 for an SVM's positive class.
    solved : ndarray of bool, shape (n_C,)
        Whether all SVMs are within the tolerance.
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
    **how: Any,
) -> DecidedFold:
    """Solve the SVMs of some rows for each C, as `train_fold` does, and decide others.

    Parameters
    ----------
    K : ndarray, shape (n, m), float32 or float64
        Kernel values of all rows with the first m of them, among which are those to train on.
    test : ndarray of int64
        Rows that are decided.
    """
    made = train_fold(K, codes, weight, train, costs, machines, **how)
    begin = time.perf_counter()
    values = made.decide(K, test)
    each = (time.perf_counter() - begin) / max(1, len(costs))
    return DecidedFold(values, made.solved, made.seconds + each)


def train_fold(
    K: NDArray[np.floating],
    y: NDArray[Any],
    weight: Vector,
    train: Index,
    costs: Vector,
    machines: Machines,
    *,
    task: Task = CLASSES,
    equality: bool = True,
    tol: float = 1e-3,
    most_steps: Steps = unlimited,
) -> FoldMachines:
    """Solve the SVMs of some rows for each C, each from the one before.

    A solution for one C, and many a multiple of it, is feasible for every larger one, so they are
    solved ascending (as whole grids are in liquidSVM: Steinwart, Thomann, 2017).

    Parameters
    ----------
    K : ndarray, shape (n, m), float32 or float64
        Kernel values of rows with the first m of them, among which are those to train on.
    y : ndarray, shape (n,), integers or float64
        Classes, or the targets of an `Output`.
    weight : ndarray, shape (n,)
        Factors of C; rows of a weight of 0 are not trained on.
    train : ndarray of int64
        Rows that are trained on.
    costs : ndarray, shape (n_C,)
        Ascending.
    machines : list of Machine, or of an Output
    task : Task, optional
        By default C-SVC.
    equality : bool, default True
        Whether SVMs have a bias.
    tol : float, default 1e-3
    most_steps : callable, optional
        Returns the most steps of an SVM for each C, or None, given how many rows it has.

    Returns
    -------
    FoldMachines
    """
    train = train[weight[train] > 0]
    used: list[Index] = []
    coefs: list[Vector] = []
    bias = np.zeros((len(costs), len(machines)))
    solved, seconds = np.ones(len(costs), dtype=np.bool_), np.zeros(len(costs))
    for number, machine in enumerate(machines):
        own, targets = machine.rows(y[train])
        rows = train[own]
        decision = _known(targets, task)
        if decision is not None:
            bias[:, number] = decision + task.centre
            used.append(rows[:0])
            coefs.append(np.zeros((len(costs), 0)))
            continue
        # A copy: solvers put the ridge of a squared loss into the matrix, meanwhile.
        inner, coef = K[np.ix_(rows, rows)], np.empty((len(costs), len(rows)))
        how: dict[str, Any] = {"tol": tol, "max_iter": most_steps(len(rows))}
        path = _each_cost if task.has_sum else partial(_ascending, equality=equality)
        begin = time.perf_counter()
        for place, found in enumerate(path(inner, targets, weight[rows], costs, task, **how)):
            coef[place], bias[place, number] = found.beta, found.bias + task.centre
            solved[place] &= found.converged
            begin, before = time.perf_counter(), begin
            seconds[place] += begin - before
        used.append(rows)
        coefs.append(coef)
    return FoldMachines(used, coefs, bias, solved, seconds)


def _each_cost(
    K: NDArray[np.floating], targets: Vector, weight: Vector, costs: Vector, task: Task, **how: Any
) -> Iterator[Solution]:
    """Solve nu-SVMs for each C by itself: a solution for one C has not the sums of another."""
    for C in costs.tolist():
        yield solve_nu_matrix(K, targets, C * weight, task, **how).solution


def _ascending(
    K: NDArray[np.floating],
    targets: Vector,
    weight: Vector,
    costs: Vector,
    task: Task,
    *,
    equality: bool,
    **how: Any,
) -> Iterator[Solution]:
    """Solve SVMs for each C, each from the one before."""
    beta, gradient = np.zeros(len(targets)), task.dual(targets, weight).p
    for C in costs.tolist():
        dual = task.dual(targets, C * weight)
        if dual.ridge is not None:  # the gradient so far is without it
            gradient = dual.gradient(gradient - dual.p, beta)
        start = stretched(beta, gradient, dual)
        found = solve_inner(K, dual, beta=start, equality=equality, **how)
        beta, gradient = found.beta, found.gradient
        if dual.ridge is not None:
            gradient = dual.decision(gradient, beta) + dual.p
        yield found


def _known(targets: Vector, task: Task) -> float | None:
    """Return the decision value where there is nothing to solve: of one class, or of no rows."""
    if task.has_classes:
        return only_class(targets)
    return None if len(targets) else 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """The SVMs of all rows for one C.

    Attributes
    ----------
    solutions : list of Solution
        Of each SVM, for the rows that take part in it.
    kernel_values : int
    """

    solutions: list[Solution]
    kernel_values: int

    @property
    def solved(self) -> bool:
        """Whether all SVMs are within the tolerance."""
        return all(one.converged for one in self.solutions)


def solve_point(
    kernel: Kernel,
    X: Rows,
    y: NDArray[Any],
    bounds: Vector,
    machines: Machines,
    before: list[Solution] | None = None,
    *,
    task: Task = CLASSES,
    blocks: NDArray[np.integer] | None = None,
    equality: bool = True,
    tol: float = 1e-3,
    working_size: int = 8192,
    most_steps: Steps = unlimited,
    seed: int = 0,
    threads: int = 1,
) -> Point:
    """Solve the SVMs of all rows for one C, from the solutions for a smaller one.

    To the tolerance by kernel values in float32, as LIBSVM has them.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    y : ndarray, shape (n,), integers or float64
        Classes, or the targets of an `Output`.
    bounds : ndarray, shape (n,)
        C times the weight of each row, above 0: upper bounds, but for squared losses.
    machines : list of Machine, or of an Output
    before : list of Solution, optional
        What the SVMs came to for bounds that are nowhere larger.
    task : Task, optional
        By default C-SVC.
    blocks : ndarray, shape (n,), integers, optional
        The block of each row. Where there is no solution before, SVMs begin at those of the
        blocks (divide and conquer), unless these contradict each other.
    equality : bool, default True
        Whether SVMs have a bias.
    tol : float, default 1e-3
    working_size : int, default 8192
        Most rows of a working set; see `solve_whole`.
    most_steps : callable, optional
        Returns the most steps of an SVM, or None, given how many rows it has.
    seed : int, default 0
    threads : int, default 1

    Returns
    -------
    Point
    """
    solutions, values = [], 0
    common: dict[str, Any] = {
        "equality": equality,
        "tol": tol,
        "working_size": working_size,
        "threads": threads,
        "verify": False,
    }
    for number, machine in enumerate(machines):
        rows, targets = machine.rows(y)
        Z = X if len(rows) == len(y) else X[rows]
        dual = task.dual(targets, bounds[rows])
        decision = _known(targets, task)
        if decision is not None:
            solutions.append(unsolved(dual, decision))
            continue
        how = common | {"max_iter": most_steps(len(rows))}
        if task.has_sum:
            del how["equality"], how["verify"]
            given = solve_nu(kernel, Z, targets, bounds[rows], task, seed=seed, **how)
            solutions.append(given.solution)
            values += given.kernel_values
            continue
        if before is None:
            start = None if blocks is None else blocks[rows]
            found, computed = solve_whole(kernel, Z, dual, blocks=start, seed=seed, **how)
        else:
            found, computed = solve_next(kernel, Z, dual, before[number], **how)
        solutions.append(found)
        values += computed
    return Point(solutions, values)


def decide_point(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    machines: list[Machine],
    solutions: list[Solution],
    X_test: Rows,
) -> Vector:
    """Return what SVMs say of other rows; see `model_of` and `decide_rows`."""
    return decide_rows(model_of(kernel, X, codes, machines, solutions), X_test)


def model_of(
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.integer],
    machines: list[Machine],
    solutions: list[Solution],
) -> Model:
    """Return the model of all SVMs, of their support vectors alone.

    Parameters
    ----------
    kernel, X, codes, machines
        As `solve_point` took them; all of a scheme.
    solutions : list of Solution
        What it returned.
    """
    scheme = scheme_of(machines)
    n_classes = 1 + max(max(machine.positive, machine.negative or 0) for machine in machines)
    coef = np.zeros((coefficient_rows(n_classes, scheme), len(codes)))
    for machine, found in zip(machines, solutions, strict=True):
        rows, _ = machine.rows(codes)
        coef[machine.place(codes[rows]), rows] = found.beta
    support = np.flatnonzero(coef.any(axis=0))
    support = support[np.argsort(codes[support], kind="stable")]
    shift = np.array([found.bias for found in solutions])
    if n_classes == 2:
        return Model.of_sum(kernel, X[support], coef[0, support], shift[0])
    counts = np.bincount(codes[support], minlength=n_classes)[None, :]
    return Model(
        kernel, X[support], coef[:, support], counts, shift[None, :], SCHEMES[scheme](n_classes)
    )


def only_model(kernel: Kernel, X: Rows, found: Solution, task: Task) -> Model:
    """Return the model of the only SVM of a task without classes, of its support vectors alone."""
    support = np.flatnonzero(found.beta)
    return Model.of_sum(kernel, X[support], found.beta[support], found.bias + task.centre)


def decide_rows(model: Model, X_test: Rows) -> Vector:
    """Return decision values of SVMs; of classes above 0 means an SVM's positive class.

    Parameters
    ----------
    X_test : ndarray or CSR, shape (m, d), float32

    Returns
    -------
    ndarray, shape (m, n_machines), float64
    """
    if model.is_single:
        return decide(model, X_test)[:, None]
    return np.asarray(model.bias[0] + model.sums(X_test))


def _part(K: NDArray[np.floating], rows: Index, columns: Index) -> NDArray[np.floating]:
    """Return some rows and columns; where they follow one another, not as a copy."""
    all_columns = np.array_equal(columns, np.arange(K.shape[1]))
    if len(rows) and all_columns and (np.diff(rows) == 1).all():
        return K[rows[0] : rows[-1] + 1]
    return K[np.ix_(rows, columns)]
