"""SpSVM (Keerthi, Chapelle, DeCoste, JMLR 7, 2006) over shares of the rows.

A round chooses basis vectors on a sample of the rows, then every share makes their kernel columns,
once; the weights are optimised by Newton's method over all rows, whose sums come from the shares.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, is_sparse, kernel_matrix
from dcsvm_dask.models.model import Model
from dcsvm_dask.solvers import Newton, RowSums, solve_greedy
from dcsvm_dask.steps.problem import Problem, read_problem
from dcsvm_dask.steps.resources import threads
from dcsvm_dask.steps.shares import share
from dcsvm_dask.steps.telling import tell_of_advance
from dcsvm_dask.storage.arrays import create_array, open_array, read_rows
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.rows import open_rows, write_rows
from dcsvm_dask.storage.run import Attempt, Committed, Record, RunFolder

COLUMNS, SUMS = "columns", "sums"
"""What the nodes of the shares are called."""

SAMPLE_ROWS = 65536
"""Rows on which candidates are scored, at most."""
CHUNK_ROWS = 16384
"""Of the sample, at a time."""
# Newton decrement, relative to the objective, that will do on the sample.
_NEAR = 1e-6
# Its loss is halved: C means what it means to linear machines.
_HALVED = 2.0


def choose_basis(
    run: RunFolder,
    attempt: Attempt,
    *,
    previous: str | None,
    number: int,
    size: int,
    pool: int,
    least: float,
) -> Record:
    """Let the basis grow on a sample of the rows, at random, whose losses stand for all.

    Writes the ``basis``, its rows ``Z`` and the ``candidates`` left; as a ``line`` the weights that
    are the best so far, and the step from there to those that are the best for the sample.

    Parameters
    ----------
    previous : str or None
        The stage whose basis grows; None: there is none yet.
    size : int
        Basis vectors at the end, unless no other brings `least`.
    """
    problem = read_problem(run)
    settings, offset = problem.settings, int(problem.settings.fit_intercept)
    basis, candidates, weights = np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(offset)
    objective = 0.5 * _HALVED * settings.C * float(np.sum(problem.weights, dtype=np.float64))
    if previous is not None:
        before = run.node(previous, "commit")
        basis, candidates = before.read("basis"), before.read("candidates")
        weights = before.read("line")[0]
        objective = before.record["objective"]
    rng = np.random.default_rng([settings.seed, 9700, number])
    index, C = _sample(problem, np.concatenate([basis, candidates]), rng)
    X = problem.take(index) if len(index) < problem.n else problem.X.read(0, problem.n)
    advanced = tell_of_advance()

    def tell(chosen: int, about: Record) -> None:
        done = (chosen - len(basis)) / max(1, size - len(basis))
        advanced(chosen, size, "basis vectors", about, share=done)

    found = solve_greedy(
        settings.kernel,
        X,
        problem.labels(index),
        C,
        most=size,
        intercept=settings.fit_intercept,
        basis=np.searchsorted(index, basis),
        weights=weights,
        tol=least,
        precision=_NEAR,
        pool=pool,
        candidates=np.searchsorted(index, candidates),
        dtype=np.float32,
        seed=int(rng.integers(1 << 31)),
        chunk_rows=CHUNK_ROWS,
        threads=threads(),
        solved=tell,
    )
    start = np.zeros(offset + len(found.basis))
    start[: len(weights)] = weights
    attempt.write("basis", index[found.basis])
    attempt.write("candidates", index[found.candidates])
    end = np.append([found.bias] * offset, found.beta)
    attempt.write("line", np.stack([start, end - start]))
    _write_basis_rows(attempt, X[found.basis])
    return {
        "rows": len(index),
        "known": len(basis),
        "support": len(found.basis),
        "ended": len(found.basis) < size,
        "objective": objective,
        "decrement": None,
        "newton_steps": 0,
        "kernel_values": found.kernel_values,
    }


def _sample(
    problem: Problem, named: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rows drawn at random and, without a loss, those named; and the losses' weights."""
    n = problem.n
    drawn = np.sort(rng.choice(n, size=min(n, SAMPLE_ROWS), replace=False)).astype(np.int64)
    index = np.union1d(drawn, named)
    C = _HALVED * problem.bounds(index)
    C[~np.isin(index, drawn, assume_unique=True)] = 0.0
    if len(drawn) < n:
        every = _HALVED * problem.settings.C * np.sum(problem.weights, dtype=np.float64)
        C *= every / C.sum()
    return index, C


def make_columns(
    run: RunFolder, attempt: Attempt, *, stage: str, part: int, parts: int, tile: int
) -> Record:
    """Write the kernel columns ``K`` of a round's new basis vectors, for a share of the rows.

    Parameters
    ----------
    stage : str
        The round.
    tile : int
        Rows at a time.
    """
    problem, chosen = read_problem(run), run.node(stage, "choose")
    start, stop = share(problem.n, part, parts)
    Z = _basis_rows(chosen)[chosen.record["known"] :]
    count = int(Z.shape[0])
    if count:
        place = attempt.place / "K"
        form = (stop - start, count), np.float32, (tile, count)
        # Every Newton step reads them: unpacking would take longer than all else that it does,
        # but for what comes over a network.
        columns = create_array(place, *form, packed=place.is_remote)
        for at in range(start, stop, tile):
            X = problem.X.read(at, min(at + tile, stop))
            # Rounding to float32 is then the only error, which many weights do not notice.
            K = kernel_matrix(problem.settings.kernel, X, Z, tile_dtype=np.float64)
            columns[at - start : at - start + len(K)] = K
    return {"columns": count, "kernel_values": count * (stop - start)}


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
    sums = RowSums(weights, step, known)
    active = np.empty(stop - start, np.bool_)
    nodes = [run.node(stage, f"{COLUMNS}-{part:04d}") for stage in rounds]
    for low, columns in _tiles(nodes, stop - start, tile, offset):
        mine = slice(low, low + len(columns))
        index = np.arange(start + low, start + low + len(columns))
        y, C = problem.labels(index), _HALVED * problem.bounds(index)
        active[mine] = sums.add(columns, y, C, before[mine])
    attempt.write("total", sums.total)
    attempt.write("active", np.packbits(active))
    return {"rows": stop - start, "active": int(np.count_nonzero(active))}


def _tiles(
    nodes: list[Committed], count: int, tile: int, offset: int
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the stored columns of a share, some rows at a time, after ones for a bias."""
    places = [node.place / "K" for node in nodes if node.record["columns"]]
    stored = [(open_array(place), place) for place in places]
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
    """Take the step or a part of it, by the sums of all shares; write where that leads.

    Writes the ``line`` of the weights and the step that is next, the ``hessian`` of the loss and
    which rows it was summed over (``active``), and again ``basis``, ``candidates`` and ``Z``.
    """
    problem = read_problem(run)
    kernel, offset = problem.settings.kernel, int(problem.settings.fit_intercept)
    at = run.node(*source)
    (weights, step), Z = at.read("line"), _basis_rows(at)
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
    _write_basis_rows(attempt, Z)
    return {
        "support": record["support"],
        "ended": record["ended"],
        "objective": found.objective,
        "decrement": found.decrement if np.isfinite(found.decrement) else None,
        "newton_steps": record["newton_steps"] + found.taken,
        "rows_in_margin": sum(node.record["active"] for node in nodes),
    }


def commit_greedy(run: RunFolder, attempt: Attempt, *, source: str, solved: bool) -> Record:
    """Write the model of where Newton's method ended."""
    problem, at = read_problem(run), run.node(source, "commit")
    settings, weights = problem.settings, at.read("line")[0]
    beta = weights[int(settings.fit_intercept) :]
    bias = float(weights[0]) if settings.fit_intercept else 0.0
    model = Model(
        settings.kernel,
        _basis_rows(at),
        beta,
        np.array([0, len(beta)], dtype=np.int64),
        np.array([bias]),
    )
    return {
        "support": len(beta),
        "bias": bias,
        "primal_objective": at.record["objective"],
        "solved": solved,
        "source": source,
        "iterations": at.record["newton_steps"],
        **write_whole(attempt, model),
    }


def _write_basis_rows(attempt: Attempt, Z: Rows) -> None:
    place: Location = attempt.place / "Z"
    write_rows(place, [Z], n_features=int(Z.shape[1]), sparse=is_sparse(Z), chunk_rows=4096)


def _basis_rows(node: Committed) -> Rows:
    rows = open_rows(node.place / "Z")
    return rows.read(0, rows.n_rows)
