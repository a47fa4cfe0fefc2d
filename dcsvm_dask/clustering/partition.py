"""What a partition can do, whatever its rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows


class Partition(ABC):
    """A rule that gives every row, of training or of test data, its block.

    Training and early prediction ask the same object. The label of a row depends on that row
    alone: neither the rows beside it nor the way in which a data set is cut into chunks changes
    it. Of equally near centres the one with the lowest index wins.
    """

    rule: ClassVar[str]
    """The name under which a partition of this kind is stored."""

    _kinds: ClassVar[dict[str, type[Partition]]] = {}

    def __init_subclass__(cls) -> None:
        Partition._kinds[cls.rule] = cls

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks; labels lie in 0 to n_blocks - 1."""

    @property
    @abstractmethod
    def kernel_values_per_row(self) -> int:
        """Most kernel values that one row's label costs; 0 for centres in input space."""

    @abstractmethod
    def assign(self, X: Rows) -> NDArray[np.int32]:
        """Return the block of every row.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d), float32

        Returns
        -------
        ndarray, shape (n,), int32

        Raises
        ------
        InputError
            If X has another number of features than the rows that the partition was made from.
        """

    def split(
        self, block: int, X: Rows, n_clusters: int, rng: np.random.Generator
    ) -> Partition | None:
        """Return the partition with one block clustered again; no other block changes.

        Parameters
        ----------
        block : int
            The first of the new blocks keeps this number, the others follow the last block.
        X : ndarray or CSR, shape (m, d), float32
            Rows of that block.
        n_clusters : int
            At least 2; fewer where X has fewer distinct rows.
        rng : numpy.random.Generator

        Returns
        -------
        Partition, or None where the rule cannot tell these rows apart.
        """
        finer = self.cluster_again(X, n_clusters, rng)
        return None if finer is None else self.graft(block, finer)

    @abstractmethod
    def cluster_again(self, X: Rows, n_clusters: int, rng: np.random.Generator) -> Partition | None:
        """Return a partition of the same rule for rows of one block, or None as `split` does."""

    @abstractmethod
    def graft(self, block: int, finer: Partition) -> Partition:
        """Return the partition in which the rows of `block` go on to another partition.

        `finer` has the same rule; its block 0 becomes `block`, its block j is n_blocks + j - 1.
        """

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return everything that the partition is, as arrays and as values fit for JSON."""

    @staticmethod
    def from_arrays(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Partition:
        """Make the partition again from what `to_arrays` returned; its labels are the same.

        Raises
        ------
        InputError
            If the rule is unknown or an array is missing.
        """
        kind = Partition._kinds.get(str(meta.get("rule")))
        if kind is None:
            raise InputError(
                f"the stored partition has the rule {meta.get('rule')!r}, which is not one of"
                f" {', '.join(sorted(Partition._kinds))}; it needs another version of dcsvm_dask."
            )
        try:
            return kind._restore(arrays, meta)
        except KeyError as error:
            raise InputError(
                f"the stored partition lacks {error}; its files are incomplete, so make it again."
            ) from error

    @classmethod
    @abstractmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Partition: ...
