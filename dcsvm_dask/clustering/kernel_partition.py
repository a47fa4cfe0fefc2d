"""Blocks by the nearest centre in kernel space: the second step of two-step kernel k-means."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.clustering.kernel_kmeans import kernel_kmeans
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.clustering.rows import as_rows, at_most
from dcsvm_dask.clustering.tree import Tree
from dcsvm_dask.kernels import (
    Kernel,
    Rows,
    is_sparse,
    kernel_diagonal,
    kernel_matrix,
    kernel_product,
    stacked,
)
from dcsvm_dask.kernels.kinds import SQUARED_DISTANCE

MAX_SAMPLE = 3000
"""Largest number of rows whose kernel matrix is computed at once (72 MB)."""

_TILE = 8192
"""Rows whose distances to all centres are in memory at once."""


class KernelPartition(Partition):
    """Blocks by the nearest mean of sampled rows in kernel space.

    The squared distance of x to the mean of the sampled rows of cluster c is
    K(x, x) - 2/|c| sum_{j in c} K(x, x_j) + const_c (Hsieh, Si and Dhillon, ICML 2014, section 3;
    Ghitta et al., 2011). With `normalised` K is K(x, z) / sqrt(K(x, x) K(z, z)), so that norms
    do not matter.

    Products are computed in float32. A row whose two nearest centres differ by no more than the
    possible rounding is decided in float64, and if need be in a product of its own, so that no
    label depends on other rows.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the clustering, which may be wider than that of the SVM.
    tree : Tree
    members : ndarray or CSR, shape (m, d), float32
        The sampled rows, centre after centre in the order of the tree's centres.
    member_offsets : ndarray, shape (n_centres + 1,), int64
        Centre c is the mean of the rows member_offsets[c] to member_offsets[c + 1].
    constants : ndarray, shape (n_centres,), float64
        const_c.
    normalised : bool
    """

    rule = "kernel"

    def __init__(
        self,
        kernel: Kernel,
        tree: Tree,
        members: Rows,
        member_offsets: NDArray[np.int64],
        constants: NDArray[np.float64],
        *,
        normalised: bool,
    ) -> None:
        self.kernel = kernel
        self.tree = tree
        self.members = as_rows(members)
        self.member_offsets = member_offsets
        self.constants = constants
        self.normalised = normalised
        sizes = np.repeat(np.diff(member_offsets), np.diff(member_offsets))
        self._weights = self._scale(self.members) / sizes
        self._radius2 = float(np.max(_squared_norms(self.members), initial=0.0))

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        X: Rows,
        n_clusters: int,
        rng: np.random.Generator,
        *,
        normalised: bool = False,
        n_starts: int = 3,
    ) -> KernelPartition:
        """Run kernel k-means on a sample of X.

        The sample has max(1000, 20 n_clusters) rows, at most 3,000, or all rows if there are fewer.

        Parameters
        ----------
        kernel : Kernel
        X : ndarray or CSR, shape (m, d), float32
        n_clusters : int
            At least 1.
        rng : numpy.random.Generator
        normalised : bool, default False
            Whether to divide kernel values by the roots of the diagonal.
        n_starts : int, default 3

        Returns
        -------
        KernelPartition
        """
        X = as_rows(X)
        rows = at_most(X, min(MAX_SAMPLE, max(1000, 20 * n_clusters)), rng)
        K = kernel_matrix(kernel, rows, dtype=np.float64)
        if normalised:
            scale = _inverse_roots(kernel, rows)
            K *= scale[:, None] * scale
        labels = kernel_kmeans(K, n_clusters, rng, n_starts=n_starts)
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        constants = np.array(
            [
                K[np.ix_(own, own)].mean()
                for own in (order[offsets[c] : offsets[c + 1]] for c in range(len(sizes)))
            ]
        )
        tree = Tree.flat(len(sizes))
        return cls(kernel, tree, rows[order], offsets, constants, normalised=normalised)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.tree.n_blocks

    @property
    def kernel_values_per_row(self) -> int:
        """Largest number of sampled rows on the way of a row down the tree."""
        sizes = (
            self.member_offsets[self.tree.offsets[1:]] - self.member_offsets[self.tree.offsets[:-1]]
        )
        depth = np.zeros(len(sizes), dtype=np.int64)
        for node in range(len(sizes) - 1, -1, -1):
            children = self.tree.child[self.tree.offsets[node] : self.tree.offsets[node + 1]]
            depth[node] = sizes[node] + np.max(depth[children[children >= 0]], initial=0)
        return int(depth[0])

    def assign(self, X: Rows) -> NDArray[np.int32]:
        """Return the block of every row; see `Partition.assign`."""
        X = as_rows(X, self.members.shape[1])
        labels = np.empty(X.shape[0], dtype=np.int32)
        for start in range(0, X.shape[0], _TILE):
            stop = min(start + _TILE, X.shape[0])
            waiting = [(0, np.arange(start, stop))]
            while waiting:
                node, rows = waiting.pop()
                reached = self.tree.child[self._nearest(node, X[rows])]
                labels[rows] = -1 - reached
                below = np.unique(reached[reached >= 0])
                waiting += [(int(child), rows[reached == child]) for child in below]
        return labels

    def _nearest(self, node: int, X: Rows) -> NDArray[np.int64]:
        """Return the index, among all centres, of the nearest one of a node."""
        first, last = (int(at) for at in self.tree.offsets[node : node + 2])
        best = np.full(X.shape[0], first, dtype=np.int64)
        if last - first == 1:
            return best
        doubtful = np.arange(X.shape[0])
        for dtype, unit in ((np.float32, 2.0**-24), (np.float64, 2.0**-53)):
            rows = X[doubtful]
            scores = self._scores(rows, first, last, dtype)
            best[doubtful] = first + np.argmin(scores, axis=1)
            gap = np.partition(scores, 1, axis=1)[:, :2]
            doubtful = doubtful[gap[:, 1] - gap[:, 0] <= 4 * self._rounding(rows, unit)]
            if not doubtful.size:
                return best
        decided: dict[bytes, int] = {}
        for i in doubtful:
            row = X[i : i + 1]
            key = row.indices.tobytes() + row.data.tobytes() if is_sparse(X) else row.tobytes()
            if key not in decided:
                decided[key] = first + int(np.argmin(self._scores(row, first, last, np.float64)))
            best[i] = decided[key]
        return best

    def _scores(self, X: Rows, first: int, last: int, dtype: Any) -> NDArray[np.float64]:
        """Return the squared distances less K(x, x) to the centres first to last."""
        cuts = self.member_offsets[first : last + 1]
        own = slice(int(cuts[0]), int(cuts[-1]))
        products, _ = kernel_product(
            self.kernel,
            X,
            self.members[own],
            self._weights[own],
            groups=cuts - cuts[0],
            dtype=dtype,
        )
        if self.normalised:
            products *= self._scale(X)[:, None]
        return np.asarray(self.constants[first:last] - 2 * products)

    def _rounding(self, X: Rows, unit: float) -> NDArray[np.float64]:
        """Return a bound on the rounding error of a mean of kernel values, for every row."""
        d = X.shape[1]
        steps = (8 + (min(d, 1024) if is_sparse(X) else d) / 4) * unit
        norms, radius = np.sqrt(_squared_norms(X)), np.sqrt(self._radius2)
        if self.kernel.kind.argument == SQUARED_DISTANCE:
            bound = steps * (1 + self.kernel.gamma * (norms + radius) ** 2)
            # kernel_product has a standard deviation of at most 2^-18 at any distance.
            return np.asarray(np.minimum(bound, 2.0**-15))
        if self.kernel.is_linear and not self.normalised:
            return np.asarray(steps * norms * radius)
        return np.full(X.shape[0], steps * (self.kernel.degree if self.normalised else 1.0))

    def _scale(self, X: Rows) -> NDArray[np.float64]:
        return _inverse_roots(self.kernel, X) if self.normalised else np.ones(X.shape[0])

    def cluster_again(
        self, X: Rows, n_clusters: int, rng: np.random.Generator
    ) -> KernelPartition | None:
        """Return a partition of rows of one block by the same rule.

        Parameters
        ----------
        X, n_clusters, rng
            See `Partition.cluster_again`.

        Returns
        -------
        KernelPartition or None
        """
        finer = KernelPartition.fit(
            self.kernel, X, n_clusters, rng, normalised=self.normalised, n_starts=1
        )
        return finer if finer.n_blocks > 1 else None

    def graft(self, block: int, finer: Partition) -> KernelPartition:
        """Return the partition with one block divided; see `Partition.graft`."""
        assert isinstance(finer, KernelPartition)
        offsets = self.member_offsets
        return KernelPartition(
            self.kernel,
            self.tree.graft(block, finer.tree),
            stacked([self.members, finer.members]),
            np.concatenate([offsets, offsets[-1] + finer.member_offsets[1:]]),
            np.concatenate([self.constants, finer.constants]),
            normalised=self.normalised,
        )

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the partition as arrays and JSON values."""
        arrays: dict[str, NDArray[Any]] = {
            "node_offsets": self.tree.offsets,
            "child": self.tree.child,
            "member_offsets": self.member_offsets,
            "constants": self.constants,
        }
        if is_sparse(self.members):
            for part in ("data", "indices", "indptr"):
                arrays[f"members_{part}"] = getattr(self.members, part)
        else:
            arrays["members"] = self.members
        meta: dict[str, Any] = {
            "rule": self.rule,
            "kernel": asdict(self.kernel),
            "normalised": self.normalised,
            "n_features": int(self.members.shape[1]),
            "n_blocks": self.n_blocks,
        }
        return arrays, meta

    @classmethod
    def _restore(cls, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> KernelPartition:
        members: Rows
        if "members" in arrays:
            members = arrays["members"]
        else:
            parts = [arrays[f"members_{part}"] for part in ("data", "indices", "indptr")]
            shape = (len(parts[2]) - 1, int(meta["n_features"]))
            members = sparse.csr_array(tuple(parts), shape=shape)
        return cls(
            Kernel(**meta["kernel"]),
            Tree(arrays["node_offsets"], arrays["child"]),
            members,
            arrays["member_offsets"],
            arrays["constants"],
            normalised=bool(meta["normalised"]),
        )


def _inverse_roots(kernel: Kernel, X: Rows) -> NDArray[np.float64]:
    diagonal = np.abs(kernel_diagonal(kernel, X))
    out = np.zeros(len(diagonal))
    np.divide(1.0, np.sqrt(diagonal), out=out, where=diagonal > 0)
    return out


def _squared_norms(X: Rows) -> NDArray[np.float64]:
    return kernel_diagonal(Kernel("linear"), X)
