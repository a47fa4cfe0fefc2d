"""The linear SVM over stored features, and the kernel SVM that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.features import FeatureMap, Ltpu, Nystrom
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.approximation.features import FEATURES, stored_map
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.progress import pass_reporter
from dcsvm_dask.models.model import Model
from dcsvm_dask.solvers import solve_linear_chunks, solve_linear_dual
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder


class StoredFeatures(Sequence[NDArray[np.float32]]):
    """The features of all rows, some shares at a time.

    Parameters
    ----------
    nodes : list of Committed
        What wrote them, in the order of the rows.
    chunks : int
        In how many pieces they are read; that read last stays in memory.
    """

    def __init__(self, nodes: list[Committed], chunks: int) -> None:
        self._pieces = [list(piece) for piece in np.array_split(np.arange(len(nodes)), chunks)]
        self._nodes = nodes
        self._held: tuple[int, NDArray[np.float32]] | None = None

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, i: int) -> NDArray[np.float32]:  # type: ignore[override]
        if self._held is None or self._held[0] != i:
            self._held = None  # before the next one takes its room
            self._held = i, self._read(self._pieces[i])
        return self._held[1]

    def _read(self, parts: Sequence[int]) -> NDArray[np.float32]:
        """Return some shares' features, with no more than one of them twice in memory."""
        count = sum(self._nodes[part].record["rows"] for part in parts)
        rows, done = np.empty((0, 0), np.float32), 0
        for part in parts:
            read = self._nodes[part].read("Z")
            if not done:
                rows = np.empty((count, read.shape[1]), np.float32)
            rows[done : done + len(read)] = read
            done += len(read)
        return rows


def solve_weights(
    run: RunFolder, attempt: Attempt, *, parts: int, chunks: int, loss: str | None, tol: float
) -> Record:
    """Train the linear SVM over the features and write its model.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    parts : int
        Number of shares of the features.
    chunks : int
        Pieces in which the features are read.
    loss : {"hinge", "squared_hinge"}
        Of classes; other tasks know their own.
    tol : float
    """
    problem = read_problem(run)
    nodes = [run.node(FEATURES, f"transform-{part:04d}") for part in range(parts)]
    made = stored_map(run)
    # Units without their means do not tell classes of different sizes apart by themselves.
    offset = problem.settings.fit_intercept or isinstance(made, Ltpu)
    Z, task = StoredFeatures(nodes, chunks), problem.task
    how: Any = {
        "constant": 1.0 if offset else 0.0,
        "tol": tol,
        "seed": problem.settings.seed,
        "callback": pass_reporter(tol),
    }
    if task.has_classes:
        found = solve_linear_chunks(Z, problem.targets, problem.C, loss=loss, **how)  # type: ignore[arg-type]  # checked at the door
    else:
        found = solve_linear_dual(Z, problem.dual, **how)
    # The dual problem leaves the centre out: the bias is as short as its distance from there.
    bias = found.b + task.centre if task.centre else found.b
    model = machine(problem.settings.kernel, made, found.w, bias)
    return {
        "support": model.n_support,
        "rows_in_margin": int(np.count_nonzero(found.alpha)),
        "outputs": made.n_outputs,
        "passes": found.n_iter,
        "linear_objective": found.objective,
        "linear_violation": found.violation,
        "linear_gap": found.gap,
        "solved": bool(found.converged),
        "bias": bias,
        **isolation(problem),
        **write_whole(attempt, model),
    }


def machine(kernel: Kernel, made: FeatureMap, w: NDArray[np.float64], b: float) -> Model:
    """Return a linear SVM over features as a model of rows.

    Features that are kernel values with some rows become a sum of kernel values; other feature
    maps are a part of the model.

    Parameters
    ----------
    kernel : Kernel
    made : FeatureMap
    w : ndarray, shape (n_outputs,), float64
    b : float

    Returns
    -------
    Model
    """
    if isinstance(made, Nystrom):
        return Model.of_sum(kernel, made.landmarks, made.coefficients(w), b)
    if isinstance(made, Ltpu) and np.all(made.gammas == kernel.gamma):
        return Model.of_sum(kernel, made.centres, w, float(b - w @ made.means))
    # The weights are the only support vector of a linear kernel.
    row = np.ascontiguousarray(w[None, :], dtype=np.float32)
    return Model.of_sum(Kernel("linear"), row, np.ones(1), b, features=made)
