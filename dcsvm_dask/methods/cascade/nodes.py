"""Cascade SVM (Graf, Cosatto, Bottou, Dourdanovic, Vapnik, NIPS 2005): the nodes of its tree.

Random shares of the rows are solved at the leaves; only support vectors go up, and a node solves
those of its children together. What the top finds goes back into every leaf. The objective of the
whole problem cannot rise from one pass to the next: every leaf starts at the last top's solution,
and every node at the best of its children's, which is feasible for the whole problem.

Variables with a sum that is not zero, as of one-class SVMs, have in the first pass the share of the
rows below a node, nu times these: what is feasible at its children is so together. The top has the
sum of all rows, and so has every node of later passes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.offset import start_with_sum
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.solve_rows import solve_machine
from dcsvm_dask.random_streams import CASCADE, generator
from dcsvm_dask.solvers import bias, duality_gap, objective, violation
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


def solve_leaf(
    run: RunFolder, attempt: Attempt, *, leaf: int, leaves: int, previous: str | None, tol: float
) -> Record:
    """Solve a random share of the rows with the support vectors of the last pass.

    Writes the support vectors' ``rows`` and ``beta``.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    leaf, leaves : int
        The leaf and the number of leaves.
    previous : str or None
        The stage that has checked the pass before.
    tol : float
    """
    problem = read_problem(run)
    order = generator(problem.settings.seed, CASCADE).permutation(problem.n)
    index = np.sort(order[leaf::leaves]).astype(np.int64)
    dual, f = problem.dual_of(index), None
    beta = start_with_sum(problem, dual, problem.bounds(index)) if previous is None else None
    if previous is not None:
        before = run.node(previous, "commit")
        whole, f_whole = before.read("beta")[0], before.read("f")
        index = np.union1d(index, np.flatnonzero(whole))
        dual, beta, f = problem.dual_of(index), whole[index], f_whole[index]
    found, record = solve_machine(problem, index, dual, tol=tol, beta=beta, f=f)
    return _commit_support(attempt, index, found, record)


def join_nodes(
    run: RunFolder, attempt: Attempt, *, stage: str, children: list[str], apart: bool, tol: float
) -> Record:
    """Solve the support vectors of some nodes together.

    Parameters
    ----------
    children : list of str
        Names of the nodes.
    apart : bool
        Whether they have no row in common.
    """
    problem = read_problem(run)
    nodes = [run.node(stage, child) for child in children]
    index = np.unique(np.concatenate([node.read("rows") for node in nodes]))
    beta = np.zeros(len(index))
    best = min(nodes, key=lambda node: float(node.record["objective"]))
    # SVMs of rows that none of the others has are feasible together.
    for node in nodes if apart else [best]:
        beta[np.searchsorted(index, node.read("rows"))] = node.read("beta")
    found, record = solve_machine(problem, index, problem.dual_of(index), tol=tol, beta=beta)
    return _commit_support(attempt, index, found, record)


def _commit_support(attempt: Attempt, index: Index, beta: Vector, record: Record) -> Record:
    support = np.flatnonzero(beta)
    attempt.write("rows", index[support])
    attempt.write("beta", beta[support])
    return record


def commit_pass(
    run: RunFolder, attempt: Attempt, *, stage: str, top: str, layers: list[str], nodes: list[int]
) -> Record:
    """Commit the top's solution for all variables.

    Parameters
    ----------
    layers, nodes
        The names of the layers from the leaves on, and how many nodes each has.
    """
    problem, node = read_problem(run), run.node(stage, top)
    beta = np.zeros(problem.n)
    beta[node.read("rows")] = node.read("beta")
    attempt.write("beta", beta[None, :])
    counted = [
        [run.node(stage, f"{layer}-{i:04d}").record for i in range(count)]
        for layer, count in zip(layers, nodes, strict=True)
    ]
    below = [record for layer in counted for record in layer]
    keys = ("objective", "bias", "support", "bounded", "converged")
    return {
        **{key: node.record[key] for key in keys},
        "iterations": sum(record["iterations"] for record in below),
        "nodes": len(below),
        "largest": max(record["rows"] for record in below),
        "support_by_layer": [sum(record["support"] for record in layer) for layer in counted],
    }


def check_pass(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    source: str,
    layer: str,
    parts: int,
    number: int,
) -> Record:
    """Commit the measures of a pass, from f of all rows computed from scratch.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, source : str
        The stages of the check and of the pass.
    layer : str
        Name of the nodes that computed f.
    parts : int
        Number of shares of the rows.
    number : int
        Number of the pass.
    """
    problem, before = read_problem(run), run.node(source, "commit")
    beta = before.read("beta")[0]
    found = [run.node(stage, f"{layer}-{part:04d}") for part in range(parts)]
    f = np.concatenate([part.read("f") for part in found])
    attempt.write("beta", beta[None, :])
    attempt.write("f", f)
    dual, equality = problem.dual, problem.settings.fit_intercept
    gradient = dual.gradient(f, beta)
    return {
        "pass": number,
        "objective": objective(beta, gradient, dual),
        "gap": duality_gap(gradient, beta, dual, equality=equality),
        "violation": violation(gradient, beta, dual, equality=equality),
        "bias": bias(gradient, beta, dual) if equality else 0.0,
        "support": int(np.count_nonzero(beta)),
        "bounded": int(np.count_nonzero(dual.is_bounded(beta))),
        **{key: max(part.record[key] for part in found) for key in ("tol", "float32_error")},
    }
