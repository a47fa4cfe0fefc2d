"""One conquer round: blocks are improved separately, then joined in one step.

Parallel block minimisation (Hsieh, Si, Dhillon, KDD 2017): every block improves its own
variables against the current f. The products K[:, block] d_block of all rows then give the new f
and, without further kernel values, the box-constrained problem whose solution is the best factor
in [0, 1] for the step of each block.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.kernels import kernel_product
from dcsvm_dask.methods.conquer.near import near
from dcsvm_dask.methods.conquer.point import Point, commit_point
from dcsvm_dask.methods.offset import with_sum
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.methods.solve_rows import FAR_PAIRS, RowsSolver
from dcsvm_dask.solvers import balanced, solve_box_qp
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

# A variable is at the end of its step if no more than this share of the largest is left of it.
LANDED = 1e-12


def start_scope(
    run: RunFolder, attempt: Attempt, *, source: str | None, support_only: bool
) -> Record:
    """Write the warm start of a chain of rounds and the variables that it works on.

    With a bias, beta is scaled to sum(beta) = 0, or brought to the sum that its task asks for.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    source : str or None
        The committed stage whose variables are the warm start; None: zero.
    support_only : bool
        Whether the rounds work on its support vectors alone (the paper's refinement).
    """
    problem = read_problem(run)
    before = None if source is None else run.node(source, "commit")
    beta = np.zeros(problem.n) if before is None else before.read("beta")[0]
    if problem.task.has_sum:
        beta = with_sum(run, problem, beta, before)
    elif problem.settings.fit_intercept:
        beta = balanced(beta, problem.dual)
    rows = np.flatnonzero(beta) if support_only else np.arange(problem.n)
    attempt.write("rows", rows.astype(np.int64))
    attempt.write("beta", beta[None, :])
    return {"rows": len(rows), "support": int(np.count_nonzero(beta))}


def improve_block(run: RunFolder, attempt: Attempt, *, previous: str, block: int) -> Record:
    """Improve the variables of one block against the current f.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str
        The stage of the round before, which has chosen the blocks.
    block : int
    """
    problem = read_problem(run)
    settings = problem.settings
    before = run.node(previous, "commit")
    offsets = before.read("block_offsets")
    index = before.read("block_rows", slice(int(offsets[block]), int(offsets[block + 1])))
    beta = before.read("block_beta", slice(int(offsets[block]), int(offsets[block + 1])))
    f = before.read("block_f", slice(int(offsets[block]), int(offsets[block + 1])))
    dual = problem.dual[index]
    if problem.size is not None:  # blocks grow at the same time
        spare = before.record["spare"] / (len(offsets) - 1)
        dual = replace(dual, spare=spare)
    solver = RowsSolver(settings, problem.take(index), dual)
    solution = solver.solve(
        beta=beta,
        gradient=dual.gradient(f, beta),
        equality=settings.fit_intercept,
        tol=before.record["inner_tol"],
    )
    step = solution.beta - beta
    moved = np.flatnonzero(step)
    attempt.write("rows", index[moved])
    attempt.write("step", step[moved])
    return {
        "rows": len(index),
        "moved": len(moved),
        "iterations": solution.n_iter,
        "fallbacks": solution.fallbacks,
        "kernel_values": solver.kernel_values,
    }


def product_of_steps(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str,
    blocks: int,
    part: int,
    parts: int,
    tol: float,
) -> Record:
    """Compute the products of a share of the rows that do not rest with the step of every block.

    Writes ``F``, the products with the steps of the blocks that it has ``reached``. The sum of
    ``M`` over all shares is the quadratic form of the blocks' factors, d_i' K d_j.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, previous : str
        The stages of the round and of the round before.
    blocks : int
        Number of blocks.
    part, parts : int
        The share and the number of shares.
    tol : float
        Tolerance of the chain, which bounds the error by skipping far pairs.
    """
    problem = read_problem(run)
    rows, steps, groups = read_steps(run, stage, blocks)
    before = run.node(previous, "commit")
    mine = before.read("rows", slice(*share(before.record["watched"], part, parts)))
    kept, budget = near(problem, mine, rows, steps, FAR_PAIRS * tol)
    F, values = kernel_product(
        problem.settings.kernel,
        problem.take(mine),
        problem.take(rows[kept]),
        steps[kept],
        groups=np.searchsorted(kept, groups),
        budget=budget,
    )
    reached = np.flatnonzero(F.any(axis=0))
    attempt.write("reached", reached)
    attempt.write("F", F[:, reached])
    attempt.write("M", forms(F, mine, rows, steps, groups))
    return {"rows": len(mine), "kernel_values": values}


def join_steps(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str,
    number: int,
    blocks: int,
    parts: int,
    tol: float,
    rests: bool,
) -> Record:
    """Commit the best combination of the blocks' steps and the blocks of the next round.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, previous : str
        The stages of the round and of the round before.
    number : int
        Number of the round.
    blocks : int
        Number of blocks.
    parts : int
        Number of shares of the products.
    tol : float
        Tolerance of the chain.
    rests : bool
        See `commit_point`.
    """
    problem = read_problem(run)
    before = run.node(previous, "commit")
    watched = before.read("rows")
    beta, f = before.read("beta")[0], before.read("f")
    rows, steps, groups = read_steps(run, stage, blocks)
    at = np.searchsorted(watched, rows)
    dual, keep = problem.dual[rows], np.diff(groups) > 0
    products = [run.node(stage, f"product-{part:04d}") for part in range(parts)]
    M = np.sum([node.read("M") for node in products], axis=0)
    if dual.ridge is not None:
        M[np.diag_indices(blocks)] += _by_group(dual.ridge * steps**2, groups)
    c = _by_group(dual.gradient(f[at], beta[rows]) * steps, groups)
    if dual.epsilon is not None:
        # Where a step crosses the kink, its chord is an upper bound that keeps this a box problem.
        chords = np.abs(beta[rows] + steps) - np.abs(beta[rows])
        c += _by_group(dual.epsilon * chords, groups)
    factors = np.zeros(blocks)
    symmetric = 0.5 * (M + M.T)
    factors[keep] = solve_box_qp(symmetric[np.ix_(keep, keep)], c[keep])
    ends = beta[rows] + steps
    beta[rows] = dual.clip(beta[rows] + np.repeat(factors, np.diff(groups)) * steps)
    # What a factor below 1 leaves of a way to a bound would violate, but be too little to move.
    landed = np.abs(ends - beta[rows]) <= LANDED * np.abs(beta).max(initial=0.0)
    beta[rows[landed]] = dual[landed].clip(ends[landed])
    for part, node in enumerate(products):  # one is in memory at a time
        f[slice(*share(len(f), part, parts))] += node.read("F") @ factors[node.read("reached")]
    record = commit_point(
        problem,
        attempt,
        Point(watched, beta, f),
        number=number,
        tol=tol,
        in_blocks=True,
        rests=rests,
    )
    return {
        **record,
        "from_scratch": False,
        "moved": len(rows),
        "beta_min": float(factors[keep].min(initial=1.0)),
        "decrease": -float(0.5 * factors @ symmetric @ factors + c @ factors),
    }


def read_steps(
    run: RunFolder, stage: str, blocks: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the changed variables of all blocks, their steps, and the borders of the blocks.

    They are kept for the next task of the same process, since every share of the rows needs them.

    Parameters
    ----------
    run : RunFolder
    stage : str
        The stage of the round.
    blocks : int
        Number of blocks.

    Returns
    -------
    rows : ndarray of int64, shape (m,)
    steps : ndarray, shape (m,), float64
    groups : ndarray of int64, shape (blocks + 1,)
    """
    attempts = []
    for block in range(blocks):
        found = run.find(stage, _improved(block))
        # What is not there is refused as it is by `node`.
        attempts.append((found or run.node(stage, _improved(block))).attempt)
    with _reading:  # one task reads for those that begin beside it
        return _read_steps(run.place.url, stage, tuple(attempts))


def _improved(block: int) -> str:
    """Return the name of the node that improved a block."""
    return f"improve-{block:04d}"


_reading = threading.Lock()


@lru_cache(maxsize=1)
def _read_steps(
    run_url: str, stage: str, attempts: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    run = RunFolder.open(run_url)
    # The attempts are part of the cache's key: others have other steps.
    nodes = [run.node(stage, _improved(block)) for block in range(len(attempts))]
    rows = [node.read("rows") for node in nodes]
    steps = [node.read("step") for node in nodes]
    groups = np.concatenate([[0], np.cumsum([len(part) for part in rows])]).astype(np.int64)
    found = np.concatenate(rows).astype(np.int64), np.concatenate(steps), groups
    for shared in found:  # by all tasks of the process
        shared.setflags(write=False)
    return found


def forms(
    F: NDArray[np.float64],
    mine: NDArray[np.int64],
    rows: NDArray[np.int64],
    steps: NDArray[np.float64],
    groups: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return what some rows add to the quadratic form of the blocks' factors, d_i' K d_j.

    Parameters
    ----------
    F : ndarray, shape (m, blocks)
        K[mine, block] d_block.
    mine : ndarray, shape (m,)
        The variables of these rows, ascending.
    rows, steps : ndarray, shape (moved,)
        All changed variables, block after block, and their steps d.
    groups : ndarray, shape (blocks + 1,)
        The borders of the blocks in `rows`.

    Returns
    -------
    ndarray, shape (blocks, blocks), float64
    """
    blocks = len(groups) - 1
    at = np.searchsorted(mine, rows)
    here = np.flatnonzero(np.take(mine, at, mode="clip") == rows) if len(mine) else at[:0]
    where = np.repeat(np.arange(blocks), np.diff(groups))[here], at[here]
    return np.asarray(sparse.csr_array((steps[here], where), shape=(blocks, len(F))) @ F)


def scope_rows(run: RunFolder, scope: str | None, part: int, parts: int) -> NDArray[np.int64]:
    """Return a share of the variables of a chain of rounds.

    Parameters
    ----------
    run : RunFolder
    scope : str or None
        The stage whose node ``scope`` has the variables; None: all.
    part, parts : int
        The share and the number of shares.
    """
    if scope is None:
        return np.arange(*share(read_problem(run).n, part, parts))
    node = run.node(scope, "scope")
    start, stop = share(node.record["rows"], part, parts)
    return node.read("rows", slice(start, stop)).astype(np.int64)


def _by_group(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum consecutive rows by group; empty groups sum to zero."""
    total = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    return np.asarray(total[groups[1:]] - total[groups[:-1]])
