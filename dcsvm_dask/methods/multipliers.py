"""The multipliers that levels of several nu-SVCs begin with, of random rows of each class."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.kernels import counted_kernel_matrix
from dcsvm_dask.methods.machines import machines_for
from dcsvm_dask.methods.offset import SUBSET_TOL, drawn_of_classes, multipliers_of
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.run_data import data_of, data_rows, settings_of
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.solvers import brought_to_size, solve_inner
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.rows.read import RowReader
from dcsvm_dask.storage.rows.selected import SelectedRows
from dcsvm_dask.storage.run import RunFolder

LEAST_SHARE = 1e-3
"""A margin is at least this share of the largest decision value."""


def estimate_multipliers(run: RunFolder, attempt: Attempt) -> Record:
    """Solve the SVMs of random rows, bounds scaled to those of all rows, for their multipliers.

    The record has ``epsilons``, one for each SVM (see `Problem.first_epsilons`), and
    ``support_share``, the share of the rows that are support vectors of any.
    """
    del attempt
    return sampled_multipliers(settings_of(run), data_of(run), data_rows(run))


def sampled_multipliers(settings: Settings, data: Data, reader: RowReader | SelectedRows) -> Record:
    """Return the record of `estimate_multipliers`."""
    task, n_classes = settings.make_task(), len(data.counts)
    codes = data.read_y(0, data.n_rows).astype(np.int32)
    weights = data.read_weights(0, data.n_rows)
    C = settings.bound_of(codes) * (np.ones(data.n_rows) if weights is None else weights)
    rows, scales = drawn_of_classes(codes, C, n_classes, settings.seed)
    codes = codes[rows]
    C = C[rows] * scales[codes]
    X = reader.take(rows)
    K, values = counted_kernel_matrix(settings.kernel, X, dtype=np.float64, threads=threads())
    epsilons, support, steps = [], np.zeros(len(rows), np.bool_), 0
    for machine in machines_for(settings, n_classes):
        mine, y = machine.rows(codes)
        dual = task.dual(y, C[mine])
        size, of_mine = task.size(C[mine]), K[np.ix_(mine, mine)]
        assert size is not None
        start = brought_to_size(np.zeros(len(mine)), dual, size, dual.p)
        largest = max(float(np.abs(of_mine @ start).max()), 1e-12)
        tol = SUBSET_TOL * largest
        found = solve_inner(of_mine, dual, inner="smo", beta=start, equality=True, tol=tol)
        own = (1.0 - 1.0 / scales[codes[mine]]) * found.beta * np.diagonal(of_mine)
        below, above = multipliers_of(found, dual, own)
        epsilons.append(min(0.5 * (above - below), -LEAST_SHARE * largest))
        support[mine] |= found.beta != 0.0
        steps += found.n_iter
    return {
        "rows": len(rows),
        "epsilons": epsilons,
        "support": int(support.sum()),
        "support_share": float(support.mean()),
        "iterations": steps,
        "kernel_values": values,
    }
