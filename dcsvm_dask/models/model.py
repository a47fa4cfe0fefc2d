"""A trained model in memory: its SVMs over support vectors, and the rule that chooses a block."""

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
from dcsvm_dask.features import FeatureMap
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kd_order
from dcsvm_dask.models.committee import Committee
from dcsvm_dask.models.schemes import SINGLE, Expansion, Scheme, Single

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

LEVEL_MODES = ("early", "naive", "committee")
MODES = ("exact", *LEVEL_MODES)

VOTES = ("mean", "sign", "committee")


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule that chooses the block of a row.

    Attributes
    ----------
    partition : Partition
        Assigns a label to each row.
    block_of_label : ndarray, shape (partition.n_blocks,), int64
        The block of each label, -1 where no training rows had it.
    class_rows : ndarray, shape (n_blocks, n_classes), int64, or None
        Training rows of each class in each block, for more than two classes: a class without any
        loses in a block.
    """

    partition: Partition
    block_of_label: Index
    class_rows: Index | None = None

    def blocks_of(self, X: Rows) -> Index:
        """Return the block of each row; -1: a block without training rows."""
        return np.asarray(self.block_of_label[self.partition.assign(X)])

    def fault(self, n_blocks: int) -> str | None:
        """Return what is wrong with the rule of a model of some blocks; None: nothing."""
        labels, rows = self.block_of_label, self.class_rows
        if labels.shape != (self.partition.n_blocks,) or (
            labels.min(initial=0) < -1 or labels.max(initial=-1) >= n_blocks
        ):
            return "the rule names blocks that do not exist"
        if rows is not None and (rows.ndim != 2 or len(rows) != n_blocks):
            return f"{n_blocks} blocks with rows of shape {rows.shape}"
        if rows is not None and ((rows < 0).any() or not rows.any(axis=1).all()):
            return "a block without rows"
        return None


@dataclass(frozen=True)
class Model:
    """The SVMs of one block or of several, over support vectors in the order of the blocks.

    Attributes
    ----------
    kernel : Kernel
    support : Rows, shape (n_support, n_features)
        Support vectors, block after block, in each group after group; see `Scheme`.
    coef : ndarray, shape (n_coefficients, n_support), float64
        Their coefficients, beta: of two classes y alpha in one row.
    counts : ndarray, shape (n_blocks, n_groups), int64
        Number of support vectors of each group of each block.
    bias : ndarray, shape (n_blocks, n_svms), float64
        The bias of each SVM of each block.
    scheme : Scheme
        How the SVMs share support vectors and decide.
    rule : Rule or None
        The rule that chooses a row's block; None for the model of the whole problem.
    committee : Committee or None
        Calibration of the SVMs of a level or of a bag, for committee prediction.
    vote : {"mean", "sign", "committee"} or None
        How the SVMs of a bag decide together: by the mean of their decision values or of the signs
        of these, or as a committee. None: there is one block, or a rule chooses.
    features : FeatureMap or None
        Map of the rows, where the SVM is linear in its outputs; `support` and `kernel` are those of
        the linear SVM.
    """

    kernel: Kernel
    support: Rows
    coef: Vector
    counts: Index
    bias: Vector
    scheme: Scheme = SINGLE
    rule: Rule | None = None
    committee: Committee | None = None
    vote: str | None = None
    features: FeatureMap | None = None

    @classmethod
    def of_sum(
        cls, kernel: Kernel, support: Rows, coef: Vector, bias: float, **others: Any
    ) -> Model:
        """Return the model whose decision values are a single sum of kernel values.

        Parameters
        ----------
        kernel : Kernel
        support : Rows, shape (n_support, n_features)
        coef : ndarray, shape (n_support,), float64
        bias : float
        **others
            Other attributes.
        """
        counts = np.array([[len(coef)]], dtype=np.int64)
        return cls(kernel, support, coef[None, :], counts, np.array([[bias]]), **others)

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return int(self.support.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of the rows that it decides."""
        return int(self.support.shape[1]) if self.features is None else self.features.n_features

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.bias)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.scheme.n_classes

    @property
    def is_single(self) -> bool:
        """Whether a block has a single SVM."""
        return isinstance(self.scheme, Single)

    @property
    def is_sparse(self) -> bool:
        """Whether the support vectors are CSR."""
        return is_sparse(self.support)

    @cached_property
    def offsets(self) -> Index:
        """Borders of the blocks in `support`, shape (n_blocks + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts.sum(axis=1))]).astype(np.int64)

    @cached_property
    def blocks(self) -> tuple[Expansion, ...]:
        """The SVMs of each block."""
        return tuple(
            Expansion(
                self.kernel,
                self.support[start:stop],
                self.coef[:, start:stop],
                self.counts[block],
                self.bias[block],
            )
            for block, (start, stop) in enumerate(pairwise(self.offsets.tolist()))
        )

    def any_row(self) -> Rows:
        """Return a row that it can decide."""
        if self.features is None and self.n_support:
            return self.support[:1]
        row = np.zeros((1, self.n_features), dtype=np.float32)
        return sparse.csr_array(row) if self.features is None and self.is_sparse else row

    def check(self) -> None:
        """Refuse arrays that cannot be a model.

        Raises
        ------
        InputError
            If shapes do not fit to each other or a number is not finite.
        """
        wrong = self._fault_of_shapes() or self._fault_of_prediction()
        if wrong is not None:
            raise InputError(f"not a model: {wrong}")

    def _fault_of_shapes(self) -> str | None:
        n, scheme = self.n_support, self.scheme
        if self.bias.ndim != 2 or self.counts.shape != (len(self.bias), scheme.n_groups):
            return f"counts of shape {self.counts.shape} for biases of shape {self.bias.shape}"
        if self.bias.shape[1] != scheme.n_svms:
            return f"{self.bias.shape[1]} biases for {scheme.n_classes} classes"
        if (self.counts < 0).any() or self.counts.sum() != n:
            return f"{n} support vectors, in groups of {self.counts.tolist()!s:.200}"
        if self.coef.shape != (scheme.n_coefficients, n):
            return f"{n} support vectors, but coefficients of shape {self.coef.shape}"
        if not (np.isfinite(self.coef).all() and np.isfinite(self.bias).all()):
            return "a coefficient or a bias is not finite"
        if self.features is not None and self.support.shape[1] != self.features.n_outputs:
            return "weights for other features than its map gives"
        return None

    def _fault_of_prediction(self) -> str | None:
        if self.vote not in (None, *VOTES) or (self.vote and self.rule):
            return f"a vote by {self.vote!r:.40}"
        if self.vote == "committee" and self.committee is None:
            return "a committee without the calibration of its members"
        if self.committee is not None and not self.committee.fits(self.n_blocks):
            return f"a committee of other members than its {self.n_blocks} SVMs"
        if self.rule is None and self.vote is None and self.n_blocks != 1:
            return f"{self.n_blocks} blocks without a rule that chooses between them"
        return None if self.rule is None else self.rule.fault(self.n_blocks)

    def compact(self) -> None:
        """Put the support vectors of each block in k-d order, in place.

        Neighbours in that order are neighbours in space, so that a product can skip far pairs.
        Sparse rows, kernels that are not shift-invariant and several SVMs keep their order.
        """
        if self.is_sparse or not self.kernel.is_shift_invariant or not self.is_single:
            return
        for start, stop in pairwise(self.offsets.tolist()):
            own = slice(start, stop)
            order = kd_order(self.support[own])
            self.support[own] = self.support[own][order]
            self.coef[:, own] = self.coef[:, own][:, order]

    def rounding(self, X: Rows) -> float:
        """Return a bound on the error of decision values by kernel values in float32."""
        if self.is_single:
            return self.scheme.rounding(self._without_bias(), X)
        return sum(self.scheme.rounding(one, X) for one in self.blocks)

    def sums(self, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the sums of the SVMs of all blocks without biases, shape (n, n_svms)."""
        if self.is_single:
            return self.scheme.sums(self._without_bias(), X, dtype=dtype, threads=threads)
        found = np.zeros((X.shape[0], self.bias.shape[1]))
        for one in self.blocks:
            found += self.scheme.sums(one, X, dtype=dtype, threads=threads)
        return found

    def own_sums(self, X: Rows, blocks: NDArray[np.integer]) -> Vector:
        """Return the sums of the SVMs of each row's own block without biases, (n, n_svms)."""
        found = np.zeros((X.shape[0], self.bias.shape[1]))
        for block in np.unique(blocks).tolist():
            members = np.flatnonzero(blocks == block)
            found[members] = self.scheme.sums(self.blocks[block], X[members])
        return found

    def weights(self) -> Vector:
        """Return the weights of features, shape (n_svms, n_features), for the linear kernel."""
        return self.scheme.weights(self.blocks[0])

    def _without_bias(self) -> Expansion:
        """Return all support vectors as those of one block."""
        counts, bias = self.counts.sum(axis=0), np.zeros(self.bias.shape[1])
        return Expansion(self.kernel, self.support, self.coef, counts, bias)
