"""What a data set holds, in memory."""

from __future__ import annotations

import numpy as np
from scipy import sparse

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
