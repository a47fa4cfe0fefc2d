"""A trained model in memory, and its decision values: exact, early, naive, of a committee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.clustering import Partition
from dcsvm_dask.errors import InputError
from dcsvm_dask.features import FeatureMap
from dcsvm_dask.kernels import (
    Kernel,
    Rows,
    block_diagonal_product,
    is_sparse,
    kd_order,
    kernel_product,
)
from dcsvm_dask.models.committee import Committee
from dcsvm_dask.models.schemes import (
    DECAY_DEVIATION,
    ORDER_FROM,
    SINGLE,
    Expansion,
    Scheme,
    Single,
    bound_of,
    deviation,
)

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

LEVEL_MODES = ("early", "naive", "committee")
MODES = ("exact", *LEVEL_MODES)

VOTES = ("mean", "sign", "committee")

# Decision values of single SVMs that are in memory at a time (128 MiB).
_MEMBER_VALUES = 1 << 24


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


def decide(
    model: Model, X: Rows, mode: str = "exact", *, dtype: Any = np.float32, threads: int = 1
) -> Vector:
    """Return decision values in one of the modes.

    Parameters
    ----------
    model : Model
        Of the whole problem for "exact", of a level for the others.
    X : Rows, shape (n, n_features)
        Scaled as the training rows.
    mode : {"exact", "early", "naive", "committee"}
        "early": by the SVMs of each row's own block, equation (6) of Hsieh, Si, Dhillon (2014).
        "naive": the sum of all SVMs, equation (5), without their biases. "committee": log odds of
        the Bayesian committee machine.
    dtype : float32 or float64
        Precision of kernel values; their sums are always float64. Rows whose class float32 leaves
        in doubt are decided again in float64, so that labels do not depend on it.
    threads : int, default 1
        Threads for kernel values of a model of the whole problem.

    Returns
    -------
    ndarray, float64
        Shape (n,) for a single SVM, above 0 for the positive class; else (n, n_svms).

    Raises
    ------
    InputError
        If X has another number of features, or the model has no such mode.
    """
    if X.shape[1] != model.n_features:
        raise InputError(
            f"rows of {X.shape[1]} features; the model was trained on {model.n_features}"
        )
    if model.features is not None:
        return _decide_by_features(model, X, dtype)
    if mode == "early":
        values = decide_early(model, X, dtype=dtype)
    elif mode == "committee" or model.vote == "committee":
        return decide_by_committee(model, X, dtype=dtype)
    elif (mode == "exact") != (model.rule is None):
        raise InputError(f"{mode} prediction does not fit to this model")
    elif model.vote is not None:
        return decide_by_vote(model, X, dtype=dtype)
    elif model.rule is None:
        values = model.scheme.decide(model.blocks[0], X, dtype=dtype, threads=threads)
    else:
        values = decide_naive(model, X, dtype=dtype)
    return values[:, 0] if model.is_single else values


def _decide_by_features(model: Model, X: Rows, dtype: Any) -> Vector:
    assert model.features is not None
    linear = replace(model, features=None)
    values, rows = np.empty(X.shape[0]), max(1, _MEMBER_VALUES // model.features.n_outputs)
    for start in range(0, X.shape[0], rows):
        some = slice(start, start + rows)
        values[some] = decide(linear, model.features.transform(X[some]), dtype=dtype)
    return values


def decide_naive(model: Model, X: Rows, *, dtype: Any = np.float32) -> Vector:
    """Return the sums of the SVMs of all blocks, shape (n, n_svms).

    Equation (5) of Hsieh, Si, Dhillon (2014), in which a bias has no place.

    Parameters
    ----------
    model : Model
    X : Rows, shape (n, n_features)
    dtype : float32 or float64
    """

    def values(rows: Rows, dtype: Any) -> Vector:
        return model.sums(rows, dtype=dtype)

    if dtype != np.float32:
        return values(X, dtype)
    return model.scheme.decide_by(values, X, model.rounding(X))


def decide_early(model: Model, X: Rows, *, dtype: Any = np.float32) -> Vector:
    """Return the decision values of the SVMs of each row's own block, shape (n, n_svms).

    Equation (6) of Hsieh, Si, Dhillon (2014). Classes without training rows in the block lose. A
    row of a block without training rows has the naive sum of all SVMs.

    Parameters
    ----------
    model : Model
    X : Rows, shape (n, n_features)
    dtype : float32 or float64

    Raises
    ------
    InputError
        If the model is not of a level.
    """
    if model.rule is None:
        raise InputError("early prediction needs the model of a level; this one has no partition")
    values = np.zeros((X.shape[0], model.bias.shape[1]))
    if not len(values):
        return values
    blocks = model.rule.blocks_of(X)
    order = np.argsort(blocks, kind="stable")
    borders = np.searchsorted(blocks[order], np.arange(-1, model.n_blocks + 1))
    unassigned = order[: borders[1]]
    if len(unassigned):
        values[unassigned] = decide_naive(model, X[unassigned], dtype=dtype)
    together = np.zeros(model.n_blocks, dtype=np.bool_)
    if model.is_single and dtype == np.float32:
        together = np.diff(model.offsets) < ORDER_FROM
    for block in np.unique(blocks[order[borders[1] :]]).tolist():
        if not together[block]:
            members = order[borders[block + 1] : borders[block + 2]]
            values[members] = _decide_in_block(model, X[members], block, dtype)
    members = order[borders[1] :]
    members = members[together[blocks[members]]]
    if len(members):
        _decide_small_blocks(model, X, members, blocks[members], values)
    return values


def _decide_in_block(model: Model, X: Rows, block: int, dtype: Any) -> Vector:
    values = model.scheme.decide(model.blocks[block], X, dtype=dtype)
    if model.rule is None or model.rule.class_rows is None:
        return values
    return model.scheme.losing(values, model.rule.class_rows[block] > 0)


def _decide_small_blocks(
    model: Model, X: Rows, members: Index, blocks: Index, values: Vector
) -> None:
    """Put into `values` those of rows by the single SVMs of their blocks, which ascend."""
    if blocks[0] == blocks[-1]:  # one block, as for a row at a time, is faster by itself
        values[members] = _decide_in_block(model, X[members], int(blocks[0]), np.float32)
        return
    borders = np.searchsorted(blocks, np.arange(model.n_blocks + 1))
    sums = block_diagonal_product(
        model.kernel, X, members, borders, model.support, model.offsets, model.coef[0]
    )
    found = sums[members] + model.bias[blocks, 0]
    values[members, 0] = found
    most = _rounding_of_blocks(model, X, members, np.flatnonzero(np.diff(borders)))
    doubtful = np.flatnonzero(np.abs(found) <= most[blocks])
    for block in np.unique(blocks[doubtful]).tolist():
        again = members[doubtful[blocks[doubtful] == block]]
        values[again] = _decide_in_block(model, X[again], block, np.float64)


def _rounding_of_blocks(model: Model, X: Rows, members: Index, some: Index) -> Vector:
    """Return `rounding` of the SVMs of some blocks, 0 of the others; shape (n_blocks,)."""
    first, sizes = model.offsets[some], np.diff(model.offsets)[some]
    # Columns of these blocks alone: of a few rows, all others would take longer than the product.
    columns = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    each: Any = DECAY_DEVIATION
    if not model.kernel.is_shift_invariant:
        each = deviation(model.kernel, X[members], model.support[columns])
    squares = (each * model.coef[0, columns]) ** 2
    found = np.zeros(model.n_blocks)
    found[some] = bound_of(np.bincount(np.repeat(np.arange(len(some)), sizes), squares, len(some)))
    return found


def decide_by_committee(model: Model, X: Rows, *, dtype: Any = np.float32) -> Vector:
    """Return the log odds of the Bayesian committee machine of a level's or a bag's SVMs, (n,).

    Raises
    ------
    InputError
        If the model has no committee.
    """
    if model.committee is None:
        raise InputError("committee prediction needs SVMs that were calibrated")
    return _decide_together(model, X, model.committee.logits, dtype)


def decide_by_vote(model: Model, X: Rows, *, dtype: Any = np.float32) -> Vector:
    """Return the mean of the decision values of a bag's SVMs, or of their signs, (n,)."""
    bias = model.bias[:, 0]

    def vote(members: Vector) -> Vector:
        values = members + bias
        return np.asarray((np.sign(values) if model.vote == "sign" else values).mean(axis=1))

    return _decide_together(model, X, vote, dtype)


def _decide_together(
    model: Model, X: Rows, together: Callable[[Vector], Vector], dtype: Any
) -> Vector:
    """Return a function of the decision values of all SVMs, without biases, for each row."""
    values, rows = np.empty(X.shape[0]), max(1, _MEMBER_VALUES // model.n_blocks)
    for start in range(0, X.shape[0], rows):
        some = slice(start, start + rows)
        members, _ = kernel_product(
            model.kernel, X[some], model.support, model.coef[0], groups=model.offsets, dtype=dtype
        )
        values[some] = together(members)
    return values
