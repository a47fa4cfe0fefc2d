"""Working sets as large as memory allows: for kernels by which every row sees every other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_product
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory, Scratch
from dcsvm_dask.solvers.optimality import bias, eased, objective, size_multiplier
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.solvers.set_choice import SMALL_SET, reach, select_set
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# A set is solved to this share of the present violation: with a large C further steps cost more
# than the next set, which moves the same variables again.
INNER_SHARE = 0.03
# So far where a set costs the tasks of a graph beside ...
TASK_SHARE = 0.001
# ... but never further, here and there, than this share of the tolerance asked for.
INNER_FLOOR = 0.3
# Rows at zero are shrunk whose margin is so many times the violation.
SHRUNK_FROM = 4.0
# No set but the first has more rows than so many times the present support vectors: where violators
# are many and support vectors few, most of those only see the same few missing.
GROWTH = 4
# Rows whose f is compared with one in float64, where the rounding of kernel values could matter.
SAMPLED = 64
_EPSILON = float(np.finfo(np.float32).eps)
# Sets after which the caller is to look at f from scratch, whatever is left.
MOST_SETS = 500


@dataclass(frozen=True, slots=True)
class Reached:
    """Where working sets ended."""

    beta: Vector
    f: Vector
    """Decision values without the bias, shape (n,), from float32 kernel values."""
    sets: int
    n_iter: int
    kernel_values: int
    fallbacks: int
    """Sets that the inner solver did not finish; see `Solution.fallbacks`."""
    matrix: KnownMatrix
    """The kernel matrix of the last set."""


def solve_working_sets(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    *,
    beta: Vector,
    f: Vector,
    first: Index,
    equality: bool = False,
    tol: float = 1e-3,
    cap: int = 16384,
    inner: str = "auto",
    threads: int = 1,
    shrinking: bool = False,
    max_iter: int | None = None,
    solved: Callable[[int, dict[str, Any]], object] | None = None,
    memory: MatrixMemory | None = None,
    inexact: bool = False,
) -> Reached:
    """Solve the dual problem by working sets of all free rows and all violators.

    Joachims (1998) with sets of thousands: each is solved by `solve_inner` with its kernel matrix
    in memory, then f of all rows follows from the changed variables. With the first set near to the
    support vectors, a handful of sets is all it takes. Where variables are so large that float32
    kernel values may be too inexact, a sample of f is computed in float64 after each set. At a
    violation of its largest error f is summed from scratch in float64, and sets go on in float64 as
    long as there is room for their matrix.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    beta, f : ndarray, shape (n,)
        Where to start, and the decision values there; with `equality` the sum of beta stays.
    first : ndarray of int64, shape (m,)
        The first set, ascending.
    equality : bool, default False
    tol : float, default 1e-3
        Violation to stop at, by the f that is kept up to date.
    cap : int, default 16384
        Most rows of a set; the solver holds up to 1.57 float32 matrices of cap^2 values.
    inner : str, default "auto"
        The inner solver; see `solve_inner`.
    threads : int, default 1
    shrinking : bool, default False
        Leave out rows at zero whose margin is much larger than the violation. Their f is not
        brought up to date any more: the caller has to look whether they violate in the end.
    max_iter : int, optional
        Most steps of two variables, of all sets together.
    solved : callable, optional
        Called once after each set as solved(sets, about), where `about` has the rows of the last
        set and where it led; a true answer stops the solver.
    memory : MatrixMemory, optional
        Of `cap` rows, or as many as X has, for the matrices of the sets.
    inexact : bool, default False
        Whether float32 kernel values may be too inexact for the tolerance: then a set of all rows
        is not solved to the end at once.

    Returns
    -------
    Reached
    """
    if memory is None:
        memory = MatrixMemory(min(max(cap, len(first)), len(dual)))
    work = _WorkingSets(
        kernel=kernel,
        X=X,
        dual=dual,
        beta=beta.copy(),
        f=f.copy(),
        equality=equality,
        tol=tol,
        cap=cap,
        inner=inner,
        threads=threads,
        shrinking=shrinking,
        inexact=inexact,
        matrix=KnownMatrix(kernel, X, memory, threads),
    )
    rows, start, reported = first, 0.0, 0
    while True:
        gradient, violation = work.look()
        start = start if work.sets else violation
        going = True
        if work.sets > reported and solved is not None:
            about = {"rows": len(rows), "violation": violation, "start": start, "tol": tol}
            going = not solved(work.sets, about | work.describe(gradient))
            reported = work.sets
        left = None if max_iter is None else max(0, max_iter - work.n_iter)
        if violation <= tol or work.sets >= MOST_SETS or left == 0 or work.is_stuck or not going:
            return work.reached()
        if violation <= work.error:
            work.continue_in_float64()
            continue
        if work.sets:
            rows = work.next_set(gradient, violation)
        if not work.solve_set(rows, gradient, violation, left):
            return work.reached()


@dataclass(kw_only=True)
class _WorkingSets:
    """A point that one working set after the other improves, and what they have cost."""

    kernel: Kernel
    X: Rows
    dual: Dual
    beta: Vector
    f: Vector
    """Decision values without the bias; those of shrunk rows are not up to date."""
    equality: bool
    tol: float
    cap: int
    inner: str
    threads: int
    shrinking: bool
    inexact: bool
    matrix: KnownMatrix
    scratch: Scratch = field(default_factory=Scratch)
    in_float64: bool = False
    """Whether the matrices of sets, and the sums that follow from them, are in float64."""
    error: float = 0.0
    """The largest error of f that was seen since it was last summed from scratch."""
    is_stuck: bool = False
    """Whether the last set took no step."""
    sets: int = 0
    n_iter: int = 0
    kernel_values: int = 0
    fallbacks: int = 0

    def __post_init__(self) -> None:
        self.shrunk = np.zeros(len(self.dual), dtype=np.bool_)
        self.size: float | None = None
        """What sum(abs(beta)) may be at most, where the problem bounds it."""
        if self.dual.spare is not None:
            self.size = self.dual.spare + float(np.abs(self.beta).sum())

    def look(self) -> tuple[Vector, float]:
        """Return the gradient and the violation."""
        if self.size is not None:
            self.dual = self.dual.with_size(self.beta, self.size)
        gradient = self.dual.gradient(self.f, self.beta)
        violation = violation_of(gradient, self.beta, self.dual, equality=self.equality)
        return gradient, violation

    def describe(self, gradient: Vector) -> dict[str, Any]:
        """Return the objective and the number of support vectors."""
        support = int(np.count_nonzero(self.beta))
        return {"objective": objective(self.beta, gradient, self.dual), "support": support}

    def reached(self) -> Reached:
        """Return where the sets ended."""
        work = self.sets, self.n_iter, self.kernel_values, self.fallbacks
        return Reached(self.beta, self.f, *work, self.matrix)

    def continue_in_float64(self) -> None:
        """Sum f of all rows, shrunk ones too, from scratch; sets are in float64 from now on."""
        self.in_float64, self.error = True, 0.0
        self.shrunk[:] = False
        self.f = self._sums_in_float64(slice(None), self.threads)

    def next_set(self, gradient: Vector, violation: float) -> Index:
        """Return the next set, ascending, and shrink rows that are far from violating."""
        beta, dual = self.beta, self.dual
        offset = bias(gradient, beta, dual) if self.equality else 0.0
        centred, near = gradient + offset, dual
        if self.size is not None:
            centred, near = eased(centred, dual, size_multiplier(gradient, beta, dual))
        if self.shrinking:
            self.shrunk |= (beta == 0.0) & (reach(centred, beta, near) < -SHRUNK_FROM * violation)
        return select_set(
            beta,
            near,
            centred,
            self.tol,
            min(self.cap, max(SMALL_SET, GROWTH * int(np.count_nonzero(beta)))),
            equality=self.equality,
            shrunk=self.shrunk,
            by_sign=self.size is not None,
        )

    def solve_set(
        self, rows: Index, gradient: Vector, violation: float, max_iter: int | None
    ) -> bool:
        """Solve a set and bring f up to date; return False, without a step, if it has no room."""
        found_matrix = self.matrix.in_float64(rows) if self.in_float64 else self.matrix.of(rows)
        if found_matrix is None:
            return False
        K, values = found_matrix
        whole = len(rows) == len(self.dual) and not self.inexact
        found = solve_inner(
            K,
            self.dual[rows],
            inner=self.inner,
            beta=self.beta[rows],
            gradient=gradient[rows],
            equality=self.equality,
            tol=inner_tol(violation, self.tol, whole=whole, share=INNER_SHARE),
            max_iter=max_iter,
            scratch=self.scratch,
        )
        self.sets += 1
        self.n_iter += found.n_iter
        self.kernel_values += values
        self.fallbacks += found.fallbacks
        self.is_stuck = found.n_iter == 0
        self._move(rows, found)
        rounding = _EPSILON * float(K.diagonal().max()) * float(np.abs(self.beta).sum())
        if rounding > self.tol and not self.in_float64:
            self.error = self._sampled_error(rows)
        return True

    def _move(self, rows: Index, found: Solution) -> None:
        """Take the step to the solution of a set, and bring f of all rows up to date."""
        step = found.beta - self.beta[rows]
        moved = np.flatnonzero(step)
        others = ~self.shrunk
        others[rows] = False
        change, values = kernel_product(
            self.kernel,
            self.X[others],
            self.X[rows[moved]],
            step[moved],
            dtype=np.float64 if self.in_float64 else np.float32,
            threads=self.threads,
        )
        self.kernel_values += values
        self.beta[rows] = found.beta
        self.f[rows] = self.dual[rows].decision(found.gradient, found.beta)
        self.f[others] += change

    def _sampled_error(self, rows: Index) -> float:
        """Return by how much f of some rows is off, by a sample."""
        some = rows[:: max(1, len(rows) // SAMPLED)]
        return float(np.abs(self.f[some] - self._sums_in_float64(some)).max(initial=0.0))

    def _sums_in_float64(self, rows: Index | slice, threads: int = 1) -> Vector:
        """Return f of some rows, summed from scratch."""
        support = np.flatnonzero(self.beta)
        sums, values = kernel_product(
            self.kernel,
            self.X[rows],
            self.X[support],
            self.beta[support],
            dtype=np.float64,
            threads=threads,
        )
        self.kernel_values += values
        return np.asarray(sums)


def inner_tol(
    violation: float, tol: float, *, whole: bool = False, share: float = TASK_SHARE
) -> float:
    """Return how far a set is solved where the whole problem is still `violation` away."""
    return INNER_FLOOR * tol if whole else max(INNER_FLOOR * tol, share * violation)
