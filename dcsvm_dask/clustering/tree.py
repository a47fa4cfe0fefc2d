"""The tree of a partition: each centre leads to a block or to finer centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Nodes of centres; every row starts at node 0.

    A row goes to the nearest centre of its node. That centre is a block, or leads to a node of
    finer centres. Splitting a block changes no other block, so the others still meet a size cap.
    """

    offsets: NDArray[np.int64]
    """Shape (n_nodes + 1,): node v owns the centres offsets[v] to offsets[v + 1]."""

    child: NDArray[np.int32]
    """Shape (n_centres,): the node that a centre leads to, or -1 - block."""

    @classmethod
    def flat(cls, n_centres: int) -> Tree:
        """Return a tree of one node whose centres are the blocks, in order."""
        return cls(
            np.array([0, n_centres], dtype=np.int64), -1 - np.arange(n_centres, dtype=np.int32)
        )

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(np.count_nonzero(self.child < 0))

    def graft(self, block: int, finer: Tree) -> Tree:
        """Return the tree in which `block` leads to another tree.

        Block 0 of that tree keeps the number `block`, its block j becomes n_blocks + j - 1; its
        centres are appended to the list of centres.
        """
        nodes = len(self.offsets) - 1
        child = self.child.copy()
        child[np.flatnonzero(child == -1 - block)[0]] = nodes
        blocks = -1 - finer.child
        renamed = np.where(blocks == 0, block, self.n_blocks + blocks - 1)
        below = np.where(finer.child >= 0, finer.child + nodes, -1 - renamed)
        return Tree(
            np.concatenate([self.offsets, self.offsets[-1] + finer.offsets[1:]]),
            np.concatenate([child, below]).astype(np.int32),
        )
