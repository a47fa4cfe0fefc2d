"""Sources: blocks of rows with their labels, and checks that all readers share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers.numbers import MAX_FLOAT32

Block: TypeAlias = "tuple[Rows, NDArray[Any] | None]"
"""Rows and their labels (numbers or strings; None where the source has none). Rows are float32
where that represents their values exactly, else float64."""

BLOCK_BYTES = 8 << 20
"""Target size of blocks."""
NO_LABEL_REMEDY = "leave rows without one out of the table, or write it"
FILL_IN = (
    "fill in or drop such rows, or ingest the training data with --missing median (or indicator, "
    "or drop); of rows in Dask by fillna or dropna there"
)
"""What to do about missing values in columns that have names."""


@dataclass(frozen=True)
class Reading:
    """How a source is read, for users and for later files."""

    format: str
    """Kind of the source."""
    label: str | None = None
    """Name of the label's column or array, where it has one."""
    position: int | None = None
    """Position of the label column among all columns, from 0."""
    separator: str | None = None
    """Character between cells of text; a blank stands for any run of blanks and tabs."""
    encoding: str | None = None
    """Encoding of text."""
    array: str | None = None
    """Name of the array of rows in an archive, where it was given."""
    index: tuple[str, ...] = ()
    """Columns of a Parquet file that hold the index of pandas, and are left out."""


ARCHIVES = ("NumPy archive", "Zarr group")
"""Formats whose label is an array, not a column."""


SVMLIGHT = "svmlight text"


class Source(Protocol):
    """A table of rows that can be read more than once."""

    name: str
    """Name in messages: the file and its part."""

    n_features: int | None
    """Number of features; None if it is known only after reading."""

    is_sparse: bool
    """Whether blocks are CSR."""

    parses: bool
    """Whether reading is so expensive that a second pass should read a copy."""

    feature_names: list[str] | None
    """Names of the features, where the source has them."""

    reading: Reading
    """How the source is read."""

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order, each about `BLOCK_BYTES`."""


def is_delimited(source: Any) -> bool:
    """Return whether a source is delimited text, whose numbers may be written with signs."""
    return getattr(source, "reading", Reading("source")).separator is not None


class ArraySource:
    """Rows in memory.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
        Of a numeric type.
    y : array, shape (n,), optional
        Labels.
    name : str
        Name of the source in messages.
    feature_names : list of str, optional
    """

    parses = False

    def __init__(
        self,
        X: Any,
        y: Any = None,
        name: str = "X, y",
        feature_names: list[str] | None = None,
    ) -> None:
        self.name, self.feature_names = name, feature_names
        self.reading = Reading("arrays", label=name_of(y))
        self.is_sparse = bool(sparse.issparse(X))
        X = sparse.csr_array(X) if self.is_sparse else np.asarray(X)
        check_shape(X.shape, X.dtype, name)
        self.n_features: int | None = int(X.shape[1])
        self._X = X
        self._y = None if y is None else np.asarray(y)
        if self._y is not None:
            check_labels(self._y.shape, X.shape[0], name)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        n = self._X.shape[0]
        for start, stop in spans(n, row_bytes(self._X)):
            rows = finish_block(self._X[start:stop], self.name, start)
            yield rows, None if self._y is None else self._y[start:stop]


def check_labels(shape: tuple[int, ...], n: int, name: str) -> None:
    """Raise an error if there is not one label for each row.

    Parameters
    ----------
    shape : tuple of int
        Of the labels.
    n : int
        Number of rows.
    name : str
        For messages.

    Raises
    ------
    InputError
    """
    if shape == (n,):
        return
    remedy = "give one label for each row"
    if len(shape) == 2 and shape[1] == 1:
        remedy = "give its one column, as by y.iloc[:, 0] of a frame or y.ravel() of an array"
    raise InputError(f"{name}: {n} rows, but labels of shape {shape}; {remedy}")


def name_of(y: Any) -> str | None:
    """Return the name of a series of labels; None if it has none."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else None


def check_shape(shape: tuple[int, ...], kind: Any, name: str, max_axes: int = 2) -> None:
    """Raise an error if an array is not a table of numbers.

    Parameters
    ----------
    shape : tuple of int
    kind : dtype
    name : str
        For messages.
    max_axes : int, default 2
        Largest number of axes.

    Raises
    ------
    InputError
        If the number of axes is wrong, the type is not numeric, or an axis is empty.
    """
    if len(shape) == 1:
        raise InputError(
            f"{name}: an array of 1 axis; give a table (rows, features): of one row "
            "X.reshape(1, -1), of one feature X.reshape(-1, 1)"
        )
    if not 2 <= len(shape) <= max_axes:
        raise InputError(f"{name}: an array of {len(shape)} axes; give a table (rows, features)")
    if kind.kind not in "biuf":
        remedy = ""
        if kind.kind in "OUST":
            remedy = (
                "; where all are numbers, give X.astype(float), and columns of words in a frame"
            )
        raise InputError(f"{name}: features must be real numbers, got type {kind}{remedy}")
    if 0 in shape:
        raise InputError(f"{name}: empty: {shape[0]} rows, {shape[1]} features")


def check_shape_array(shape: tuple[int, ...], kind: Any, name: str) -> None:
    """Raise an error if an array cannot hold the shape of a sparse matrix.

    Parameters
    ----------
    shape : tuple of int
        Of the array itself.
    kind : dtype
    name : str
        For messages.
    """
    if shape != (2,) or kind.kind not in "iu":
        raise InputError(f"{name} must have two integers")


def check_unmasked(given: Any, name: str) -> None:
    """Raise an error if cells of an array are masked: what lies under a mask is no value.

    Parameters
    ----------
    given : array, or anything else
        Rows, or labels.
    name : str
        For messages.

    Raises
    ------
    InputError
        With the first masked cell.
    """
    if not (isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given)):
        return
    row, *column = np.argwhere(np.ma.getmaskarray(given))[0].tolist()
    place = f"row {row}" + (f", column {column[0]}" if column else "")
    raise InputError(
        f"{name}: {place} (counted from 0) is masked; fill masked cells in "
        "(numpy.ma.filled, in Dask dask.array.ma.filled), or leave such rows out"
    )


def row_bytes(X: Any) -> int:
    """Return the approximate number of bytes of a row in float32."""
    if sparse.issparse(X):
        return 8 + 8 * int(X.nnz / max(1, X.shape[0]))
    return 4 * int(X.shape[1])


def spans(n: int, bytes_per_row: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of blocks of about `BLOCK_BYTES`."""
    step = max(1, BLOCK_BYTES // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield start, min(start + step, n)


def parts_to_fill(rows: Rows, *, dense: bool) -> Iterator[tuple[int, int, Rows]]:
    """Yield (start, stop, rows) of parts that can be converted to dense rows; the whole if not
    `dense`.
    """
    if not (dense and sparse.issparse(rows)):
        yield 0, rows.shape[0], rows
        return
    for start, stop in spans(rows.shape[0], 4 * rows.shape[1]):
        yield start, stop, rows[start:stop]


def finish_block(
    rows: Any, name: str, first_row: int, feature_names: Sequence[str] | None = None
) -> Rows:
    """Return rows in the canonical form of sources, after checks.

    They are float32 where that represents their values exactly, else float64, since rows that are
    scaled are rounded after that. Sparse rows get sorted indices, without repeats and without
    stored zeros; -0.0 becomes 0.0.

    Parameters
    ----------
    rows : ndarray or sparse matrix
    name : str
        The source, for messages.
    first_row : int
        Number of the block's first row, from 0, for messages.
    feature_names : sequence of str, optional
        For messages.

    Returns
    -------
    ndarray or csr_array

    Raises
    ------
    InputError
        If a value is NaN, infinite, or too large for float32.
    """
    if sparse.issparse(rows):
        rows = sparse.csr_array(rows)
        values = _exact(rows.data)
        rows = sparse.csr_array((values, rows.indices.copy(), rows.indptr.copy()), rows.shape)
    else:
        rows = _exact(np.asarray(rows))
    return _checked(rows, name, first_row, feature_names)


def round_block(rows: Rows, name: str, first_row: int) -> Rows:
    """Return rows rounded to float32 for storing and predicting.

    Parameters
    ----------
    rows : ndarray or csr_array
        Result of `finish_block`, perhaps scaled.
    name : str
        The source, for messages.
    first_row : int
        Number of the block's first row, from 0, for messages.

    Returns
    -------
    ndarray or csr_array, float32

    Raises
    ------
    InputError
        If a value is too large for float32.
    """
    with np.errstate(over="ignore"):
        if not sparse.issparse(rows):
            return _checked(rows.astype(np.float32, order="C"), name, first_row)
        parts = rows.data.astype(np.float32), rows.indices.copy(), rows.indptr.copy()
    return _checked(sparse.csr_array(parts, rows.shape), name, first_row)


def _exact(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of values in float32 if that represents them exactly, else in float64."""
    if np.can_cast(values.dtype, np.float32):
        return np.array(values, dtype=np.float32, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.array_equal(values[:64].astype(np.float32), values[:64]):
            return np.array(values, dtype=np.float64, order="C")
        single = np.array(values, dtype=np.float32, order="C")
        if np.array_equal(single, values):
            return single
    return np.array(values, dtype=np.float64, order="C")


def _checked(
    rows: Rows, name: str, first_row: int, feature_names: Sequence[str] | None = None
) -> Rows:
    """Return rows in canonical form; raise an error if one has a NaN, infinite or too large
    value.
    """
    is_sparse = sparse.issparse(rows)
    if is_sparse:
        rows.sum_duplicates()
        rows.eliminate_zeros()
    values = rows.data if is_sparse else rows
    values += 0.0
    # The sum is not finite if a value is not; it needs one pass without a temporary.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not abs(values.sum(dtype=np.float64)) < MAX_FLOAT32
    if not suspicious and values.dtype == np.float64 and values.size:
        suspicious = max(values.max(), -values.min()) >= MAX_FLOAT32
    if suspicious:
        with np.errstate(over="ignore"):
            found = np.flatnonzero(~np.isfinite(values.reshape(-1).astype(np.float32)))
        if found.size:
            bad = int(found[0])
            if is_sparse:
                row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
                column = int(rows.indices[bad])
            else:
                row, column = divmod(bad, values.shape[1])
            value = float(values.reshape(-1)[bad])
            refuse_value(name, first_row + row, column, value, feature_names)
    return rows


def refuse_value(
    name: str, row: int, column: int, value: float, feature_names: Sequence[str] | None = None
) -> None:
    """Raise the error for a NaN or infinite value.

    Parameters
    ----------
    name : str
        The source.
    row, column : int
        Position of the value, from 0.
    value : float
    feature_names : sequence of str, optional

    Raises
    ------
    InputError
        Always.
    """
    missing = bool(np.isnan(value))
    what = "NaN" if missing else "infinite or too large for float32"
    where = f"column {column}"
    if feature_names is not None and column < len(feature_names):
        where += f" ({feature_names[column]!r})"
    # Only columns with names can be prepared.
    hint = FILL_IN if missing and feature_names is not None else "fill in or drop such rows"
    raise InputError(f"{name}: row {row}, {where} (both counted from 0) is {what}; {hint}")
