"""Results that cost kernel values, computed on demand and stored in the run's folder.

Each result is ``report/NAME.json`` below the run, sealed, with the commit that it was made from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from dcsvm_dask.errors import DcsvmError, InputError
from dcsvm_dask.storage.location import seal
from dcsvm_dask.storage.run import RunFolder

FOLDER = "report"

MOST_VALUES = 1_000_000_000
"""Largest number of kernel values of one result: some seconds of a core."""


def kept(
    run: RunFolder, name: str, made_from: list[Any], make: Callable[[], dict[str, Any]] | None
) -> dict[str, Any] | None:
    """Return a stored result, or compute and store it.

    Parameters
    ----------
    run : RunFolder
    name : str
        Name of the result.
    made_from : list
        Values that it depends on, as JSON values; a result of other values is computed again.
    make : callable or None
        Returns the result; None: only a stored result is returned.

    Returns
    -------
    dict or None
        None if there is no stored result and `make` is None.
    """
    place = run.place / FOLDER / f"{name}.json"
    with contextlib.suppress(FileNotFoundError, InputError):  # a damaged result is computed again
        found = place.read_json(sealed=True)
        if found.pop("made_from", None) == made_from:
            return found
    if make is None:
        return None
    found = make()
    with contextlib.suppress(OSError, DcsvmError):  # a folder that may only be read
        place.write_json(seal({**found, "made_from": made_from}))
    return found


def rows_for(n_support: int, most: int) -> int:
    """Return the number of rows to predict, from 50 to `most`, given that of support vectors."""
    return max(50, min(most, MOST_VALUES // max(1, n_support)))
