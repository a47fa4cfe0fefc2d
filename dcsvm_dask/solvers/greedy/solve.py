"""Greedy selection of basis vectors: kernel SVMs as small as one wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.kernels.rows import check_rows
from dcsvm_dask.solvers.greedy.candidates import Pool
from dcsvm_dask.solvers.greedy.rows import BasisRows
from dcsvm_dask.solvers.greedy.weights import Everywhere, Machine
from dcsvm_dask.tasks import SQUARED_HINGE, SquaredLoss

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

# All weights are optimised together whenever the basis has grown by this factor.
GROWTH = 2.0**0.25
# A Newton decrement relative to the objective that will do before the end.
_NEAR = 1e-6
# Gains relative to the objective that rounding makes, by the precision of kernel values.
_NOTHING = {"float64": 1e-12, "float32": 1e-10}


@dataclass(frozen=True, slots=True)
class Expansion:
    """A kernel expansion f(x) = sum_j beta_j K(z_j, x) + bias, and how it came about."""

    basis: Index
    """The rows z_j, by number, in the order in which they were chosen."""
    beta: Vector
    bias: float
    objective: float
    objectives: Vector
    """The objective at the start, and after each choice and each optimisation of all weights."""
    candidates: Index
    """Those that might have been next."""
    n_iter: int
    """Newton steps."""
    kernel_values: int


def solve_greedy(
    kernel: Kernel,
    X: Rows,
    y: ArrayLike,
    C: ArrayLike,
    *,
    most: int,
    loss: SquaredLoss = SQUARED_HINGE,
    intercept: bool = False,
    basis: Index | None = None,
    weights: Vector | None = None,
    tol: float = 1e-4,
    precision: float = 1e-12,
    pool: int = 59,
    candidates: Index | None = None,
    dtype: Any = np.float64,
    seed: int = 0,
    chunk_rows: int = 65536,
    threads: int = 1,
    solved: Callable[[int, dict[str, Any]], None] | None = None,
) -> Expansion:
    """Build a support vector machine from a basis that is chosen greedily.

    Keerthi, Chapelle, DeCoste, "Building Support Vector Machines with Reduced Classifier
    Complexity", JMLR 7, 2006. Solves, over the weights of a basis J and over J::

        min 0.5 b'K_JJ b + 0.5 sum_i C_i max(0, 1 - y_i o_i)^2,   o_i = K_iJ b (+ bias)

    The paper's objective is this one divided by C, with lambda = 1 / C (scikit-learn's
    LinearSVC with the squared hinge writes C / 2 for what is C here). The bias is not penalised.

    A candidate j is scored by what a Newton step in its weight alone would gain, g_j^2 / (2 h_j)
    with slope g_j and curvature h_j of the objective; the best of a pool joins with the weight
    that is best for it alone. Whenever the basis has grown by the fourth root of two all weights
    are optimised by Newton's method, with a Hessian to which only new columns, and rows whose
    loss began or ended, are added; it is factorised afresh, which costs less than one
    update for each of those rows.

    Parameters
    ----------
    kernel : Kernel
        Positive semi-definite.
    X : ndarray or CSR, shape (n, d), float32
    y : array, shape (n,)
        Labels -1 and +1; for another loss its targets.
    C : float or array, shape (n,)
        Weights of the losses, 0 or more.
    most : int
        Most basis vectors, from 1. 4 n (most + pool + 128) bytes of kernel columns are kept,
        and a few matrices of 8 most^2 bytes.
    loss : SquaredLoss, default the squared hinge
        Another one, as the squared epsilon-insensitive loss, instead of max(0, 1 - y_i o_i).
    intercept : bool, default False
        With a bias.
    basis : ndarray of int64, optional
        Rows to begin with, without repeats; their weights are optimised first.
    weights : ndarray, shape (basis,) or with an intercept (1 + basis,), optional
        Where that begins, the bias first; by default at zero.
    tol : float, default 1e-4
        Stop when a basis vector, on the average since all weights were last optimised, lowered
        the objective by less than this part of it. 0 goes on to `most`, or to where no candidate
        gains anything.
    precision : float, default 1e-12
        Newton decrement at the end, relative to the objective.
    pool : int, default 59
        Candidates at a time, drawn at random: the best of 59 is among the best twentieth
        with a probability of 95 %. The worse half of them is exchanged after every choice.
    candidates : ndarray of int64, optional
        Rows that are the first of these, at most `pool`, without repeats or rows of the basis:
        those that an earlier choice left.
    dtype : float32 or float64, default float64
        In which kernel values are computed. In float32 that takes a third of the time; where a
        product of long rows rounds, the basis is as good, and its weights are best for values
        that are off by 2^-18.
    seed : int, default 0
    chunk_rows : int, default 65536
        Rows that are worked on together.
    threads : int, default 1
        Chunks that are worked on at a time; give BLAS one thread.
    solved : callable, optional
        Called after each optimisation of all weights as solved(size, about), where `about` has the
        objective, that at the start, and the Newton steps.

    Returns
    -------
    Expansion

    Raises
    ------
    InputError
        For shapes, labels or values that do not fit.
    """
    if not kernel.is_psd:
        raise InputError(
            f"The {kernel.name} kernel is not positive semi-definite: greedy selection needs that; "
            "choose rbf, laplacian, linear, or poly with coef0 from 0."
        )
    X = check_rows(X, "X")
    n = X.shape[0]
    targets, bounds = loss.checked(y, C, n)
    if most < 1 or pool < 1:
        raise InputError(f"most is {most} and pool {pool}: give whole numbers from 1.")
    start, begin, drawn = _checked_start(n, basis, weights, candidates, intercept=intercept)
    most = min(max(most, len(start)), n)
    pool = max(min(pool, n), len(drawn))
    chunks = [
        BasisRows(
            kernel,
            X[at : at + chunk_rows],
            targets[at : at + chunk_rows],
            bounds[at : at + chunk_rows],
            first=at,
            most=most,
            pool=pool,
            intercept=intercept,
            dtype=dtype,
            loss=loss,
        )
        for at in range(0, n, chunk_rows)
    ]

    with _on_threads(chunks, threads) as everywhere:
        return grow_basis(
            everywhere,
            kernel,
            n,
            most=most,
            intercept=intercept,
            basis=start,
            weights=begin,
            tol=tol,
            precision=precision,
            pool=pool,
            candidates=drawn,
            nothing=_NOTHING[np.dtype(dtype).name],
            seed=seed,
            solved=solved,
        )


@contextmanager
def _on_threads(chunks: Sequence[BasisRows], threads: int) -> Iterator[Everywhere]:
    """Give what calls a method of every chunk, of so many at a time."""
    with ExitStack() as stack:
        side_by_side: Callable[..., Iterable[Any]] = map
        if threads > 1:
            side_by_side = stack.enter_context(ThreadPoolExecutor(threads)).map

        def everywhere(method: str, *arguments: Any) -> list[Any]:
            return list(side_by_side(lambda chunk: getattr(chunk, method)(*arguments), chunks))

        yield everywhere


def _checked_start(
    n: int,
    basis: Index | None,
    weights: Vector | None,
    candidates: Index | None,
    *,
    intercept: bool,
) -> tuple[Index, Vector, Index]:
    """Return the basis to begin with, its weights and the first candidates; see `solve_greedy`."""
    start = np.empty(0, np.int64) if basis is None else np.asarray(basis, np.int64)
    drawn = np.empty(0, np.int64) if candidates is None else np.asarray(candidates, np.int64)
    named = np.append(start, drawn)
    if len(np.unique(named)) < len(named) or ((named < 0) | (named >= n)).any():
        raise InputError(
            f"basis and candidates repeat rows or name some outside of the {n} rows given."
        )
    begin = np.zeros(intercept + len(start)) if weights is None else np.asarray(weights, np.float64)
    if begin.shape != (intercept + len(start),) or not np.isfinite(begin).all():
        raise InputError(
            f"weights: give {intercept + len(start)} finite numbers, one for each row of the basis"
            f"{' after the bias' if intercept else ''}."
        )
    return start, begin, drawn


def grow_basis(
    everywhere: Everywhere,
    kernel: Kernel,
    n: int,
    *,
    most: int,
    intercept: bool,
    basis: Index,
    weights: Vector,
    tol: float,
    precision: float,
    pool: int,
    candidates: Index,
    nothing: float,
    seed: int,
    solved: Callable[[int, dict[str, Any]], None] | None = None,
) -> Expansion:
    """Do the work of `solve_greedy` on n rows that live elsewhere, in `BasisRows`.

    What travels: rows of candidates; a step in the weights; sums the size of the basis, and for
    each Newton step one of its square.
    """
    machine = Machine(everywhere, kernel, most, intercept)
    if len(basis):
        machine.extend(basis, weights)
    machine.optimise(_NEAR)
    waiting = Pool(machine, n, pool, np.random.default_rng(seed), nothing)
    waiting.begin(candidates)
    size, before = len(machine.basis), machine.objective
    fitted = True
    while len(machine.basis) < most:
        place = waiting.best()
        if place is None and fitted:
            break
        if place is not None:
            machine.take(waiting.rows[place], place, waiting.Z[[place]])
            waiting.taken(place)
            fitted = False
        d = len(machine.basis)
        if place is not None and d < min(most, size * GROWTH):
            continue
        machine.optimise(_NEAR)
        fitted = True
        if solved is not None:
            about = {"most": most, "objective": machine.objective, "start": machine.objectives[0]}
            solved(d, {**about, "newton_steps": machine.n_iter})
        if d > size and before - machine.objective <= tol * before * (d - size):
            break
        size, before = d, machine.objective
    machine.optimise(precision)
    return Expansion(
        basis=np.array(machine.basis, np.int64),
        beta=machine.weights[machine.offset :].copy(),
        bias=float(machine.weights[0]) if intercept else 0.0,
        objective=machine.objective,
        objectives=np.array(machine.objectives),
        candidates=waiting.rows[waiting.free],
        n_iter=machine.n_iter,
        kernel_values=waiting.columns * n,
    )
