"""Scoring candidates by blocks: a kernel's matrix of a block serves all folds and all C."""

from __future__ import annotations

import time

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.models.grid import solve_fold
from dcsvm_dask.models.pairs import winners
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.steps.held_out import read_split
from dcsvm_dask.steps.resources import threads
from dcsvm_dask.steps.search_scores import SCORES, accuracies, no_scores, write_scores
from dcsvm_dask.steps.telling import tell_of_advance
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

SOLVE = "solve"


def score_blocks(
    run: RunFolder,
    attempt: Attempt,
    *,
    kernel: Record,
    costs: list[float],
    candidates: list[int],
    first: int,
    last: int,
    slot: int,
    slots: int,
    tol: float,
    budget: int,
) -> Record:
    """Score some C of one kernel by the machines of some blocks (early prediction).

    The kernel matrix of a block is computed once, its folds are parts of it, C goes up.

    Parameters
    ----------
    candidates : list of int
        The numbers of these among all candidates.
    first, last : int
        Which of all blocks, in a random order of them; every `slots`-th of these is this slot's.
    budget : int
        Most steps of a machine for each row that it trains on.
    """
    held, made = read_split(run), Kernel(**kernel)
    order = np.random.default_rng([held.problem.settings.seed, 9701])
    mine = order.permutation(len(held.blocks))[first:last][slot::slots]
    shape = len(costs), len(held.folds)
    right, rows, values = np.zeros(shape), np.zeros(shape), 0
    seconds, solved = np.zeros(len(costs)), np.ones(len(costs), dtype=np.bool_)
    advanced = tell_of_advance()
    for done, number in enumerate(mine.tolist()):
        begin = time.perf_counter()
        own = held.blocks[number]
        X, (outside, codes, counts) = held.problem.take(own), held.outside(number)
        codes = np.concatenate([held.codes[own], codes])
        counts = np.concatenate([held.problem.weights[own], counts])
        dtype = np.float64 if len(own) <= SMALL else np.float32
        with np.errstate(over="ignore", invalid="ignore"):
            K = kernel_matrix(made, X, dtype=dtype, threads=threads() if slots == 1 else 1)
            if outside.shape[0]:
                K = np.concatenate([K, kernel_matrix(made, outside, X, dtype=dtype)])
        values += len(codes) * len(own)
        weight = np.concatenate([held.weight[own], np.ones(len(codes) - len(own))])
        shared = time.perf_counter() - begin
        for fold in held.folds:
            train, test = held.of_fold(own, fold, len(codes))
            rows[:, fold] += counts[test].sum()
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    found = solve_fold(
                        K,
                        codes,
                        weight,
                        train,
                        test,
                        np.array(costs),
                        held.machines,
                        equality=held.problem.settings.fit_intercept,
                        tol=tol,
                        most_steps=lambda rows: budget * rows,
                    )
            except InputError:  # rows are finite: it is the kernel that is impossible here
                solved[:] = False
                continue
            for place, decided in enumerate(found.values):
                hit = winners(decided, held.n_classes) == codes[test]
                right[place, fold] += counts[test][hit].sum()
            seconds += found.seconds + shared / (len(costs) * len(held.folds))
            solved &= found.solved
        advanced(done + 1, len(mine), "blocks", {"kernel_values": values})
    for name, array in zip(SCORES, (right, rows, seconds, solved), strict=True):
        attempt.write(name, array)
    return {
        "candidates": candidates,
        "blocks": len(mine),
        "kernel_values": values,
        "solved": bool(solved.all()),
    }


def commit_scores(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    nodes: list[list[int]],
    candidates: int,
    before: str | None,
) -> Record:
    """Add up what blocks said, with what those of the rung before said.

    Parameters
    ----------
    nodes : list of list of int
        The candidates that each node has scored.
    before : str or None
        The stage of the rung before.

    Returns
    -------
    dict
        ``ranked`` lists the candidates that were scored now, the best first.
    """
    found = no_scores(candidates, len(read_split(run).folds))
    if before is not None:
        commit = run.node(before, "commit")
        found = {name: commit.read(name) for name in SCORES}
    for number, places in enumerate(nodes):
        node = run.node(stage, f"{SOLVE}-{number:04d}")
        for name in ("right", "rows", "seconds"):
            found[name][places] += node.read(name)
        found["solved"][places] &= node.read("solved")
    now = sorted({place for places in nodes for place in places})
    ranked = sorted(now, key=lambda place: -accuracies(found)[place])
    whole = len(read_split(run).blocks) == 1
    return {"ranked": ranked, "whole": whole, **write_scores(attempt, found, ranked[0], now)}
