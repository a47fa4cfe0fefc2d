"""What costs kernel values and is computed on demand only; it is kept in the run's folder.

Each result lies in ``report/NAME.json`` below the run, sealed, with the commit that it was made
from: a result of another attempt is made again.
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
"""Kernel values that one result may cost: some seconds of a core."""


def kept(
    run: RunFolder, name: str, made_from: list[Any], make: Callable[[], dict[str, Any]] | None
) -> dict[str, Any] | None:
    """Return a result that was computed before, or compute and keep it.

    Parameters
    ----------
    made_from : list
        What it depends on, as JSON values.
    make : callable or None
        None: a result that is not there stays so.
    """
    place = run.place / FOLDER / f"{name}.json"
    with contextlib.suppress(FileNotFoundError, InputError):  # a damaged one is made again
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
    """Return how many rows may be decided by so many support vectors, at least 50."""
    return max(50, min(most, MOST_VALUES // max(1, n_support)))
