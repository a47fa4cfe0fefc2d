"""The parameters of an ingest: which are valid, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any

from dcsvm_dask.data.scan import Table
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import Label, LabelTable
from dcsvm_dask.readers.scaling import SCALES
from dcsvm_dask.readers.signs import SignTable
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.tasks import DATA_TASKS, TASKS, OneClass


def check_parameters(
    scale: str,
    test: Any,
    test_fraction: float | None,
    seed: int,
    chunk_rows: int | None,
    rows: tuple[int | None, int | None],
    drop: Sequence[str],
    train_rows: int | None,
) -> None:
    """Raise an error if a parameter is not valid, whatever the source."""
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    if test is not None and test_fraction is not None:
        raise InputError("give test rows or a test fraction, not both")
    if test_fraction is not None and not 0 < test_fraction < 1:
        raise InputError(f"test_fraction must be between 0 and 1, got {test_fraction}")
    if not _is_whole(seed, 0):
        raise InputError(f"seed must be a whole number of at least 0, got {seed}")
    if chunk_rows is not None and not _is_whole(chunk_rows, 1):
        raise InputError(f"chunk_rows must be a whole number of at least 1, got {chunk_rows}")
    start, stop = rows
    if (start or 0) < 0 or (stop is not None and stop <= (start or 0)):
        raise InputError(f"rows must be START:STOP with 0 <= START < STOP, got {start}:{stop}")
    if isinstance(drop, str) or not all(isinstance(name, str) for name in drop):
        raise InputError(f"drop must be a list of names of columns, got {drop!r:.80}")
    if train_rows is not None and not _is_whole(train_rows, 1):
        raise InputError(f"train_rows must be a whole number of at least 1, got {train_rows}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and int(value) >= least


def given_weights(weights: Any, missing: str) -> Weights | None:
    """Return the weights that were given, if any."""
    if weights is None:
        return None
    found = Weights.of(weights)
    if missing == "drop":
        raise InputError(
            "missing: drop changes which row is which, and weights are by row; fill in"
        )
    return found


def label_of(label: str | int | None, target: str | None) -> str | int | None:
    """Return what names the labels: a column, or the target of an archive."""
    if target is not None and label is not None:
        raise InputError("give label or target, not both: both name the labels")
    found = label if target is None else target
    if found is not None and (isinstance(found, bool) or not isinstance(found, str | Integral)):
        raise InputError(f"label must be the name or the position of a column, got {found!r:.80}")
    return found


def table_of(task: Any, positive: Sequence[Label] | None, decimal: str) -> Callable[[str], Table]:
    """Return what reads y of a task: a function of the name of a source."""
    if not isinstance(task, str) or task not in DATA_TASKS:
        raise InputError(f"task must be one of {', '.join(DATA_TASKS)}, got {task!r:.80}")
    kind = TASKS[task]
    if kind.has_classes:
        return LabelTable
    if issubclass(kind, OneClass):
        return partial(SignTable, positive=positive)
    if positive is not None:
        raise InputError(f"positive: makes classes, but {task} learns numbers; leave it out")
    # Rows in Dask, which are asked for by this class, have no other decimals.
    return TargetTable if decimal == "." else partial(TargetTable, decimal=decimal)
