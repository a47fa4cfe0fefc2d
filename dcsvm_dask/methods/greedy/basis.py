"""SpSVM (Keerthi, Chapelle, DeCoste, JMLR 7, 2006) over shares of the rows: its basis.

A round chooses basis vectors on a sample of the rows, then every share makes their kernel columns,
once; the weights are optimised over all rows by the steps of `dcsvm_dask.methods.greedy.weights`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, is_sparse, kernel_matrix
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.models.model import Model
from dcsvm_dask.random_streams import BASIS_POOL, generator
from dcsvm_dask.solvers import solve_greedy
from dcsvm_dask.storage.arrays import create_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import squared_loss

COLUMNS = "columns"
"""What the nodes are called that make them."""

SAMPLE_ROWS = 65536
"""Rows on which candidates are scored, at most."""
CHUNK_ROWS = 16384
"""Rows of the sample that are worked on together."""
# Newton decrement, relative to the objective, that will do on the sample.
_NEAR = 1e-6
HALVED = 2.0
"""Of C: the solvers' loss is halved, so that C means what it means to linear SVMs."""


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
    loss = squared_loss(problem.task)
    nothing = loss.left(loss.margin(problem.targets, np.zeros(problem.n)))
    objective = 0.5 * HALVED * float(np.sum(problem.C * (nothing * nothing)))
    if previous is not None:
        before = run.node(previous, "commit")
        basis, candidates = before.read("basis"), before.read("candidates")
        weights = before.read("line")[0]
        objective = before.record["objective"]
    rng = generator(settings.seed, BASIS_POOL, number)
    index, C = _sample(problem, np.concatenate([basis, candidates]), rng)
    X = problem.take(index) if len(index) < problem.n else problem.X.read(0, problem.n)
    advanced = advance_reporter()

    def report(chosen: int, about: Record) -> None:
        done = (chosen - len(basis)) / max(1, size - len(basis))
        advanced(chosen, size, "basis vectors", about, share=done)

    found = solve_greedy(
        settings.kernel,
        X,
        problem.targets_of(index),
        C,
        most=size,
        loss=loss,
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
        solved=report,
    )
    start = np.zeros(offset + len(found.basis))
    start[: len(weights)] = weights
    attempt.write("basis", index[found.basis])
    attempt.write("candidates", index[found.candidates])
    end = np.append([found.bias] * offset, found.beta)
    attempt.write("line", np.stack([start, end - start]))
    write_basis_rows(attempt, X[found.basis])
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
    C = HALVED * problem.bounds(index)
    C[~np.isin(index, drawn, assume_unique=True)] = 0.0
    if len(drawn) < n:
        every = HALVED * np.sum(problem.C)
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
    Z = basis_rows(chosen)[chosen.record["known"] :]
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


def commit_greedy(run: RunFolder, attempt: Attempt, *, source: str, solved: bool) -> Record:
    """Commit the model of the weights at which Newton's method ended.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    source : str
        The stage of the last step.
    solved : bool
        Whether the weights are optimal for the basis.
    """
    problem, at = read_problem(run), run.node(source, "commit")
    settings, weights = problem.settings, at.read("line")[0]
    beta = weights[int(settings.fit_intercept) :]
    bias = float(weights[0]) if settings.fit_intercept else 0.0
    bias += problem.task.centre
    model = Model.of_sum(settings.kernel, basis_rows(at), beta, bias)
    return {
        "support": len(beta),
        "bias": bias,
        "primal_objective": at.record["objective"],
        "solved": solved,
        "source": source,
        "iterations": at.record["newton_steps"],
        **write_whole(attempt, model),
    }


def write_basis_rows(attempt: Attempt, Z: Rows) -> None:
    """Write the rows ``Z`` of a basis."""
    place: Location = attempt.place / "Z"
    write_rows(place, [Z], n_features=int(Z.shape[1]), sparse=is_sparse(Z), chunk_rows=4096)


def basis_rows(node: Committed) -> Rows:
    """Return what `write_basis_rows` wrote."""
    rows = node.open_rows("Z")
    return rows.read(0, rows.n_rows)
