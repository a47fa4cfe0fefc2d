"""What a data set or a run holds, in memory."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dcsvm_dask.api import Run
from dcsvm_dask.storage.dataset import DataSet


def rows_of(data: DataSet) -> np.ndarray:
    """Return the rows, dense."""
    rows = data.rows.read(0, data.n_rows)
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)


def labels_of(data: DataSet) -> np.ndarray:
    """Return the labels, as they were in the source."""
    codes = data.read_codes(0, data.n_rows)
    assert codes.dtype == np.int32
    return np.array(data.classes)[codes]


def problem_of(data: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Return X, dense in float64, and y, 1 and -1 in float64."""
    codes = data.read_codes(0, data.n_rows)
    return rows_of(data).astype(np.float64), np.where(codes == 1, 1.0, -1.0)


def alpha_of(run: Run) -> np.ndarray:
    """Return alpha of every row of the data set, of the run's model."""
    node = run.folder.node(run.status()["model"], "commit")
    return np.asarray(node.read("alpha")[0])


def split_of(y: np.ndarray, n_test: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows of a split by classes that are not rare."""
    order = np.random.default_rng(seed).permutation(len(y))
    of_class = [np.flatnonzero(y[order] == label) for label in sorted(set(y.tolist()))]
    shares = [len(places) * n_test / len(y) for places in of_class]
    held = [int(share) for share in shares]
    nearest = sorted(range(len(held)), key=lambda k: held[k] - shares[k])
    for k in nearest[: n_test - sum(held)]:
        held[k] += 1
    off = np.sort(np.concatenate([p[len(p) - h :] for p, h in zip(of_class, held, strict=True)]))
    return np.delete(order, off), order[off]
