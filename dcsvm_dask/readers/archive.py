"""Names of the arrays of an archive or a Zarr group."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import NO_LABEL

_USUAL = ("y", "y_train")
"""Names of labels that need not be given."""
_SAVE_NPZ = {"format", "shape", "data"}
"""Arrays that scipy.sparse.save_npz writes of matrices in every format."""


@dataclass(frozen=True)
class ArchiveNames:
    """Names of the arrays of one part."""

    rows: str
    """Name of the table, or the prefix of ``_data, _indices, _indptr, _shape`` of CSR parts."""
    is_sparse: bool
    labels: str | None


def archive_names(
    path: str,
    names: Collection[str],
    part: str,
    label: str | int | None,
    *,
    needs_labels: bool,
    data: str | None = None,
    data_required: bool = True,
) -> ArchiveNames:
    """Return the names of the rows and labels of a part.

    Parameters
    ----------
    path : str
        For messages.
    names : collection of str
        Names of the arrays in the archive.
    part : {"train", "test"}
    label : str, int or None
        Name of the labels, with or without ``_train`` at its end. `NO_LABEL`: the training part
        has none.
    needs_labels : bool
        Whether rows without labels are an error.
    data : str, optional
        Name of the rows, with or without ``_train`` at its end; by default X.
    data_required : bool, default True
        Whether rows of that name must be there; else X serves, too.

    Returns
    -------
    ArchiveNames

    Raises
    ------
    InputError
        If the rows or the labels are missing.
    """
    shown = ", ".join(sorted(names)[:20]) or "no arrays"
    bases = [f"X_{part}", f"x_{part}"] + (["X", "x"] if part == "train" else [])
    if data is not None:
        stem = data.removesuffix("_train")
        named = [f"{stem}_{part}"] + ([data] if part == "train" else [])
        bases = named if data_required and part == "train" else [*named, *bases]
    for base in bases:
        if base in names:
            rows, is_sparse = base, False
            break
        if all(f"{base}_{p}" in names for p in ("data", "indices", "indptr", "shape")):
            rows, is_sparse = base, True
            break
    else:
        if data is None and set(names) >= _SAVE_NPZ:
            raise InputError(
                f"{path}: is a sparse matrix of scipy.sparse.save_npz, which has no labels: in "
                "Python give (scipy.sparse.load_npz(FILE), y), or write svmlight text by "
                "sklearn.datasets.dump_svmlight_file"
            )
        wanted = bases[0] if data is None else data
        raise InputError(
            f"{path}: no array {wanted}; there are: {shown} (--data NAME says which one holds the "
            "rows, --target NAME which one the labels)"
        )
    if label == NO_LABEL:
        tried, needs_labels, label = [f"y_{part}"] if part != "train" else [], False, None
    elif label is not None and label not in _USUAL:
        text = str(label).removesuffix("_train")
        tried = [f"{text}_{part}"] + ([str(label)] if part == "train" else [])
    else:
        tried = [f"y_{part}"] + (["y"] if part == "train" else [])
    found = [t for t in tried if t in names]
    if not found and (needs_labels or label is not None):
        raise InputError(f"{path}: no labels {tried[0]}; there are: {shown} (see --target)")
    return ArchiveNames(rows, is_sparse, found[0] if found else None)
