"""Online learning of the dual problem: rows come one by one, and few are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.kernels.rows import check_rows
from dcsvm_dask.solvers import optimality
from dcsvm_dask.solvers.online.slots import BATCH, OnlineExpansion
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.tasks import Classification, Dual, checked_labels

Vector = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Learned:
    """What an online solver has come to."""

    beta: Vector
    """The dual variables y_i alpha_i, shape (n,), each alpha_i within [0, C_i]."""
    bias: float
    """The bias of the decision value; 0 without an equality."""
    objective: float
    """0.5 alpha'Q alpha - e'alpha."""
    violation: float
    """Of the problem of the expansion, by slopes summed from scratch."""
    converged: bool
    """Whether it is at most the tolerance, and after that no row violated by more."""
    expansion: int
    """Rows that were kept, those at zero that may come back among them."""
    sweeps: int
    n_iter: int
    """Steps of one variable or two."""
    kernel_values: int
    fetched: int
    """Kernel rows that were not in the cache when they were needed."""


def solve_online(
    kernel: Kernel,
    X: Rows,
    y: ArrayLike,
    C: ArrayLike,
    *,
    beta: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    passes: int = 1,
    samples: int = 1,
    cache_bytes: int = 2**28,
    threads: int = 1,
    seed: int = 0,
    max_iter: int | None = None,
    solved: Callable[[int, dict[str, Any]], None] | None = None,
) -> Learned:
    """Learn the dual problem online, row by row, and finish on the rows that were kept.

    LASVM: Bordes, Ertekin, Weston, Bottou, "Fast Kernel Classifiers with Online and Active
    Learning", JMLR 6, 2005. Solves::

        min 0.5 a'Qa - e'a,   Q_ij = y_i y_j K_ij
            0 <= a_i <= C_i
            y'a = sum(beta)   (only with `equality`)

    PROCESS takes a row into the expansion if it violates in a pair with a row that is there, and
    steps along the worst such pair (or, to wait there, if it is off by more than half of `tol` at
    the bias so far). REPROCESS steps along the worst pair of the expansion and lets rows go that
    are at zero and could violate with none. With one REPROCESS after each PROCESS, one pass comes
    near to the answer. Without an equality a step moves one variable to where it is best (two
    steps make a REPROCESS), a row is taken if it violates by itself, and let go at zero when it
    does not. At the end REPROCESS goes on until the violation of the expansion is at most `tol`.

    Rows come in batches whose kernel values with the expansion are made together; a row
    that joins has its kernel row therefrom, so that nothing is computed twice unless the
    cache is too small.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    y : array, shape (n,)
        Labels -1 and +1.
    C : float or array, shape (n,)
        Upper bounds, 0 or more.
    beta : array, shape (n,), optional
        Start y_i a_i within the bounds, 0 by default.
    equality : bool, default False
        Keep y'a at its value at the start: the problem with a bias.
    tol : float, default 1e-3
        Violation that counts.
    passes : int, default 1
        Most passes, from 1; each takes n steps of PROCESS. The solver ends sooner where all rows
        have been looked at after a finish and none violated: the answer is then that of the
        whole problem.
    samples : int, default 1
        Of so many rows at random, the one most on the wrong side is processed; 1 takes every
        row in random order. The paper's gradient selection is 50, for noisy data: a pass costs
        50 times the kernel values. From 1 to 256.
    cache_bytes : int, default 256 MiB
        For kernel rows, or the matrices of the finish. A batch takes another 1 kB for each row
        of the expansion, and what is a row of X besides.
    threads : int, default 1
        Threads that compute kernel values; the result is the same. Give BLAS one.
    seed : int, default 0
    max_iter : int, optional
        Most steps of a finish; the larger of 10 million and 100 n by default.
    solved : callable, optional
        Called as solved(looked, about) after each batch and each finish, with the number of rows
        looked at; `about` has the most that will be, and the size and objective of the expansion.
        Also called after each working set of a finish, with its violation.

    Returns
    -------
    Learned

    Raises
    ------
    InputError
        For shapes, labels, bounds or values that do not fit.
    """
    X = check_rows(X, "X")
    n = X.shape[0]
    labels, bound = checked_labels(y, C, n)
    dual = Classification().dual(labels, bound)
    start = QuadraticProgram.of(n, dual, beta, None, equality).start
    if passes < 1 or not 1 <= samples <= BATCH:
        raise InputError(f"passes is {passes} and samples {samples}: from 1, and 1 to {BATCH}.")
    expansion = OnlineExpansion(
        kernel,
        X,
        labels,
        bound,
        start,
        equality=equality,
        tol=tol,
        cache_bytes=cache_bytes,
        threads=threads,
    )
    most = max(10_000_000, 100 * n) if max_iter is None else max_iter
    size = BATCH // samples * samples
    looked, sweeps, most_sweeps = 0, 0, passes * samples
    finished = settled = False
    violation = np.inf

    def report(**reached: float) -> None:
        if solved is not None:
            rows = most_sweeps * int(np.count_nonzero(bound))
            known = {} if reached else _standing(expansion)
            solved(looked, {"rows": rows, "tol": tol, **known, **reached})

    for order in _orders(bound, seed):
        before = expansion.taken
        for at in range(0, len(order), size):
            rows = order[at : at + size]
            expansion.learn(rows, samples)
            looked += len(rows)
            report()
        sweeps += 1
        quiet = expansion.taken == before
        settled = quiet and finished and violation <= tol
        if settled:
            break
        finished = quiet or sweeps >= most_sweeps
        if finished:
            violation = expansion.finish(most, lambda reached: report(violation=reached))
            report()
        if sweeps >= most_sweeps:
            break
    return _learned(expansion, dual, violation, sweeps, equality=equality, converged=settled)


def _learned(
    expansion: OnlineExpansion,
    dual: Dual,
    violation: float,
    sweeps: int,
    *,
    equality: bool,
    converged: bool,
) -> Learned:
    """Return the solution that an expansion holds."""
    S, live = expansion.slots, expansion.live
    rows, kept = S.rows[live], S.beta[live]
    beta = np.zeros(len(dual))
    beta[rows] = kept
    gradient, mine = -S.g[live], dual[rows]
    return Learned(
        beta=beta,
        bias=optimality.bias(gradient, kept, mine) if equality else 0.0,
        objective=optimality.objective(kept, gradient, mine),
        violation=float(violation),
        converged=converged,
        expansion=len(live),
        sweeps=sweeps,
        n_iter=expansion.n_iter,
        kernel_values=expansion.kernel_values,
        fetched=expansion.fetched,
    )


def _orders(C: Vector, seed: int) -> Iterator[Index]:
    """Yield the rows that can move, in ever new orders."""
    random = np.random.default_rng(seed)
    movable = np.flatnonzero(C > 0.0)
    while True:
        yield random.permutation(movable)


def _standing(expansion: OnlineExpansion) -> dict[str, Any]:
    S, live = expansion.slots, expansion.live
    beta = S.beta[live]
    return {
        "expansion": len(live),
        "support": int(np.count_nonzero(beta)),
        "objective": float(-0.5 * (beta @ S.g[live] + np.abs(beta).sum())),
        "n_iter": expansion.n_iter,
        "kernel_values": expansion.kernel_values,
    }
