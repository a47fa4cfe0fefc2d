"""What becomes of each file of `files`, in a table.

    python -m tests.readers.own_files.run

Each is read right as it is; or a sentence names an option with which it is read right; or a
sentence says why it is not read. Anything else is marked.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from tests.readers.own_files.files import FILES, NO, READ, SAYS, File, Y

WRONG, FAILED = "READ WRONG", "FAILED"


def main() -> int:
    """Print the table; return 1 where a file is not treated as it says."""
    counts: Counter[str] = Counter()
    for file in FILES:
        with tempfile.TemporaryDirectory() as folder:
            outcome, message = tried(file, Path(folder))
        counts[outcome] += 1
        mark = " " if outcome == file.outcome else "!"
        print(f"{mark} {file.name:<34} {outcome:<13} {message:.160}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return int(any(outcome in (WRONG, FAILED) for outcome in counts))


def tried(file: File, folder: Path) -> tuple[str, str]:
    """Return what becomes of a file, and the message."""
    source = file.make(folder)
    try:
        return (READ if _is_right(file, source, folder / "1.zarr", {}) else WRONG), ""
    except InputError as error:
        message = " ".join(str(error).replace(f"{folder}/", "").split())
    except Exception as error:  # noqa: BLE001 - whatever else it is, it is what a user would see
        return FAILED, f"{type(error).__name__}: {error}"
    if not file.words:
        return (SAYS if file.outcome == SAYS else NO), message
    try:
        return (SAYS if _is_right(file, source, folder / "2.zarr", file.words) else WRONG), message
    except Exception as error:  # noqa: BLE001
        return FAILED, f"{message} THEN {type(error).__name__}: {error}"


def _is_right(file: File, source: Any, out: Path, words: dict[str, Any]) -> bool:
    data = api.ingest(source, out, scale="none", **words)
    rows = np.asarray(data.rows.read(0, data.n_rows))
    wanted = np.column_stack(file.columns)
    labels = [str(data.classes[code]) for code in data.read_codes(0, data.n_rows)]
    right = [str(label) for label in (Y if file.labels is None else file.labels)]
    return rows.shape == wanted.shape and np.allclose(rows, wanted, 1e-6) and labels == right


if __name__ == "__main__":
    sys.exit(main())
