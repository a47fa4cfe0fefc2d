"""The address of a running scheduler, from the file that it wrote."""

from __future__ import annotations

import json
from pathlib import Path

from dcsvm_dask.errors import InputError


def address_in(file: str) -> str:
    """Return the address in a file that a scheduler wrote.

    Raises
    ------
    InputError
        If the file is missing, or not written by a scheduler.
    """
    try:
        return str(json.loads(Path(file).read_text())["address"])
    except FileNotFoundError as error:
        raise InputError(
            f"{file}: there is no such file; `dask scheduler --scheduler-file {file}` writes it"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file}: is not a file written by `dask scheduler --scheduler-file`"
        ) from error
