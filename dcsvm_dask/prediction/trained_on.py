"""Whether rows to evaluate are those that a run was trained on."""

from __future__ import annotations

from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.masking import masked
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import is_data_set
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder


def trained_on_note(run: RunFolder, data: str, n_rows: int) -> str | None:
    """Return for users that rows were trained on; None: nothing says so.

    A data set is known by its fingerprint, a file by its path and by having enough rows.

    Parameters
    ----------
    run : RunFolder
    data : str
        The data set or the file that was evaluated.
    n_rows : int
        Its number of rows.
    """
    about = run.header["data"]
    try:
        if is_data_set(data):
            all_of_it = DataSet.open(data).fingerprint == about["fingerprint"]
            return _said(data, "the rows") if all_of_it else None
        trained = DataSet.open(about["url"])
    except DcsvmError:  # a run predicts without its data set
        return None
    if n_rows < trained.n_rows or _address(data) != _address(trained.source):
        return None
    if trained.n_rows == n_rows:
        return _said(data, "the rows")
    test = f"; {trained.place}/test has others" if "test" in trained.parts else ""
    return _said(data, f"{trained.n_rows:,} of its {n_rows:,} rows") + test


def _said(data: str, what: str) -> str:
    return (
        f"{masked(data)}: the run was trained on {what}, so that scores are not those of new rows"
    )


def _address(place: str) -> str:
    """Return the address of a file without what is secret in it."""
    return masked(Location.of(place).url)
