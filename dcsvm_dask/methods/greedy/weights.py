"""SpSVM's weights, by Newton's method over all rows: sums come from shares of the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kernel_matrix
from dcsvm_dask.methods.greedy.basis import COLUMNS, HALVED, basis_rows, write_basis_rows
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.solvers import Newton, RowSums
from dcsvm_dask.storage.arrays import read_rows
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import squared_loss

SUMS = "sums"
"""What the nodes are called that make them."""


def sum_share(
    run: RunFolder,
    attempt: Attempt,
    *,
    source: list[str],
    previous: str | None,
    rounds: list[str],
    part: int,
    parts: int,
    tile: int,
) -> Record:
    """Write the `RowSums` of a share of the rows at the end of the step to be tried.

    Writes ``total``, and which rows are ``active``, a bit each.

    Parameters
    ----------
    source : list of str
        Stage and node that say which step.
    previous : str or None
        The stage at whose commit the Hessian was summed last; None: it never was.
    rounds : list of str
        The stages that made columns, in their order.
    """
    problem = read_problem(run)
    offset, at = int(problem.settings.fit_intercept), run.node(*source)
    start, stop = share(problem.n, part, parts)
    known, before = 0, np.zeros(stop - start, np.bool_)
    if previous is not None:
        last = run.node(previous, "commit")
        known = offset + last.record["support"]
        bits = last.read("active", slice(start // 8, -(-stop // 8)))
        before = np.unpackbits(bits)[start % 8 :][: stop - start].astype(np.bool_)
    weights, step = at.read("line")
    sums = RowSums(weights, step, known, squared_loss(problem.task))
    active = np.empty(stop - start, np.bool_)
    nodes = [run.node(stage, f"{COLUMNS}-{part:04d}") for stage in rounds]
    for low, columns in _tiles(nodes, stop - start, tile, offset):
        mine = slice(low, low + len(columns))
        index = np.arange(start + low, start + low + len(columns))
        y, C = problem.targets_of(index), HALVED * problem.bounds(index)
        active[mine] = sums.add(columns, y, C, before[mine])
    attempt.write("total", sums.total)
    attempt.write("active", np.packbits(active))
    return {"rows": stop - start, "active": int(np.count_nonzero(active))}


def _tiles(
    nodes: list[Committed], count: int, tile: int, offset: int
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the stored columns of a share, some rows at a time, after ones for a bias."""
    stored = [(node.open_array("K"), node.place / "K") for node in nodes if node.record["columns"]]
    for low in range(0, count, tile):
        high = min(low + tile, count)
        ones = np.ones((high - low, offset), np.float32)
        yield low, np.concatenate([ones, *(read_rows(*of, low, high) for of in stored)], axis=1)


def take_step(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    source: list[str],
    previous: str | None,
    parts: int,
) -> Record:
    """Commit the weights after a step or a part of it, with the next step.

    Writes the ``line`` of the weights and the next step, the ``hessian`` of the loss and the rows
    that it was summed over (``active``), and again ``basis``, ``candidates`` and ``Z``.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage : str
        The stage of the step.
    source : list of str
        Stage and node of the weights with their step.
    previous : str or None
        The stage of the step before, whose Hessian is updated.
    parts : int
        Number of shares of the rows.
    """
    problem = read_problem(run)
    kernel, offset = problem.settings.kernel, int(problem.settings.fit_intercept)
    at = run.node(*source)
    (weights, step), Z = at.read("line"), basis_rows(at)
    size, record = len(weights), at.record
    hessian = np.zeros((0, 0)) if previous is None else run.node(previous, "commit").read("hessian")
    gram = np.zeros((size, size))
    if size > offset:
        gram[offset:, offset:] = kernel_matrix(kernel, Z, dtype=np.float64)
    nodes = [run.node(stage, f"{SUMS}-{part:04d}") for part in range(parts)]
    total = nodes[0].read("total")
    for node in nodes[1:]:
        total += node.read("total")
    decrement = np.inf if record["decrement"] is None else record["decrement"]
    point = Newton(weights, step, record["objective"], hessian, decrement)
    found = point.advance(gram, total)
    active = [np.unpackbits(node.read("active"), count=node.record["rows"]) for node in nodes]
    for name in ("basis", "candidates"):
        attempt.write(name, at.read(name))
    attempt.write("line", np.stack([found.weights, found.step]))
    attempt.write("hessian", found.hessian)
    attempt.write("active", np.packbits(np.concatenate(active)))
    write_basis_rows(attempt, Z)
    return {
        "support": record["support"],
        "ended": record["ended"],
        "objective": found.objective,
        "decrement": found.decrement if np.isfinite(found.decrement) else None,
        "newton_steps": record["newton_steps"] + found.taken,
        "rows_in_margin": sum(node.record["active"] for node in nodes),
    }
