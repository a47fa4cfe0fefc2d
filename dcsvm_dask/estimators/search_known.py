"""Kernels of a search's candidates whose values are given: a matrix of all rows for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators.known_kernel import KnownRows, is_known, known_rows

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class KnownKernels:
    """The kernel matrices of candidates whose ``kernel`` is precomputed or a callable.

    Attributes
    ----------
    of_kernel : dict
        Rows by their kernel values, by the identity of the parameter.
    """

    base: Any
    of_kernel: dict[int, KnownRows] = field(default_factory=dict)

    @classmethod
    def of(cls, base: Any, candidates: list[dict[str, Any]], X: Any) -> Self:
        """Return those of some candidates, each computed once for all splits.

        Parameters
        ----------
        base : estimator
            With the parameters that all candidates have.
        candidates : list of dict
        X : Any
            As it was given to the search.
        """
        found = cls(base)
        for candidate in candidates:
            kernel = found._parameter(candidate)
            if is_known(kernel) and id(kernel) not in found.of_kernel:
                found.of_kernel[id(kernel)] = known_rows(clone(base).set_params(kernel=kernel), X)
        return found

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.of_kernel)

    def get(self, candidate: dict[str, Any]) -> KnownRows | None:
        """Return the rows of a candidate by their kernel values; None: its kernel has a name."""
        return self.of_kernel.get(id(self._parameter(candidate)))

    def rows_to_check(self, candidates: list[dict[str, Any]], X: Any) -> Any:
        """Return the rows that the other kernels see; their numbers where there are no others.

        Raises
        ------
        InputError
            If kernels that see rows stand beside "precomputed", whose X has none.
        """
        if all(self.get(candidate) is not None for candidate in candidates):
            return np.arange(_num_samples(X), dtype=np.float64)[:, None]
        if any(rows.kernel.function is None for rows in self.of_kernel.values()):
            raise InputError(
                'param_grid has kernel="precomputed" beside others: X holds either kernel values '
                "or rows. Search for it alone."
            )
        return X

    def _parameter(self, candidate: dict[str, Any]) -> Any:
        return candidate.get("kernel", self.base.kernel)


def values_between(rows: KnownRows, one: Index, other: Index) -> Vector:
    """Return kernel values of some rows with others."""
    return np.asarray(rows.matrix()[np.ix_(one, other)])
