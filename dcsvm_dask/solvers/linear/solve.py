"""Linear SVMs by dual coordinate descent, with all rows in memory or in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers.linear.descent import Chunks, LinearDescent
from dcsvm_dask.solvers.linear.free_bias import FreeBiasDescent, step_of
from dcsvm_dask.solvers.linear.problem import (
    Bias,
    LinearProblem,
    LinearSolution,
    Loss,
    SignedProblem,
    check_costs,
    check_labels,
)
from dcsvm_dask.solvers.linear.trace import Trace
from dcsvm_dask.solvers.linear.visits import Order, Visits
from dcsvm_dask.tasks import Dual, Regression
from dcsvm_dask.tasks.vectors import vector


def solve_linear(
    X: Rows,
    y: ArrayLike,
    C: ArrayLike,
    *,
    loss: Loss = "hinge",
    constant: float = 0.0,
    bias: Bias = "feature",
    alpha: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int | None = None,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
    order: Order = "shuffled",
    shrink: float = 1.0,
    trace: Trace | None = None,
) -> LinearSolution:
    """Train a linear SVM by dual coordinate descent.

    Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008: Algorithm 3 with the random order of
    section 3.1. Solves the dual (4) of::

        min 0.5 w'w + sum_i C_i max(0, 1 - y_i w'x_i)^p,   p = 1 (hinge) or 2 (squared hinge)

    or, of section 6, with the loss (1 - y_i w'x_i)^2 (squared); which is::

        min 0.5 a'(Q + D)a - e'a,   Q_ij = y_i y_j x_i'x_j
            0 <= a_i <= U_i

    with U_i = C_i, D_ii = 0 for the hinge and U_i = infinity, D_ii = 1 / (2 C_i) for its square.
    Of the squared loss, D is the same and no a_i has a bound.
    Given X, y, C and a feasible start `alpha`; the answer is in `LinearSolution`, which has
    w = sum_i y_i a_i x_i. A step minimises over one a_i exactly (9); its gradient (12) is
    y_i w'x_i - 1 + D_ii a_i, and w follows (13), so a step costs two passes over x_i. A pass
    visits the active rows in a new random order; rows at a bound rest while their gradient says
    that they will stay (16).

    The tolerance is that of (17), as LIBLINEAR's `-e` and scikit-learn's ``LinearSVC(tol=...)``
    have it: the largest minus the smallest projected gradient met in a pass (0 always counts as
    met, so that it bounds each of them). When the active rows reach it, all rows are visited
    again. Then, beyond LIBLINEAR, w is summed from scratch and the violation of all rows is
    measured where nothing moves; passes go on if that is not within `tol`.

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
        Rows; they are not copied if dense in C order or CSR.
    y : array, shape (n,)
        Labels -1 and +1.
    C : float or array, shape (n,)
        Cost of each row's loss, 0 or more: C times the weights of classes and samples.
    loss : {"hinge", "squared_hinge", "squared"}, default="hinge"
    constant : float, default=0.0
        Value of a feature appended to every row, whose weight times `constant` is the offset b;
        it is regularised like the others. LIBLINEAR's `-B`, scikit-learn's intercept_scaling.
        0: no offset. With a free bias: the square root of rho, on which the answer does not depend,
        passes do; 0: a third of the usual length of a row.
    bias : {"feature", "free"}, default="feature"
        What the offset is. "free": it is no part of the regularisation, as that of LIBSVM; passes
        are those of the method of multipliers, see `dcsvm_dask.solvers.linear.free_bias`, and the
        violation is LIBSVM's.
    alpha : array, shape (n,), optional
        Start within the bounds, 0 by default.
    tol : float, default=1e-3
        Violation to stop at.
    max_iter : int, optional
        Most passes to make; by default as many as visit 1,000 n rows.
    seed : int, default=0
        Of the random order: the same seed gives the same answer bit for bit on one kind of
        processor with one set of versions.
    callback : callable, optional
        Called as callback(n_iter, violation) every 50 ms or so; a true answer stops the solver.
    order : {"shuffled", "fixed", "drawn"}, default="shuffled"
        A pass visits each row once, in a new random order; as they lie; or it draws as many rows as
        there are with replacement, which is Algorithm 2, and lets none rest.
    shrink : float, default=1.0
        Factor of both bounds of (16), above 0: below 1 rows rest sooner, as the paper proposes;
        at infinity none rests.
    trace : Trace, optional
        Receives seconds, objectives and the duality gap after each pass.

    Returns
    -------
    LinearSolution

    Raises
    ------
    InputError
        For shapes, labels, bounds or values that do not fit.
    """
    return solve_linear_chunks(
        (X,),
        y,
        C,
        loss=loss,
        constant=constant,
        bias=bias,
        alpha=alpha,
        tol=tol,
        max_iter=max_iter,
        seed=seed,
        callback=callback,
        order=order,
        shrink=shrink,
        trace=trace,
    )


def solve_linear_chunks(
    chunks: Chunks,
    y: ArrayLike,
    C: ArrayLike,
    *,
    loss: Loss = "hinge",
    constant: float = 0.0,
    bias: Bias = "feature",
    alpha: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int | None = None,
    inner_passes: int = 3,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
    order: Order = "shuffled",
    shrink: float = 1.0,
    trace: Trace | None = None,
) -> LinearSolution:
    """Train a linear SVM on rows that come in chunks, one in memory at a time.

    The problem, the tolerance and the answer are those of `solve_linear`; with one chunk this is
    `solve_linear`. With more it is block minimisation: Yu, Hsieh, Chang, Lin, KDD 2010,
    Algorithm 1 on the dual. An outer pass asks for the chunks in a new random order
    (the first time as they lie) and makes a few passes over the alphas of each with the w of all.
    Its violation is that of the first of these passes, over all chunks. Chunks whose rows all
    rest are not asked for until all rows are visited again.

    Chunks that share a direction, such as the constant, would settle it by turns, over hundreds
    of outer passes. So a few free rows of each chunk stay in memory, as many as a tenth of a
    chunk together, and are visited among the rows of the others (as Chang, Roth, KDD 2011, keep
    rows near the margin). Besides them, what stays in memory is w, six float64 values and one
    int32 for each row, and the chunk at hand, twice.

    Parameters
    ----------
    chunks : sequence of arrays or CSR
        ``len(chunks)`` and ``chunks[i]``, the i-th rows, shape (n_i, d), below 2^31 rows each.
        Reading ahead is up to the sequence.
    y, C, alpha : array, shape (n,)
        As for `solve_linear`, over all chunks in their order.
    inner_passes : int, default=3
        Most passes over a chunk while it is in memory: more where reading is slow.
    max_iter : int, optional
        Most passes over the chunks; by default as many as visit 1,000 n rows.
    callback : callable, optional
        Called after each pass over the chunks.
    loss, constant, bias, tol, seed, order, shrink, trace
        As for `solve_linear`. Chunks are asked for in a random order but where `order` is "fixed".
        The usual length of a row is that of the first chunk's.

    Returns
    -------
    LinearSolution

    Raises
    ------
    InputError
        As for `solve_linear`; if there are no chunks, or they do not fit together.
    """
    n, visits = np.size(y), Visits(order, shrink)
    constant = _constant(chunks, constant, bias)
    last = tol, max_iter, callback, trace
    if loss == "squared":
        labels = check_labels(y, n)
        cost = check_costs(C, n)
        with np.errstate(divide="ignore"):  # of rows without weight
            dual = Regression(epsilon=0.0, squared=True).dual(labels, cost)
        beta = None if alpha is None else labels * vector(alpha, "alpha", n)
        signed = SignedProblem.of(dual, constant, beta, visits)
        found = _solve(_descent(chunks, signed, seed, inner_passes, bias), *last)
        return replace(found, alpha=labels * found.alpha)
    problem = LinearProblem.of(n, y, C, loss, constant, alpha, visits)
    if bias == "free":
        found = _solve(_descent(chunks, problem.signed(), seed, inner_passes, bias), *last)
        return replace(found, alpha=np.abs(found.alpha))
    return _solve(LinearDescent(chunks, problem, seed, max(1, inner_passes)), *last)


def solve_linear_dual(
    chunks: Chunks,
    dual: Dual,
    *,
    constant: float = 0.0,
    bias: Bias = "feature",
    beta: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int | None = None,
    inner_passes: int = 3,
    seed: int = 0,
    callback: Callable[[int, float], object] | None = None,
    order: Order = "shuffled",
    shrink: float = 1.0,
    trace: Trace | None = None,
) -> LinearSolution:
    """Train a linear SVM for the dual problem of a task, as epsilon-SVR, by coordinate descent.

    Ho, Lin, JMLR 13, 2012: Algorithm 4 with the shrinking of section 3.2. Solves, for the task's
    loss of each row, the dual of::

        min 0.5 w'w + sum_i C_i loss_i(w'x_i)

    as `Dual` has it, with K_ij = x_i'x_j: one variable a row, whose kink at zero a step may cross.
    That is LinearSVR with the epsilon-insensitive loss or its square, and linear quantile
    regression with the pinball loss.

    The solver is that of `solve_linear_chunks`, and so are chunks, order and tolerance: the largest
    minus the smallest projected gradient, in units of the targets, is measured over all rows where
    nothing moves. (LIBLINEAR's ``-e`` for regression is relative to the first pass.)

    Parameters
    ----------
    chunks : sequence of arrays or CSR
        As for `solve_linear_chunks`; ``(X,)`` for rows in memory.
    dual : Dual
        Of all rows in their order, without groups. Rows whose weight C_i is 0 take no part.
    beta : array, shape (n,), optional
        Start within the bounds, 0 by default.
    constant, bias, tol, max_iter, inner_passes, seed, callback, order, shrink, trace
        As for `solve_linear_chunks`.

    Returns
    -------
    LinearSolution
        ``alpha`` is beta, and w = sum_i beta_i x_i.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit; if there are no chunks.
    """
    constant = _constant(chunks, constant, bias)
    problem = SignedProblem.of(dual, constant, beta, Visits(order, shrink))
    descent = _descent(chunks, problem, seed, inner_passes, bias)
    return _solve(descent, tol, max_iter, callback, trace)


def _constant(chunks: Chunks, constant: float, bias: Bias) -> float:
    """Return the constant feature of a problem, by the rows where a free bias has none given."""
    if bias not in get_args(Bias):
        raise InputError(f"bias is {bias!r:.80}: give one of {', '.join(get_args(Bias))}.")
    if constant or bias != "free":
        return constant
    return step_of((chunks[0],) if len(chunks) else ())


def _descent(
    chunks: Chunks, problem: SignedProblem, seed: int, inner_passes: int, bias: Bias
) -> LinearDescent:
    kind = FreeBiasDescent if bias == "free" else LinearDescent
    return kind(chunks, problem, seed, max(1, inner_passes))


def _solve(
    descent: LinearDescent,
    tol: float,
    max_iter: int | None,
    callback: Callable[[int, float], object] | None,
    trace: Trace | None,
) -> LinearSolution:
    follow = callback if trace is None else trace.follow(descent, callback)
    return descent.solve(tol, max_iter, follow)
