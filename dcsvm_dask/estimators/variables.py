"""From weighted rows to the variables of the dual problem, in an order of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.kernels import Kernel, Rows, solved_rows, stored_for_speed, tile_order
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.storage.hashing import row_hashes

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Variables:
    """Rows equal in x and y are one variable; so are a row of weight 2 and one given twice.

    The order follows from the rows alone, so that neither theirs nor repeats change the answer.
    """

    rows: Index
    """The row that stands for each variable, shape (n_variables,)."""
    of_row: Index
    """The variable of each row, shape (n,); -1 for rows of no weight."""
    C: Vector
    """Upper bound of each variable."""
    part: Vector
    """What each row adds to that of its variable."""

    def ordered(self, order: Index) -> Variables:
        """Return the variables in another order, a permutation of their numbers."""
        # The last is that of rows of no weight.
        position = np.full(len(order) + 1, -1, dtype=np.int64)
        position[order] = np.arange(len(order))
        return replace(self, rows=self.rows[order], of_row=position[self.of_row], C=self.C[order])

    def shared_out(self, alpha: Vector, *, bounded: bool = True) -> Vector:
        """Return the dual variable of each row: equal rows share by their weights.

        Parameters
        ----------
        alpha : ndarray, shape (n_variables,), float64
            0 or more.
        bounded : bool, default True
            Whether the weights are bounds, beyond which rounding leads.
        """
        part = self.part / np.append(self.C, 1.0)[self.of_row]
        found = np.append(alpha, 0.0)[self.of_row] * part
        return np.asarray(np.minimum(found, self.part) if bounded else found)

    def shared_out_to_rows(
        self, variables: Index, beta: Vector, *, bounded: bool = True
    ) -> tuple[Index, Index, Vector]:
        """Return rows of some variables, and the part of each row.

        Parameters
        ----------
        variables : ndarray, shape (m,), int64
            One may be there several times, as that of several SVMs.
        beta : ndarray, shape (m,), float64
            Their values, of either sign.
        bounded : bool, default True
            As for `shared_out`.

        Returns
        -------
        which : ndarray, shape (k,), int64
            To which of the m each row belongs.
        rows : ndarray, shape (k,), int64
        values : ndarray, shape (k,), float64
        """
        taking = np.flatnonzero(self.of_row >= 0)
        rows = taking[np.argsort(self.of_row[taking], kind="stable")]
        count = np.bincount(self.of_row[taking], minlength=len(self.rows))
        which = np.repeat(np.arange(len(variables)), count[variables])
        # The k-th of a variable's rows is the k-th from the first of them on.
        first = (np.cumsum(count) - count)[variables]
        ends = np.cumsum(count[variables])
        found = rows[np.arange(len(which)) + (first - ends + count[variables])[which]]
        part = self.part[found]
        values = np.abs(beta)[which] * (part / self.C[variables[which]])
        values = np.minimum(values, part) if bounded else values
        return which, found, np.copysign(values, beta[which])


def solved_variables(
    kernel: Kernel, X: Rows, codes: NDArray[np.integer], C: Vector
) -> tuple[Rows, Variables]:
    """Return rows as `solved_rows` does, and the variables of a problem.

    Both follow from the different rows alone: neither their order nor repeats change them.

    Parameters
    ----------
    kernel : Kernel
    X, codes, C
        As for `variables_of`. Variables that are near in space are side by side, where many are.
    """
    if isinstance(X, KnownRows):
        return X, variables_of(X, codes, C)
    X = stored_for_speed(X)
    variables = variables_of(X, codes, C)
    stored = solved_rows(kernel, X, variables.rows)
    if len(variables.rows) <= SMALL:
        return stored, variables
    return stored, variables.ordered(tile_order(kernel, stored[variables.rows]))


def variables_of(X: Rows, codes: NDArray[np.integer], C: Vector) -> Variables:
    """Return the variables of a problem.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32; or KnownRows
        Of these each row of a weight above 0 is a variable, in their order.
    codes : ndarray, shape (n,), int32 or int64
        The class of each row, or the bits of its target.
    C : ndarray, shape (n,)
        Upper bound of each row, 0 or more.
    """
    kept = np.flatnonzero(C > 0)
    if isinstance(X, KnownRows):  # which rows are equal is not known
        of_row = np.full(len(C), -1, dtype=np.int64)
        of_row[kept] = np.arange(len(kept))
        return Variables(kept, of_row, np.asarray(C[kept], np.float64), np.where(C > 0, C, 0.0))
    hashes = row_hashes(X[kept], codes[kept])
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    new = np.ones(len(kept), dtype=np.bool_)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)
    place = np.empty(len(kept), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    rows = kept[order[new]]
    of_row = np.full(X.shape[0], -1, dtype=np.int64)
    of_row[kept] = place
    # Weights are added up from the smallest on, whatever order they came in.
    ascending = np.argsort(C[kept], kind="stable")
    bounds = np.bincount(place[ascending], weights=C[kept][ascending], minlength=len(rows))
    return Variables(rows, of_row, np.asarray(bounds, np.float64), np.where(C > 0, C, 0.0))
