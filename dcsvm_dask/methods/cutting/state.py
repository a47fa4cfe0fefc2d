"""The cutting planes of a round, as its commit has them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dcsvm_dask.solvers.cutting import Planes
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

NUMBERS = ("at_zero", "objective", "bound", "iteration")
ARRAYS = tuple(one.name for one in fields(Planes) if one.name not in (*NUMBERS, "stack"))


def write_planes(attempt: Attempt, machine: int, planes: Planes) -> Record:
    """Write the planes of an SVM and return its part of the record."""
    for name in ARRAYS:
        attempt.write(f"{name}_{machine:04d}", getattr(planes, name))
    return {name: getattr(planes, name) for name in NUMBERS}


def read_planes(node: Committed, machine: int, record: Record) -> Planes:
    """Return the planes of an SVM, given its part of the record."""
    arrays: dict[str, Any] = {name: node.read(f"{name}_{machine:04d}") for name in ARRAYS}
    return Planes(**arrays, **{name: record[name] for name in NUMBERS})


def planes_of(run: RunFolder, stage: str, machine: int) -> Planes:
    """Return the planes of an SVM after a round."""
    node = run.node(stage, "commit")
    return read_planes(node, machine, node.record["of_svms"][machine])
