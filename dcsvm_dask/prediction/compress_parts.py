"""Parts of a model made smaller, wherever a task runs: the model and a sample are read there."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.features.centres import stored_as
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.choice import Choice
from dcsvm_dask.methods.predict import held_model
from dcsvm_dask.models.compression import Block, distinct, squared_distance
from dcsvm_dask.models.elimination import Path, eliminate
from dcsvm_dask.models.model import Model
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rows import open_rows, write_rows

SAMPLES = ("fit", "check")


@dataclass(frozen=True, eq=False)
class Machine:
    """A model without repeats, and the rows by which it is compressed.

    Attributes
    ----------
    support : Rows, shape (n, d)
    coef : ndarray, shape (n,)
    fit, check : Rows
        See `dcsvm_dask.models.compression.compress`.
    """

    kernel: Kernel
    support: Rows
    coef: NDArray[np.float64]
    fit: Rows
    check: Rows


def write_sample(place: Location, fit: Rows, check: Rows, *, sparse: bool) -> None:
    """Write the rows by which a model is compressed, for the tasks."""
    for name, rows in zip(SAMPLES, (fit, check), strict=True):
        write_rows(
            place / name, [rows], n_features=int(rows.shape[1]), sparse=sparse, chunk_rows=4096
        )


def held_machine(choice: Choice, sample: str) -> Machine:
    """Return a choice's model and a sample; a process keeps the last ones."""
    key = (choice, sample)
    with _lock:
        if key not in _held:
            _held.clear()
            model = held_model(choice)
            assert isinstance(model, Model)
            rows, coef = distinct(model.support, model.coef)
            support = model.support[rows]
            read = (open_rows(Location(sample) / name) for name in SAMPLES)
            fit, check = (stored_as(found.read(0, found.n_rows), support) for found in read)
            _held[key] = Machine(model.kernel, support, coef, fit, check)
        return _held[key]


def shrink_part(choice: Choice, sample: str, bound: float, block: Block) -> Path:
    """Return ever smaller forms of a part of a model; see `eliminate`."""
    own = held_machine(choice, sample)
    return eliminate(own.kernel, own.support, own.coef, *block, own.fit, own.check, bound)


def share_of_distance(
    choice: Choice, sample: str, change: NDArray[np.float64], start: int
) -> float:
    """Return some rows' share in the squared distance of two models; see `squared_distance`."""
    own = held_machine(choice, sample)
    return squared_distance(own.kernel, own.support, change, start)


_lock = threading.Lock()
_held: dict[tuple[Choice, str], Machine] = {}
