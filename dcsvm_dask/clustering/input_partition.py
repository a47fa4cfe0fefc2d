"""Blocks by the nearest centre in input space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering.kmeans import kmeans
from dcsvm_dask.clustering.nearest import nearest, transposed_centres
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.clustering.rows import as_rows, at_most, unit_rows
from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.kernels import Rows

_MAX_CENTRE_NUMBERS = 1 << 24
"""Largest number of values in dense centres (64 MiB); centres of wider rows are kept as rows."""


class InputPartition(Partition):
    """Blocks by the nearest centre in input space, at the cost of the products with the centres.

    For a shift-invariant kernel rows that are near in input space are near in kernel space. With
    `cosine` rows are divided by their norms first: k-means of the linear kernel
    K / sqrt(K_ii K_jj).

    Parameters
    ----------
    tree : Tree
    centres : ndarray, shape (n_centres, d), float32
    cosine : bool
    """

    rule = "input"

    def __init__(self, tree: Tree, centres: NDArray[np.float32], *, cosine: bool) -> None:
        self.tree = tree
        self.centres = np.ascontiguousarray(centres, dtype=np.float32)
        self.cosine = cosine
        self._flat = transposed_centres(tree, self.centres)
        self._half = 0.5 * np.einsum("ij,ij->i", self.centres, self.centres, dtype=np.float64)

    @staticmethod
    def fits(n_clusters: int, n_features: int) -> bool:
        """Return whether dense centres of this size are small enough for this rule."""
        return n_clusters * n_features <= _MAX_CENTRE_NUMBERS

    @classmethod
    def fit(
        cls,
        X: Rows,
        n_clusters: int,
        rng: np.random.Generator,
        *,
        cosine: bool = False,
        n_starts: int = 3,
    ) -> InputPartition:
        """Cluster a sample by k-means.

        Parameters
        ----------
        X : ndarray or CSR, shape (m, d), float32
        n_clusters : int
            At least 1; equal rows give fewer centres, see `kmeans`.
        rng : numpy.random.Generator
        cosine : bool, default False
            Whether to divide rows by their norms.
        n_starts : int, default 3

        Returns
        -------
        InputPartition
        """
        X = as_rows(X)
        rows = at_most(X, max(4000, 100 * n_clusters), rng)
        centres = kmeans(unit_rows(rows) if cosine else rows, n_clusters, rng, n_starts=n_starts)
        return cls(Tree.flat(len(centres)), centres, cosine=cosine)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.tree.n_blocks

    @property
    def kernel_values_per_row(self) -> int:
        """Zero: labels cost products with centres only."""
        return 0

    def assign(self, X: Rows) -> NDArray[np.int32]:
        """Return the block of every row; see `Partition.assign`."""
        X = as_rows(X, self.centres.shape[1])
        return nearest(X, self.tree, self._flat, self._half, cosine=self.cosine)[0]

    def cluster_again(
        self, X: Rows, n_clusters: int, rng: np.random.Generator
    ) -> InputPartition | None:
        """Return a partition of rows of one block by the same rule.

        Parameters
        ----------
        X, n_clusters, rng
            See `Partition.cluster_again`.

        Returns
        -------
        InputPartition or None
        """
        if not self.fits(len(self.centres) + n_clusters, self.centres.shape[1]):
            return None
        finer = InputPartition.fit(X, n_clusters, rng, cosine=self.cosine, n_starts=1)
        return finer if finer.n_blocks > 1 else None

    def graft(self, block: int, finer: Partition) -> InputPartition:
        """Return the partition with one block divided; see `Partition.graft`."""
        assert isinstance(finer, InputPartition)
        centres = np.concatenate([self.centres, finer.centres])
        return InputPartition(self.tree.graft(block, finer.tree), centres, cosine=self.cosine)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the partition as arrays and JSON values."""
        arrays: dict[str, NDArray[Any]] = {
            "centres": self.centres,
            "node_offsets": self.tree.offsets,
            "child": self.tree.child,
        }
        return arrays, {"rule": self.rule, "cosine": self.cosine, "n_blocks": self.n_blocks}

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> InputPartition:
        tree = Tree(arrays["node_offsets"], arrays["child"])
        return cls(tree, arrays["centres"], cosine=bool(meta["cosine"]))
