"""Where machines of many classes start: at the coefficients of a committed level."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers import Machine
from dcsvm_dask.storage.model import MODEL
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """The coefficients of all machines.

    Attributes
    ----------
    support : ndarray, shape (m,), int64
        The variables that have any, ascending.
    coef : ndarray, shape (n_coefficients, m), float64
        See `dcsvm_dask.models.many.ManyModel.dual_coef`.
    """

    support: Index
    coef: NDArray[np.float64]

    def alpha(self, machine: Machine, index: Index, codes: NDArray[np.integer]) -> Vector:
        """Return a machine's alphas.

        Parameters
        ----------
        index : ndarray of int64, shape (n,)
            The variables that it has.
        codes : ndarray, shape (n,), integers
            Their classes.
        """
        found = np.zeros(len(index))
        if not len(self.support):
            return found
        place = np.minimum(np.searchsorted(self.support, index), len(self.support) - 1)
        known = np.flatnonzero(self.support[place] == index)
        found[known] = np.abs(self.coef[machine.place(codes[known]), place[known]])
        return found


def read_start(run: RunFolder, level: str) -> Start:
    """Return the coefficients that a level committed; kept for the next step of the process."""
    with _reading:  # one task reads for those that begin beside it
        return _read_start(run.place.url, level, run.node(level, "commit").attempt)


_reading = threading.Lock()


@lru_cache(maxsize=1)
def _read_start(run_url: str, level: str, attempt: str) -> Start:
    del attempt  # part of the cache's key: another attempt is another start
    node = RunFolder.open(run_url).node(level, "commit")
    support = node.read("support")
    order = np.argsort(support)
    return Start(support[order], node.read(f"{MODEL}/dual_coef")[:, order])
