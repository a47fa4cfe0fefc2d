"""Decisions of an ingest between its two passes: features, form, classes, the split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dcsvm_dask.data.scan import Scan
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import listed
from dcsvm_dask.readers.labels import Label, LabelTable, class_of
from dcsvm_dask.readers.lines import RowError
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.storage.chunks import CHUNK_BYTES

DENSE_FROM = 0.25
"""Share of non-zero values from which on rows of svmlight text are stored dense."""


@dataclass(frozen=True)
class Form:
    """The common properties of both parts of a data set."""

    n_features: int
    is_sparse: bool
    classes: list[Label]
    """Empty where y are real targets."""
    scaling: Scaling | None
    first_feature: int | None
    chunk_rows: int
    scaling_reason: str = ""
    """Why that scaling was chosen, where the choice was left to the ingest."""
    one_class: bool = False
    """Whether y are labels that only score, so that rows equal in x are equal."""

    @property
    def y_name(self) -> str:
        """Name of the array of y: codes of classes, or targets."""
        return "codes" if self.classes else "targets"

    @property
    def y_dtype(self) -> DTypeLike:
        """Data type of that array."""
        return np.int32 if self.classes else np.float64

    def shift(self, scan: Scan) -> int:
        """Return the column of a scan's blocks that is feature 0."""
        return self.first_feature or 0 if scan.is_raw else 0


def choose_form(
    train: Scan,
    test: Scan,
    classes: list[Label],
    statistics: ScalingStatistics,
    sparse: bool | None,
    chunk_rows: int | None,
) -> Form:
    """Choose how rows are stored, after all rows have been read.

    Parameters
    ----------
    train, test : Scan
        Scans of the training part and of the test part; the same scan without a test part.
    classes : list of labels
    statistics : ScalingStatistics
        Statistics of the training rows.
    sparse : bool or None
        Whether to store CSR; None: chosen by the form and density of the source.
    chunk_rows : int or None
        Rows of a chunk; None: see `default_chunk_rows`.

    Returns
    -------
    Form

    Raises
    ------
    InputError
        If the parts have different features, a chunk exceeds the memory bound, or the source is
        scaled already.
    """
    scans = [train, test]
    # An index 0 in either svmlight file means that both count from 0.
    first = min((scan.first_feature for scan in scans if scan.is_raw), default=None)
    n_features = _common_features(scans, first or 0)
    if sparse is None:
        full = train.nnz >= DENSE_FROM * train.n_rows * n_features
        sparse = train.source.is_sparse and not (train.is_raw and full)
    rows = int(chunk_rows or default_chunk_rows(train.n_rows, n_features, train.nnz, sparse))
    # Rows of a chunk are collected, joined, compressed and written.
    chunk = 16 * rows if sparse else 4 * rows * n_features
    what = f"a chunk of {rows:,} rows of {n_features:,} features, {'CSR' if sparse else 'dense'},"
    check_bound(5 * chunk, train.source.name, what)
    scaling = statistics.finish(n_features, sparse, first or 0 if train.is_raw else 0)
    done = getattr(train.source, "scaling", None)
    if done is not None and scaling is not None:
        raise InputError(
            f"{train.source.name}: is scaled already ({done.kind}); ingest its source again to "
            "scale it differently"
        )
    return Form(
        n_features=n_features,
        is_sparse=sparse,
        classes=classes,
        scaling=scaling or done,
        scaling_reason=statistics.reason,
        first_feature=first,
        chunk_rows=rows,
    )


def default_chunk_rows(n_rows: int, n_features: int, nnz: int, is_sparse: bool) -> int:
    """Return the default number of rows of a chunk.

    A chunk has about 4 MB and at most 8,192 rows, unless that makes over 2,000 chunks.

    Parameters
    ----------
    n_rows, n_features : int
    nnz : int
        Stored values of all rows.
    is_sparse : bool

    Returns
    -------
    int
    """
    size = 8 * nnz // max(1, n_rows) + 8 if is_sparse else 4 * n_features
    few = max(8192, -(-n_rows // 2000))
    if 256 * size > 16 * CHUNK_BYTES:  # very wide rows
        return max(1, 16 * CHUNK_BYTES // size)
    rows = min(max(256, CHUNK_BYTES // max(1, size)), few)
    return max(256, rows - rows % 256)


def _common_features(scans: list[Scan], first: int) -> int:
    """Return the number of features of all parts; svmlight files may lack the last features."""
    widths = [scan.n_features - (first if scan.is_raw else 0) for scan in scans]
    known = next((scan for scan in scans if not scan.is_raw), None)
    n_features = max(widths) if known is None else known.n_features
    for scan, width in zip(scans, widths, strict=True):
        if width > n_features or (width < n_features and not scan.is_raw):
            assert known is not None
            raise InputError(
                f"{scan.source.name}: {width} features, but {known.source.name} has {n_features}"
            )
    if n_features < 1:
        raise InputError(f"{scans[0].source.name}: no feature has a value")
    return n_features


def test_codes(
    table: LabelTable,
    train: LabelTable,
    code_of: dict[Label, int],
    positive: Sequence[Label] | None,
) -> NDArray[np.int32]:
    """Return the codes of a test part's labels.

    Parameters
    ----------
    table, train : LabelTable
        Labels of the test part and of the training part.
    code_of : dict
        Code of each training label.
    positive : sequence or None
        Labels that are joined into the class +1; all others are then -1.

    Returns
    -------
    ndarray, shape (n_labels,), int32

    Raises
    ------
    InputError
        If a label does not occur in the training part.
    """
    out = []
    for label, first_row in zip(table.labels, table.first_rows, strict=True):
        known = None if label in code_of else class_of(label, train.labels)
        ours = label if known is None else train.labels[known]
        code = code_of.get(ours, 0 if positive is not None else -1)
        if code < 0:
            known_labels = listed([repr(one) for one in train.labels])
            raise RowError(
                table.name,
                first_row,
                f" has the label {label!r}, which does not occur in {train.name} ({known_labels}); "
                "write it as it is there, or leave such rows out",
            )
        out.append(code)
    return np.array(out, np.int32)
