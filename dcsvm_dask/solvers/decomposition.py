"""Decomposition: the dual problem of rows whose kernel matrix does not fit in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix
from dcsvm_dask.solvers.doubt import BIAS_SLACK, doubt
from dcsvm_dask.solvers.inner.signs import in_sign_order
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.kernel_sums import KernelSums
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory, Scratch, room_for_float64
from dcsvm_dask.solvers.optimality import bias as bias_of
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.set_choice import reaches
from dcsvm_dask.solvers.shared_rows import SharedRows
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
# The violation falls by this factor before rows that were let go are looked at again.
_FALL = 0.1
# A working set is solved until its violation has fallen by this factor.
_INNER = 0.1
# As many steps for each of its rows cost less than its kernel matrix did: they are taken anyway.
_CHEAP = 4
# Share of the tolerance that the error of products may take by its estimate, which is several
# times as large as errors are; more where the caller verifies the end.
_SHARE, _SHARE_UNVERIFIED = 0.1, 5.0
# Violators by which free rows are distinguished.
_SEEN = 512
GROW = 4
"""A working set holds at most so many times its violators, ..."""
# ... or so many rows.
_LEAST = 1024
# Most rows of the first sets, which take few steps, ...
_MOST = 4096
# ... as they do if they take fewer than so many steps a row: these cost less than the matrix.
_WORTH = 3
# Where a round leaves more than this share of the violation, sets have more from then on.
_STAGNANT = 0.5
# Rounds in a row that may end no nearer to the answer.
_STALLS = 20


def solve_decomposition(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    working_size: int = 4096,
    inner: str = "auto",
    budget: float = 0.0,
    max_iter: int | None = None,
    callback: Callable[[int, float], object] | None = None,
    verify: bool = True,
    bias: float | None = None,
    threads: int = 1,
    shared: SharedRows | None = None,
    known: KnownMatrix | None = None,
    memory: MatrixMemory | None = None,
) -> tuple[Solution, int]:
    """Solve the dual problem by working sets whose kernel matrix is in memory.

    The problem is that of `solve_smo`. Each round takes a working set (Joachims 1998; chosen as
    in Zanni, Serafini, Zanghirati, JMLR 7, 2006: the rows that violate most, then the free ones),
    solves it by `solve_inner` against the gradient of all others, and brings the gradient of the
    active rows up to date with the columns of the changed variables only. Rows that are clearly
    at their bounds are shrunk until the violation has fallen tenfold. Before the end the gradient
    is summed from scratch; products are float32 where their estimated error is within a tenth of
    the tolerance, else float64, and leave out pairs of far rows within a hundredth of it.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        Rows; in `kd_order`, or ordered by cluster, working sets are more coherent.
    dual, beta, gradient, equality, tol, callback
        As for `solve_smo`. The callback is called after every round.
    working_size : int, default=4096
        Largest number of rows of a working set, at least 2; the solver holds up to 1.57
        float32 matrices of working_size^2 values.
    inner : str, default="auto"
        The inner solver of a working set; see `solve_inner`.
    budget : float, default=0.0
        What a product may lose by skipping far pairs of rows, as for `kernel_product`; kernel
        values of working sets that are provably below a thousandth of it are zero.
    max_iter : int, optional
        Most steps to take; the larger of 10 million and 100 n by default.
    verify : bool, default=True
        Sum the gradient from scratch before the end. Without, the last one that was kept up to
        date will do, and products may err by more: the caller looks at the whole anyway. The
        objective is then that of `dual.p`, whatever else a given gradient holds.
    bias : float, optional
        That of the start, about, where it is nearly the solution: of rows at zero only those whose
        gradient could then violate need an exact one, at first.
    threads : int, default=1
        Threads that share the work on kernel values; the result is the same.
    shared : SharedRows, optional
        The same rows in shares, whose products may be computed elsewhere.
    known : KnownMatrix, optional
        The kernel matrix of some of the rows, for the gradient at the start; it is let go then.
    memory : MatrixMemory, optional
        Of `working_size` rows, or as many as X has, for the matrices of the sets.

    Returns
    -------
    solution : Solution
    kernel_values : int
        Number of kernel values computed.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit.
    """
    if working_size < 2:
        raise InputError(f"working_size is {working_size}: give at least 2 rows.")
    n = X.shape[0]
    problem = QuadraticProgram.of(n, dual, beta, gradient, equality)
    share = _SHARE if verify else _SHARE_UNVERIFIED
    work = _Decomposition(
        KernelSums(kernel, X, tol=tol, error=share * tol, threads=threads, shared=shared),
        problem,
        tol=tol,
        size=working_size,
        inner=inner,
        budget=budget,
        memory=memory,
    )
    work.matrix = known
    work.start(known=not verify, bias=bias)
    if known is not None:
        known.forget()
    return work.solve(max(10_000_000, 100 * n) if max_iter is None else max_iter, callback, verify)


class _Decomposition:
    def __init__(
        self,
        sums: KernelSums,
        problem: QuadraticProgram,
        *,
        tol: float,
        size: int,
        inner: str,
        budget: float,
        memory: MatrixMemory | None,
    ) -> None:
        self.sums, self.problem = sums, problem
        self.tol, self.size, self.inner, self.budget = tol, size, inner, budget
        self.matrix: KnownMatrix | None = None
        self.matrix_values = self.fallbacks = 0
        self.least, self.most = _LEAST, min(size, _MOST)
        self.beta = problem.start.copy()
        self.total_size: float | None = None
        if problem.equality and problem.dual.spare is not None:
            self.total_size = problem.dual.spare + float(np.abs(self.beta).sum())
        self.F = self.linear = problem.dual.p
        self.memory = MatrixMemory(min(size, len(self.beta))) if memory is None else memory
        self.scratch = Scratch()
        self.in_float64 = False
        """Whether matrices of sets are in float64, as far as there is room."""

    def start(self, *, known: bool, bias: float | None) -> None:
        """Find the gradient at the start; `known`: one that was given needs no linear term."""
        if known and self.problem.gradient is not None:
            self.F = self.problem.gradient.copy()
            return
        if self.problem.gradient is None:
            self.F = self.linear + self._all_products(bias)
        else:
            product = self.sums.of(self.beta, np.arange(len(self.beta)))
            self.F = self.problem.gradient.copy()
            self.linear = self.F - product - self._ridge(self.beta)

    def solve(
        self, limit: int, callback: Callable[[int, float], object] | None, verify: bool
    ) -> tuple[Solution, int]:
        problem, beta = self.problem, self.beta
        n_iter = stalls = 0
        best = np.inf
        everyone = np.arange(len(beta))
        exact = going = True
        while True:
            self._resize()
            violation, F, dual = problem.look(beta, self.F)
            stalls = stalls + 1 if violation >= best else 0
            best = min(best, violation)
            if violation <= self.tol or n_iter >= limit or not going or stalls >= _STALLS:
                if exact or not verify:
                    solution = problem.solution(beta, self.F, self.linear, n_iter, self.tol)
                    solution.fallbacks = self.fallbacks
                    return solution, self.matrix_values + self.sums.kernel_values
                self.F = self.linear + self._all_products(self._bias())
                exact = True
                continue
            before = beta.copy()
            target = max(self.tol, _FALL * violation)
            up, down = reaches(F, beta, dual)
            active = np.flatnonzero(np.maximum(up, down) >= -violation)
            if len(active) <= self.size:
                target = self.tol  # one set is all that there is to do
            F, dual = F[active], dual[active]
            least, idle, noise = violation, 0, self._rounding()
            fallen = most = 0.0
            while violation > target and n_iter < limit and going and idle < _STALLS:
                steps, fall = self._round(active, F, dual, violation, target, limit - n_iter)
                n_iter += steps
                self._resize()
                last = violation
                violation, F, dual = problem.look(beta, self.F, active)
                self._widen(violation / last, steps)
                # Rounds that undo each other get nowhere.
                fallen += fall
                idle = 0 if fallen > most + noise or violation < least else idle + 1
                least, most = min(least, violation), max(most, fallen)
                if idle == _STALLS and not self.in_float64 and self.memory.has_float64(len(active)):
                    self.in_float64, idle = True, 0
                if callback is not None:
                    going = not callback(n_iter, violation)
                if steps == 0:
                    break
            shrunk = np.setdiff1d(everyone, active, assume_unique=True)
            self.F[shrunk] += self.sums.of(beta - before, shrunk)
            exact = False
            if idle == _STALLS:
                stalls = _STALLS

    def _rounding(self) -> float:
        """Return by how much the objective falls at least where it is not rounding."""
        half = 0.5 * np.abs(self.beta)
        return float(np.finfo(float).eps * (half @ np.abs(self.F) + half @ np.abs(self.linear)))

    def _resize(self) -> None:
        """Bring up to date how much the size of the variables may still grow."""
        if self.total_size is not None:
            self.problem.dual = self.problem.dual.with_size(self.beta, self.total_size)

    def _widen(self, fallen: float, steps: int) -> None:
        """Let sets have more rows where a round has left much of the violation after many steps.

        A large matrix for few steps is wasted: then the next sets are smaller.
        """
        if steps < _WORTH * self.least or fallen < _FALL:
            self.least = max(self.least // 2, _LEAST)
        elif fallen > _STAGNANT:
            self.most = min(2 * self.most, self.size)
            self.least = min(2 * self.least, self.most)

    def _round(
        self,
        active: NDArray[np.int64],
        F: Vector,
        dual: Dual,
        violation: float,
        target: float,
        limit: int,
    ) -> tuple[int, float]:
        """Solve one working set and bring the gradient of the active rows up to date.

        Return the steps taken, and by how much the objective falls. F and dual are the centred
        gradient of the active rows and their problem.
        """
        problem, beta = self.problem, self.beta
        chosen = self._choose(active, F, dual, target)
        rows = active[chosen]
        order, dual = in_sign_order(problem.dual[rows], beta[rows], self.F[rows], F[chosen])
        rows = rows[order]
        part = len(rows) < len(active)
        enough = max(0.5 * target, _INNER * violation if part else 0.0)
        how: dict[str, Any] = {"least": 1e-3 * self.budget, "threads": self.sums.threads}
        memory = self.memory.take()
        larger = room_for_float64(memory, len(rows)) if self.in_float64 else None
        how |= {"memory": memory} if larger is None else {"memory": larger, "dtype": np.float64}
        K, values = counted_kernel_matrix(self.sums.kernel, self.sums.X[rows], **how)
        found = self._solve_set(K, dual, rows, enough, target, limit)
        self.memory.give_back(memory)
        self.matrix_values += values
        self.fallbacks += found.fallbacks
        step = np.zeros_like(beta)
        step[rows] = found.beta - beta[rows]
        mean, longer = 0.5 * self.F[rows], np.abs(found.beta) - np.abs(beta[rows])
        beta[rows] = found.beta
        self.F[active] += self.sums.of(step, active) + self._ridge(step, active)
        mean += 0.5 * self.F[rows]
        # What its float32 values are off by alone is more than the set was to be solved to.
        if float(np.abs(self.F[rows] - found.gradient).max()) > enough:
            self.in_float64 = True
        fall = -float(step[rows] @ mean)
        if dual.epsilon is not None:
            fall -= float(dual.epsilon @ longer)
        return found.n_iter, fall

    def _solve_set(
        self,
        K: NDArray[np.floating],
        dual: Dual,
        rows: NDArray[np.int64],
        enough: float,
        target: float,
        limit: int,
    ) -> Solution:
        """Solve a working set to a violation that is enough, or further while steps are cheap."""
        how: dict[str, Any] = {"inner": self.inner, "equality": self.problem.equality}
        how["scratch"] = self.scratch
        few = min(limit, _CHEAP * len(rows))
        start: dict[str, Any] = {"beta": self.beta[rows], "gradient": self.F[rows]}
        found = solve_inner(K, dual, tol=0.5 * target, max_iter=few, **start, **how)
        if found.violation <= enough or found.n_iter >= limit:
            return found
        done, left, before = found.n_iter, limit - found.n_iter, found.fallbacks
        start = {"beta": found.beta, "gradient": found.gradient}
        found = solve_inner(K, dual, tol=enough, max_iter=left, taken=done, **start, **how)
        found.n_iter += done
        found.fallbacks = max(before, found.fallbacks)
        return found

    def _ridge(self, weights: Vector, rows: NDArray[np.int64] | None = None) -> Vector | float:
        """Return D times some variables, at some rows."""
        ridge = self.problem.dual.ridge
        if ridge is None:
            return 0.0
        return ridge * weights if rows is None else ridge[rows] * weights[rows]

    def _choose(
        self, active: NDArray[np.int64], F: Vector, dual: Dual, target: float
    ) -> NDArray[np.int64]:
        """Return which active rows are the working set: violators, free rows, the nearest to both.

        F and dual are the centred gradient of the active rows and their problem.

        A violator alone can only take a short step: the free rows that answer to it must move
        with it. Where not all of them fit, those come first that see most of the violation. Few
        violators make a small set: its matrix would cost more than their steps.
        """
        beta = self.beta[active]
        up, down = reaches(F, beta, dual)
        reach = np.maximum(up, down)
        if self.problem.equality:
            # Pairs need rows of both sides: the worst of I_up and of I_low in turn.
            sides = np.stack([np.argsort(-up, kind="stable"), np.argsort(-down, kind="stable")])
            ranks = sides.T.ravel()
            ranks = ranks[np.sort(np.unique(ranks, return_index=True)[1])]
        else:
            ranks = np.argsort(-reach, kind="stable")
        worst = ranks[: max(2, self.most // 2)]
        worst = worst[reach[worst] > 0.5 * target]
        size = min(self.most, max(self.least, GROW * len(worst)))
        if len(active) <= size:
            return np.arange(len(active))
        free = dual.is_free(beta)
        free[worst] = False
        others = np.flatnonzero(free)
        if len(worst) + len(others) > size:
            seen = self.sums.of_columns(active[others], active[worst[:_SEEN]], reach[worst[:_SEEN]])
            others = others[np.argsort(-seen, kind="stable")[: size - len(worst)]]
        chosen = np.zeros(len(active), dtype=np.bool_)
        chosen[worst] = chosen[others] = True
        rest = ranks[~chosen[ranks]][: size - len(worst) - len(others)]
        chosen[rest] = True
        return np.flatnonzero(chosen)

    def _bias(self) -> float:
        """Return the bias of the current gradient."""
        return bias_of(self.F, self.beta, self.problem.dual) if self.problem.equality else 0.0

    def _all_products(self, bias: float | None) -> Vector:
        """Return K beta + D beta, exact where an error could matter to a bias near to that."""
        beta, problem = self.beta, self.problem
        near = None
        if problem.dual.spare is None:
            linear = replace(problem.dual, p=self.linear)
            near = doubt(beta, linear, bias, equality=problem.equality)
        product = self.sums.of_all(beta, near, self.matrix) + self._ridge(beta)
        if near is not None and bias is not None and problem.equality:
            found = bias_of(self.linear + product, beta, problem.dual)
            if abs(found - bias) > BIAS_SLACK * problem.dual.unit:
                product = self.sums.of_all(beta, None, self.matrix) + self._ridge(beta)
        return product
