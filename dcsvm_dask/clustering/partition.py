"""The interface of partitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows


class Partition(ABC):
    """A rule that assigns a block to every row of training or test data.

    Training and early prediction use the same object. The label of a row depends on that row
    only: neither on other rows nor on the chunks of a data set. Of equally near centres the one
    with the lowest index is chosen.
    """

    rule: ClassVar[str]
    """Name of the kind of partition in stored models."""

    _kinds: ClassVar[dict[str, type[Partition]]] = {}

    def __init_subclass__(cls) -> None:
        Partition._kinds[cls.rule] = cls

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """Number of blocks; labels are 0 to n_blocks - 1."""

    @property
    @abstractmethod
    def kernel_values_per_row(self) -> int:
        """Largest number of kernel values for a row's label; 0 for centres in input space."""

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
            At least 2; fewer result where X has fewer distinct rows.
        rng : numpy.random.Generator

        Returns
        -------
        Partition or None
            None where the rule cannot separate the rows.
        """
        finer = self.cluster_again(X, n_clusters, rng)
        return None if finer is None else self.graft(block, finer)

    @abstractmethod
    def cluster_again(self, X: Rows, n_clusters: int, rng: np.random.Generator) -> Partition | None:
        """Return a partition of rows of one block by the same rule.

        Parameters
        ----------
        X : ndarray or CSR, shape (m, d), float32
            Rows of the block.
        n_clusters : int
            At least 2.
        rng : numpy.random.Generator

        Returns
        -------
        Partition or None
            None where the rule cannot separate the rows.
        """

    @abstractmethod
    def graft(self, block: int, finer: Partition) -> Partition:
        """Return the partition in which the rows of `block` are divided by another partition.

        `finer` has the same rule; its block 0 becomes `block`, its block j is n_blocks + j - 1.
        """

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the partition as arrays and JSON values."""

    @staticmethod
    def from_arrays(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Partition:
        """Return the partition from the results of `to_arrays`; its labels are the same.

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
                f"the stored partition lacks {error}; its files are incomplete: train again."
            ) from error

    @classmethod
    @abstractmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Partition: ...
