"""A level's machines of many classes: those of a row's own block decide it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.clustering import Partition
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, stacked
from dcsvm_dask.models.many import ManyModel, decided
from dcsvm_dask.solvers import labels_of_classes

Vector = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class BlocksModel:
    """The machines of every block, and the rule that chooses a row's block.

    Attributes
    ----------
    blocks : tuple of ManyModel
        All of one scheme.
    class_rows : ndarray, shape (n_blocks, n_classes), int64
        Rows of each class that a block was trained on: a class without any loses there.
    partition : Partition
        The rule that assigns a row to a block.
    block_of_label : ndarray, shape (partition.n_blocks,), int64
        The block that a label of the rule names, -1 where the rule's block had no rows.
    """

    blocks: tuple[ManyModel, ...]
    class_rows: NDArray[np.int64]
    partition: Partition
    block_of_label: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        kind: type[ManyModel],
        kernel: Kernel,
        support: Rows,
        dual_coef: NDArray[np.float64],
        of_class: Index,
        bias: Vector,
        **rule: Any,
    ) -> BlocksModel:
        """Return the machines of blocks whose support vectors follow one another.

        Parameters
        ----------
        kind : type
            Of the machines of each block.
        support, dual_coef
            Those of all blocks; see `ManyModel`.
        of_class, bias : ndarray
            With a row for each block.
        **rule
            The other attributes.
        """
        borders = [0, *np.cumsum(of_class.sum(axis=1)).tolist()]
        parts = [slice(*ends) for ends in pairwise(borders)]
        blocks = (
            kind(kernel, support[part], dual_coef[:, part], of_class[block], bias[block])
            for block, part in enumerate(parts)
        )
        return cls(tuple(blocks), **rule)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @cached_property
    def n_support(self) -> int:
        """Number of support vectors."""
        return sum(one.n_support for one in self.blocks)

    @property
    def support(self) -> Rows:
        """All support vectors, block after block."""
        return stacked([one.support for one in self.blocks])

    @property
    def n_features(self) -> int:
        """Number of features of the rows that it decides."""
        return self.blocks[0].n_features

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.class_rows.shape[1])

    @property
    def scheme(self) -> str:
        """Which machines there are: "ovo" or "ovr"."""
        return self.blocks[0].scheme

    @property
    def is_sparse(self) -> bool:
        """Whether the support vectors are CSR."""
        return self.blocks[0].is_sparse

    def any_row(self) -> Rows:
        """Return a row that it can decide."""
        row = np.zeros((1, self.n_features), dtype=np.float32)
        return sparse.csr_array(row) if self.is_sparse else row

    def check(self) -> None:
        """Refuse arrays that cannot be a model.

        Raises
        ------
        InputError
            If shapes do not fit to each other or a number is not finite.
        """
        labels, rows = self.block_of_label, self.class_rows
        wrong = None
        if not self.blocks or rows.ndim != 2 or len(rows) != self.n_blocks:
            wrong = f"{self.n_blocks} blocks with rows of shape {rows.shape}"
        elif (rows < 0).any() or not rows.any(axis=1).all():
            wrong = "a block without rows"
        elif labels.shape != (self.partition.n_blocks,) or (
            labels.min(initial=0) < -1 or labels.max(initial=-1) >= self.n_blocks
        ):
            wrong = "the rule names blocks that do not exist"
        if wrong is not None:
            raise InputError(f"not a model: {wrong}")
        for one in self.blocks:
            one.check()

    def decide(self, X: Rows, mode: str = "early", *, dtype: Any = np.float32) -> Vector:
        """Return the decision values of all machines.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, n_features), float32
        mode : {"early", "naive"}
            By the machines of each row's own block, equation (6) of Hsieh, Si, Dhillon (2014), in
            which classes without rows lose; a row whose block had no rows gets the sums of all.
            Or by the sums of the machines of all blocks, equation (5), without their biases.
        dtype : float32 or float64
            As for `ManyModel.decide`.

        Returns
        -------
        ndarray, shape (n, n_machines), float64

        Raises
        ------
        InputError
            For another mode.
        """
        if mode == "naive":
            return self._naive(X, dtype)
        if mode != "early":
            raise InputError(f"{mode} prediction does not fit to this model")
        values = np.empty((X.shape[0], len(self.blocks[0].bias)))
        blocks = np.empty(0, np.int64) if not len(values) else self.blocks_of(X)
        for block in np.unique(blocks).tolist():
            members = np.flatnonzero(blocks == block)
            if block < 0:
                values[members] = self._naive(X[members], dtype)
                continue
            found = self.blocks[block].decide(X[members], dtype=dtype)
            values[members] = losing(found, self.class_rows[block] > 0, self.scheme)
        return values

    def blocks_of(self, X: Rows) -> Index:
        """Return the block of each row; -1: one that had no rows."""
        return np.asarray(self.block_of_label[self.partition.assign(X)])

    def sums(self, X: Rows, *, dtype: Any = np.float32) -> Vector:
        """Return the sums of the machines of all blocks, without biases."""
        found = np.zeros((X.shape[0], len(self.blocks[0].bias)))
        for one in self.blocks:
            found += one.sums(X, dtype=dtype)
        return found

    def own_sums(self, X: Rows, blocks: NDArray[np.integer]) -> Vector:
        """Return the sums of the machines of each row's own block, without biases."""
        found = np.zeros((X.shape[0], len(self.blocks[0].bias)))
        for block in np.unique(blocks).tolist():
            members = np.flatnonzero(blocks == block)
            found[members] = self.blocks[block].sums(X[members])
        return found

    def rounding(self, X: Rows) -> float:
        """Return what rounding of kernel values to float32 may change a decision value by."""
        return sum(one.rounding(X) for one in self.blocks)

    def _naive(self, X: Rows, dtype: Any) -> Vector:
        def values(rows: Rows, dtype: Any) -> Vector:
            return self.sums(rows, dtype=dtype)

        return decided(values, self.blocks[0].in_doubt, X, self.rounding(X), dtype)


def losing(values: Vector, present: NDArray[np.bool_], scheme: str) -> Vector:
    """Return decision values in which classes that are not present lose.

    A machine that has seen one of its sides alone decides for that side; a pair of which neither
    is present is a draw, 0. Against the rest a class that is not present comes after all others.
    A pair's vote at 0 is for its second class, as in LIBSVM: a class that is not present gets votes
    against others of these alone, and those that are have more.

    Parameters
    ----------
    values : ndarray, shape (n, n_machines)
    present : ndarray of bool, shape (n_classes,)
    scheme : {"ovo", "ovr"}
    """
    labels = labels_of_classes(len(present), scheme)[present]
    first, second = (labels > 0).any(axis=0), (labels < 0).any(axis=0)
    found = np.where(first & second, values, first.astype(float) - second)
    if scheme == "ovr" and not present.all():
        found[:, ~present] = np.minimum(found[:, present].min(axis=1), 0.0)[:, None] - 1.0
    return np.asarray(found)
