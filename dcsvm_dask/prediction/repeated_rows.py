"""How many scored rows have the same values as training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.hashing import row_hashes
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder

MOST_ROWS, MOST_BYTES = 1 << 20, 256 << 20
"""Of training rows that are read for it, and of scored rows that are kept as eight bytes."""
LEAST_ROWS, SHARE = 10, 0.1
"""Least repeated rows, and least share of them beyond that of the training rows, for a note."""


class RepeatedRows:
    """Compares scored rows with the training rows of a run, by hashes of their values.

    Nothing is compared where the training rows are gone, on another machine or too many.

    Parameters
    ----------
    run : RunFolder
    """

    def __init__(self, run: RunFolder) -> None:
        self._training = _training_rows(run)
        self._hashes: list[NDArray[np.uint64]] = []
        self._n_rows = 0
        if self._training is not None:
            _hashed(np.zeros((1, 1), np.float32))  # loads compiled code

    @property
    def compares(self) -> bool:
        """Whether further rows are compared."""
        return self._training is not None and self._n_rows < MOST_ROWS

    def update(self, rows: Rows) -> None:
        """Add rows in the form and scaling of the training rows."""
        self._hashes.append(_hashed(rows))
        self._n_rows += rows.shape[0]

    def note(self, name: str) -> str | None:
        """Return for users how many rows are training rows, where they are a considerable share.

        Many tables have repeated rows. So the share counts beyond that of the training rows that
        have the same values as another one, which is about that of new rows.

        Parameters
        ----------
        name : str
            The scored rows.
        """
        if self._training is None or self._n_rows < LEAST_ROWS:
            return None
        try:
            hashes = _all_hashes(self._training)
        except (DcsvmError, OSError):  # it is being written again, say
            return None
        known, counts = np.unique(hashes, return_counts=True)
        usual = float(counts[counts > 1].sum() / counts.sum())
        scored = np.concatenate(self._hashes)
        repeated = int(np.isin(scored, known, kind="sort").sum())
        if repeated < LEAST_ROWS or repeated <= (usual + SHARE) * len(scored):
            return None
        return (
            f"{name}: {repeated:,} of {len(scored):,} rows have the same values as training rows, "
            "so that scores are not those of new rows"
        )


def _training_rows(run: RunFolder) -> DataSet | None:
    about = run.header["data"]
    if Location.of(about["url"]).is_remote:
        return None
    try:
        data = DataSet.open(about["url"])
    except (DcsvmError, OSError):  # a run predicts without its data set
        return None
    few = data.n_rows <= MOST_ROWS and data.rows.nbytes_of(0, data.n_rows) <= MOST_BYTES
    same = data.fingerprint == about["fingerprint"]
    return data if few and same else None


def _all_hashes(data: DataSet) -> NDArray[np.uint64]:
    step = data.chunk_rows
    parts = (data.rows.read(k, min(k + step, data.n_rows)) for k in range(0, data.n_rows, step))
    return np.concatenate([_hashed(rows) for rows in parts])


def _hashed(rows: Rows) -> NDArray[np.uint64]:
    return np.ascontiguousarray(row_hashes(rows, None)[:, 0])
