"""Bagging (Breiman 1996): SVMs of random samples, each solved by itself, that vote."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.bagging.threshold import threshold
from dcsvm_dask.methods.committee import (
    calibrate_unseen,
    committee_of,
    decide_unseen,
    decided_rows,
    parts_of,
)
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.offset import start_with_sum
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.solve_rows import solve_machine
from dcsvm_dask.methods.solved import SolvedBlocks
from dcsvm_dask.random_streams import BAG, BAG_MEMBER, generator
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

LAYER = "solve"

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def train_members(
    run: RunFolder,
    attempt: Attempt,
    *,
    slot: int,
    slots: int,
    members: int,
    replace: bool,
    calibrate: bool,
    tol: float,
) -> Record:
    """Train the members of one of `slots` tasks; write their support vectors one after the other.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    slot, slots : int
        The task and the number of tasks.
    members : int
        Number of members of the bag.
    replace : bool
        Whether rows are drawn with replacement.
    calibrate : bool
        Whether members are calibrated for a committee.
    tol : float
    """
    problem = read_problem(run)
    solved = SolvedBlocks(list(range(slot, members, slots)))
    sigmoids: list[tuple[float, ...]] = []
    unseen: list[Vector] = []

    def train(number: int) -> tuple[tuple[Index, Vector], Record]:
        index, counts = sample(problem, number, members, replace=replace)
        C = problem.each_C[index] * counts
        dual = problem.task.dual(problem.targets_of(index), C)
        start = start_with_sum(problem, dual, C)
        beta, record = solve_machine(problem, index, dual, tol=tol, beta=start)
        if calibrate:
            sigmoid, computed = calibrate_unseen(problem, index, beta)
            sigmoids.append(sigmoid)
            record["kernel_values"] += computed
        if problem.task.has_sum:
            values, computed = decide_unseen(problem, index, beta)
            unseen.append(values)
            record["kernel_values"] += computed
        support = np.flatnonzero(beta)
        return (index[support], beta[support]), record

    found = [solved.add(number, partial(train, number)) for number in solved.blocks]
    attempt.write("rows", np.concatenate([rows for rows, _ in found]))
    attempt.write("beta", np.concatenate([beta for _, beta in found]))
    if unseen:
        attempt.write("unseen", np.stack(unseen))
    return {
        **solved.to_json(),
        "biases": [record["bias"] for record in solved.records],
        "sigmoids": sigmoids,
        "counts": [len(rows) for rows, _ in found],
    }


def sample(
    problem: Problem, number: int, members: int, *, replace: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return which variables a member sees, and as how many rows each.

    Without replacement the members share all rows out among each other; with it, each draws as
    many by itself.
    """
    variable = np.repeat(np.arange(problem.n), problem.weights)
    seed = problem.settings.seed
    if replace:
        rng = generator(seed, BAG_MEMBER, number)
        drawn = variable[rng.integers(len(variable), size=max(1, len(variable) // members))]
    else:
        rng = generator(seed, BAG)
        drawn = variable[rng.permutation(len(variable))[number::members]]
    index, counts = np.unique(drawn, return_counts=True)
    return index, counts.astype(np.float64)


def offset_units(bias: Vector) -> Vector:
    """Return what each member's decision values f - rho are divided by: rho.

    f and rho grow with the sum of a member's variables, and f / rho - 1 is the same for all scales.
    Where some rho is not above zero, which kernels with negative values allow, it is 1 for all.

    Parameters
    ----------
    bias : ndarray, shape (members,)
        -rho of each.
    """
    return -bias if (bias < 0.0).all() else np.ones(len(bias))


def commit_bag(
    run: RunFolder, attempt: Attempt, *, stage: str, slots: int, members: int, vote: str
) -> Record:
    """Gather the members' SVMs into one model."""
    problem = read_problem(run)
    nodes = [run.node(stage, f"{LAYER}-{slot:04d}") for slot in range(slots)]
    rows: dict[int, NDArray[np.int64]] = {}
    betas: dict[int, NDArray[np.float64]] = {}
    bias, sigmoids = np.zeros(members), np.zeros((members, len(parts_of(problem))))
    for node in nodes:
        bias[node.record["members"]] = node.record["biases"]
        if vote == "committee":
            sigmoids[node.record["members"]] = node.record["sigmoids"]
        borders = np.cumsum(node.record["counts"])[:-1]
        parts = zip(
            node.record["members"],
            np.split(node.read("rows"), borders),
            np.split(node.read("beta"), borders),
            strict=True,
        )
        for number, mine, beta in parts:
            rows[number], betas[number] = mine, beta
    units, offsets = np.ones(members), bias
    if problem.task.has_sum:
        units = offset_units(bias)
        values = np.concatenate([node.read("unseen") for node in nodes])
        numbers = np.concatenate([node.record["members"] for node in nodes])
        weights = problem.weights[decided_rows(problem)].astype(np.float64)
        nu = problem.total / float(problem.C.sum())
        least = threshold(values / units[numbers, None], weights, nu)
        offsets = bias / units if least is None else np.full(members, -least)
    listed = np.concatenate([rows[number] for number in range(members)])
    support = len(np.unique(listed))
    committee = None
    if vote == "committee":
        committee = committee_of(problem, sigmoids)
    model = write_model(
        attempt,
        problem.take_chunks(listed),
        np.concatenate([betas[number] / units[number] for number in range(members)])[None, :],
        np.array([[len(rows[number])] for number in range(members)]),
        offsets[:, None] + problem.task.centre,
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
        vote=vote,
        committee=committee,
    )
    records = [node.record for node in nodes]
    return {
        "members": members,
        "support": support,
        "iterations": sum(record["iterations"] for record in records),
        "members_converged": all(record["converged"] for record in records),
        **isolation(problem, listed),
        **model,
    }
