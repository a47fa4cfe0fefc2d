"""The folder of a data set: what may lie there before an ingest, and the commit at its end."""

from __future__ import annotations

import re
from typing import Any

import zarr

import dcsvm_dask
from dcsvm_dask.data.form import Form
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.spelling import flag
from dcsvm_dask.storage.arrays import write_array
from dcsvm_dask.storage.checksums import write_checksums
from dcsvm_dask.storage.dataset_commit import (
    ATTEMPT,
    CHECKSUMS,
    COMMIT,
    FORMAT,
    VERSION,
    VERSION_OF_ONE_CLASS,
    VERSION_OF_TARGETS,
    read_commit,
)
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.recorded import RecordedPlace

LEFT_BY_A_KILL = re.compile(rf"{ATTEMPT}|lock|zarr\.json|\.dataset\.json\..*|zarr\..*\.partial")


def refuse_others(place: Location, overwrite: bool) -> None:
    """Raise an `InputError` if a place has other content, or a data set that is to stay."""
    if read_commit(place) is not None:
        if not overwrite:
            raise InputError(
                f"{place}: a data set exists there; remove it or give {flag('overwrite')}"
            )
    elif not all(LEFT_BY_A_KILL.fullmatch(name) for name in place.list()):
        raise InputError(f"{place}: is neither empty nor a data set; name another folder")


def commit(
    lock: FolderLock,
    place: Location,
    staged: RecordedPlace,
    form: Form,
    parts: dict[str, dict[str, Any]],
    more: dict[str, Any],
) -> None:
    """Write the scaling and the metadata, then the object that commits the data set.

    Parameters
    ----------
    lock : FolderLock
        The lock of `place`, which this process owns.
    place : Location
        The data set.
    staged : RecordedPlace
        Its attempt, with the rows of all parts.
    form : Form
    parts : dict
        What was written of each part.
    more : dict
        Properties of the source and of the ingest, as JSON values.
    """
    scaling = None
    if form.scaling is not None:
        arrays, scaling = form.scaling.to_arrays()
        scaling["arrays"] = sorted(arrays)
        for name, values in arrays.items():
            write_array(staged / "scaling" / name, values)
    for folder in (staged, *(staged / part for part in parts)):
        zarr.create_group(folder.store())
    if not (place / "zarr.json").exists():
        zarr.create_group(place.store())
    checksums = write_checksums(staged, CHECKSUMS, staged.written)
    staged.sync()
    about = {
        "format": FORMAT,
        "version": _version(form),
        "made_by": f"dcsvm_dask {dcsvm_dask.__version__}",
        "attempt": staged.name,
        "checksums": checksums,
        "n_features": form.n_features,
        "sparse": form.is_sparse,
        "chunk_rows": form.chunk_rows,
        "classes": form.classes,
        "scaling": scaling,
        **({"scaling_reason": form.scaling_reason} if form.scaling_reason else {}),
        "parts": parts,
        **more,
    }
    if gone := staged.written.keys() - staged.keys().keys():
        raise RunError(
            f"{staged}: {min(gone)} was deleted while it was written; another process seems to "
            "ingest there, too; stop one of them"
        )
    lock.check()
    (place / COMMIT).write_json(seal(about))


def delete_other_attempts(place: Location, attempt: str) -> None:
    """Delete the attempts of an overwritten data set, or of an ingest that was killed."""
    for name in place.list():
        if re.fullmatch(ATTEMPT, name) and name != attempt:
            (place / name).delete()


def _version(form: Form) -> int:
    """Return the version of the format that is the first to have such data."""
    if form.one_class:
        return VERSION_OF_ONE_CLASS
    return VERSION if form.classes else VERSION_OF_TARGETS
