"""Rows in shares, whose sums of kernel values may be computed in several places."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, kernel_product
from dcsvm_dask.solvers.parallel.solve import SHARE_ROWS, number_of_shares

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

SHARED_FROM = 4 * SHARE_ROWS
"""Rows from which shares are worth it."""
PART_VALUES = 3e7
"""Kernel values for each who takes part in a product: with fewer, asking takes what it saves."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a share whose sums are asked for.

    Attributes
    ----------
    share : int
    rows : ndarray of int64
        Their places within the share.
    doubt : tuple of ndarrays, optional
        As for `kernel_product`, of these rows.
    """

    share: int
    rows: Index
    doubt: tuple[Vector, Vector] | None = None


@dataclass(frozen=True, slots=True)
class PartSums:
    """The sums of a part.

    Attributes
    ----------
    sums : ndarray, shape (rows,), float64
    values : int
        Kernel values that were computed.
    seconds : float
        Processor time.
    is_elsewhere : bool
        Whether another process did it.
    """

    sums: Vector
    values: int
    seconds: float
    is_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Product:
    """Columns of the kernel matrix and their weights: sum_j K(x_i, z_j) w_j.

    Attributes
    ----------
    kernel : Kernel
    Z : ndarray or CSR, shape (m, d), float32
    w : ndarray, shape (m,), float64
    budget, tol : float
        As for `kernel_product`.
    """

    kernel: Kernel
    Z: Rows
    w: Vector
    budget: float
    tol: float

    def most(self, parts: Sequence[Part]) -> int:
        """Return how many others may take part, for it to pay: from 0."""
        values = len(self.w) * sum(len(part.rows) for part in parts)
        return max(0, min(len(parts), int(values / PART_VALUES)) - 1)

    def sums(self, X: Rows, part: Part) -> PartSums:
        """Return the sums of a part of a share.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d), float32
            The rows of the share.
        part : Part
        """
        begin = time.thread_time()
        sums, values = kernel_product(
            self.kernel,
            X if len(part.rows) == X.shape[0] else X[part.rows],
            self.Z,
            self.w,
            budget=self.budget,
            tol=self.tol,
            doubt=part.doubt,
        )
        return PartSums(np.asarray(sums), values, time.thread_time() - begin)


@dataclass(slots=True)
class Count:
    """The products so far that others may take part in.

    Attributes
    ----------
    products, columns : int
        Their number, and that of the columns of all of them.
    others : int
        How many others may take part in each, summed.
    seconds, elsewhere : float
        Their processor time, and what others did of it.
    """

    products: int = 0
    columns: int = 0
    others: int = 0
    seconds: float = 0.0
    elsewhere: float = 0.0

    def add(self, other: Count) -> None:
        """Add the products of other rows."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


CarryOut = Callable[[Product, Sequence[Part]], Sequence[PartSums]]
"""Returns the sums of parts, in their order, wherever they are computed."""


class SharedRows:
    """Rows in shares that follow from their number; a product is one piece of work for each share.

    Where the pieces are done changes no bit of the result.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    carry_out : callable, optional
        Given the rows of all shares, returns what carries out products; by default this thread.

    Attributes
    ----------
    count : Count
    """

    def __init__(self, X: Rows, carry_out: Callable[[list[Rows]], CarryOut] | None = None) -> None:
        self.X = X
        n = X.shape[0]
        shares = number_of_shares(n)
        self._borders = np.array([n * share // shares for share in range(shares + 1)])
        self._shares = [X[a:b] for a, b in pairwise(self._borders)]
        self._carry_out = self._here if carry_out is None else carry_out(self._shares)
        self.count = Count()

    def product(
        self,
        kernel: Kernel,
        rows: Index,
        columns: Index,
        w: Vector,
        *,
        budget: float,
        tol: float,
        doubt: tuple[Vector, Vector] | None = None,
    ) -> tuple[Vector, int]:
        """Return sum_j K(x_i, x_j) w_j of some rows over some columns, and the values computed.

        Parameters
        ----------
        kernel : Kernel
        rows, columns : ndarray of int64, ascending
        w : ndarray, float64
            Weights of the columns.
        budget, tol, doubt
            As for `kernel_product`, of the rows.
        """
        cuts = np.searchsorted(rows, self._borders)
        parts = [
            Part(
                share,
                rows[a:b] - self._borders[share],
                None if doubt is None else (doubt[0][a:b], doubt[1][a:b]),
            )
            for share, (a, b) in enumerate(pairwise(cuts))
            if b > a
        ]
        product = Product(kernel, self.X[columns], w, budget, tol)
        found = self._carry_out(product, parts)
        others = product.most(parts)
        if others:
            self.count.products += 1
            self.count.columns += len(columns)
            self.count.others += others
            self.count.seconds += sum(one.seconds for one in found)
            self.count.elsewhere += sum(one.seconds for one in found if one.is_elsewhere)
        return np.concatenate([one.sums for one in found]), sum(one.values for one in found)

    def _here(self, product: Product, parts: Sequence[Part]) -> list[PartSums]:
        return [product.sums(self._shares[part.share], part) for part in parts]
