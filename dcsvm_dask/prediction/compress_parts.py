"""Tasks that compress parts of a model; each reads the model and a sample."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.features.centres import stored_as
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.choice import Choice
from dcsvm_dask.methods.predict import cached_model
from dcsvm_dask.models.compression import Block, distinct, squared_distance
from dcsvm_dask.models.elimination import Path, eliminate
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rows import open_rows, write_rows

SAMPLES = ("fit", "check")


@dataclass(frozen=True, eq=False)
class DistinctModel:
    """A model with distinct support vectors, and the rows with which it is compressed.

    Attributes
    ----------
    kernel : Kernel
    support : Rows, shape (n, d)
    coef : ndarray, shape (n,), float64
    fit, check : Rows
        See `dcsvm_dask.models.compression.compress`.
    """

    kernel: Kernel
    support: Rows
    coef: NDArray[np.float64]
    fit: Rows
    check: Rows


def write_sample(place: Location, fit: Rows, check: Rows, *, sparse: bool) -> None:
    """Write the rows with which a model is compressed, for the tasks.

    Parameters
    ----------
    place : Location
    fit, check : Rows
        Rows to fit to, and rows on which the change is measured.
    sparse : bool
        Whether to store CSR.
    """
    for name, rows in zip(SAMPLES, (fit, check), strict=True):
        write_rows(
            place / name, [rows], n_features=int(rows.shape[1]), sparse=sparse, chunk_rows=4096
        )


def cached_expansion(choice: Choice, sample: str) -> DistinctModel:
    """Return a choice's model and a sample; a process caches the last ones."""
    key = (choice, sample)
    with _lock:
        if key not in _cache:
            _cache.clear()
            model = cached_model(choice)
            rows, coef = distinct(model.support, model.coef[0])
            support = model.support[rows]
            read = (open_rows(Location(sample) / name) for name in SAMPLES)
            fit, check = (stored_as(found.read(0, found.n_rows), support) for found in read)
            _cache[key] = DistinctModel(model.kernel, support, coef, fit, check)
        return _cache[key]


def shrink_part(choice: Choice, sample: str, bound: float, block: Block) -> Path:
    """Return smaller and smaller forms of a part of a model.

    Parameters
    ----------
    choice : Choice
        The model.
    sample : str
        URL of the sample.
    bound : float
        Largest change of a decision value.
    block : Block
        The part's support vectors.

    Returns
    -------
    Path
        See `dcsvm_dask.models.elimination.eliminate`.
    """
    own = cached_expansion(choice, sample)
    return eliminate(own.kernel, own.support, own.coef, *block, own.fit, own.check, bound)


def share_of_distance(
    choice: Choice, sample: str, change: NDArray[np.float64], start: int
) -> float:
    """Return the share of some rows in the squared distance of two models.

    Parameters
    ----------
    choice : Choice
        The model.
    sample : str
        URL of the sample.
    change : ndarray, shape (n,), float64
        Change of each coefficient.
    start : int
        First of the rows; see `squared_distance`.

    Returns
    -------
    float
    """
    own = cached_expansion(choice, sample)
    return squared_distance(own.kernel, own.support, change, start)


_lock = threading.Lock()
_cache: dict[tuple[Choice, str], DistinctModel] = {}
