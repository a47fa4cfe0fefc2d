"""A trained machine in memory, and its decision values: exact, early, naive, of a committee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from dcsvm_dask.kernels.bounds import CONFIDENCE, dot_error
from dcsvm_dask.kernels.rows import squared_norms
from dcsvm_dask.models.committee import Committee

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

LEVEL_MODES = ("early", "naive", "committee")
MODES = ("exact", *LEVEL_MODES)

VOTES = ("mean", "sign", "committee")

# Standard deviation of the error of a float32 kernel value of a shift-invariant kernel, at most.
DECAY_DEVIATION = 2.0**-18

# Fewer support vectors cost less than the order of the rows would save.
ORDER_FROM = 4096

# Decision values of single machines that are in memory at a time (128 MiB).
_MEMBER_VALUES = 1 << 24

# What may be lost of a decision value by leaving out pairs of rows that are far apart.
FAR_PAIRS = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-9}


@dataclass(frozen=True)
class Model:
    """Support vectors in the order of their blocks.

    Attributes
    ----------
    support : Rows, shape (n_support, n_features)
        The support vectors.
    coef : ndarray, shape (n_support,), float64
        y_i alpha_i.
    offsets : ndarray, shape (n_blocks + 1,), int64
        Borders of the blocks in `support`; one block for the model of the whole problem.
    bias : ndarray, shape (n_blocks,), float64
        The bias of each block's machine.
    partition : Partition or None
        The rule that assigns a row to a block; None for the model of the whole problem.
    block_of_label : ndarray, shape (partition.n_blocks,), int64, or None
        The block that a label of the rule names, -1 where the rule's block had no rows.
    committee : Committee or None
        What makes a committee of a level's machines, or of a bag's, where that was asked for.
    vote : {"mean", "sign", "committee"} or None
        How the machines of a bag decide together: by the mean of their decision values, or of the
        signs of these, or as a committee. None: they are one machine, or a rule chooses between
        them.
    features : FeatureMap or None
        What makes of a row the features that a linear machine decides on; `support` and `kernel`
        are those of that machine.
    """

    kernel: Kernel
    support: Rows
    coef: Vector
    offsets: NDArray[np.int64]
    bias: Vector
    partition: Partition | None = None
    block_of_label: NDArray[np.int64] | None = None
    committee: Committee | None = None
    vote: str | None = None
    features: FeatureMap | None = None

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.coef)

    @property
    def n_features(self) -> int:
        """Number of features of the rows that it decides."""
        return int(self.support.shape[1]) if self.features is None else self.features.n_features

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.bias)

    @property
    def is_sparse(self) -> bool:
        """Whether the support vectors are CSR."""
        return is_sparse(self.support)

    def any_row(self) -> Rows:
        """Return a row that it can decide."""
        if self.features is None:
            return self.support[:1]
        return np.zeros((1, self.n_features), dtype=np.float32)

    def check(self) -> None:
        """Refuse arrays that cannot be a model.

        Raises
        ------
        InputError
            If shapes do not fit to each other or a number is not finite.
        """
        n = self.support.shape[0]
        labels = self.block_of_label
        wrong = None
        if self.coef.shape != (n,):
            wrong = f"{n} support vectors, but coefficients of shape {self.coef.shape}"
        elif self.bias.ndim != 1 or self.offsets.shape != (self.bias.size + 1,):
            wrong = f"offsets of shape {self.offsets.shape} for biases of shape {self.bias.shape}"
        elif self.offsets[0] != 0 or self.offsets[-1] != n or (np.diff(self.offsets) < 0).any():
            wrong = "the borders of its blocks do not ascend from 0 to the number of rows"
        elif not (np.isfinite(self.coef).all() and np.isfinite(self.bias).all()):
            wrong = "a coefficient or a bias is not finite"
        elif (self.partition is None) != (labels is None):
            wrong = "a rule without the blocks that it names"
        elif self.features is not None and self.support.shape[1] != self.features.n_outputs:
            wrong = "weights for other features than its map gives"
        elif self.vote not in (None, *VOTES) or (self.vote and self.partition):
            wrong = f"a vote by {self.vote!r:.40}"
        elif self.vote == "committee" and self.committee is None:
            wrong = "a committee without what calibrates its members"
        elif self.committee is not None and not self.committee.fits(self.n_blocks):
            wrong = f"a committee of other members than its {self.n_blocks} machines"
        elif self.partition is None and self.vote is None and self.n_blocks != 1:
            wrong = f"{self.n_blocks} blocks without a rule that chooses between them"
        elif (
            self.partition is not None
            and labels is not None
            and (
                labels.shape != (self.partition.n_blocks,)
                or labels.min(initial=0) < -1
                or labels.max(initial=-1) >= self.n_blocks
            )
        ):
            wrong = "the rule names blocks that do not exist"
        if wrong is not None:
            raise InputError(f"not a model: {wrong}")

    def compact(self) -> None:
        """Put the support vectors of each block in k-d order, in place.

        Neighbours in that order are neighbours in space, so that a product can skip far pairs.
        Sparse rows and kernels that are not shift-invariant keep their order.
        """
        if self.is_sparse or not self.kernel.is_shift_invariant:
            return
        for start, stop in pairwise(self.offsets.tolist()):
            own = slice(start, stop)
            order = kd_order(self.support[own])
            self.support[own] = self.support[own][order]
            self.coef[own] = self.coef[own][order]


def decide(model: Model, X: Rows, mode: str, *, dtype: type = np.float32) -> Vector:
    """Return decision values in one of the modes.

    Parameters
    ----------
    model : Model
        Of the whole problem for "exact", of a level for the others.
    X : Rows, shape (n, n_features)
        Scaled as the rows of training were.
    mode : {"exact", "early", "naive", "committee"}
    dtype : float32 or float64
        Precision of kernel values; their sums are float64 always. Rows that float32 leaves in
        doubt about their sign are decided again in float64, so that labels do not depend on it.

    Returns
    -------
    ndarray, shape (n,), float64

    Raises
    ------
    InputError
        If X has other features than the model or the mode does not fit to it.
    """
    if X.shape[1] != model.n_features:
        raise InputError(
            f"rows of {X.shape[1]} features; the model was trained on {model.n_features}"
        )
    if model.features is not None:
        return _decide_by_features(model, X, dtype)
    if mode == "early":
        return decide_early(model, X, dtype=dtype)
    if mode == "committee" or model.vote == "committee":
        return decide_by_committee(model, X, dtype=dtype)
    if (mode == "exact") != (model.partition is None):
        raise InputError(f"{mode} prediction does not fit to this model")
    if model.vote is not None:
        return decide_by_vote(model, X, dtype=dtype)
    return decide_whole(model, X, dtype=dtype)


def _decide_by_features(model: Model, X: Rows, dtype: type) -> Vector:
    assert model.features is not None
    values, rows = np.empty(X.shape[0]), max(1, _MEMBER_VALUES // model.features.n_outputs)
    for start in range(0, X.shape[0], rows):
        some = slice(start, start + rows)
        Z = model.features.transform(X[some])
        values[some] = decide_whole(replace(model, features=None), Z, dtype=dtype)
    return values


def decide_whole(model: Model, X: Rows, *, dtype: type = np.float32) -> Vector:
    """Return sum_i coef_i K(x, x_i) + b over all support vectors.

    For the model of the whole problem these are its decision values; for a level's model it is
    the naive sum of all its machines, equation (5) of Hsieh, Si, Dhillon (2014), where a bias has
    no place and is left out.

    Returns
    -------
    ndarray, shape (n,), float64
    """
    b = float(model.bias[0]) if model.partition is None else 0.0
    return _product(model, X, slice(None), b, dtype)


def decide_early(model: Model, X: Rows, *, dtype: type = np.float32) -> Vector:
    """Return the decision values of the machine of each row's own block.

    Equation (6) of Hsieh, Si, Dhillon (2014). A row whose block had no training rows belongs to
    no machine and gets the naive sum of all of them.

    Returns
    -------
    ndarray, shape (n,), float64

    Raises
    ------
    InputError
        If the model is not a level's.
    """
    if model.partition is None or model.block_of_label is None:
        raise InputError("early prediction needs the model of a level; this one has no partition")
    if X.shape[0] == 0:
        return np.zeros(0)
    blocks = model.block_of_label[model.partition.assign(X)]
    order = np.argsort(blocks, kind="stable")
    borders = np.searchsorted(blocks[order], np.arange(-1, model.n_blocks + 1))
    values = np.empty(X.shape[0])
    homeless = order[: borders[1]]
    if len(homeless):
        values[homeless] = decide_whole(model, X[homeless], dtype=dtype)
    small = np.diff(model.offsets) < (ORDER_FROM if dtype == np.float32 else 0)
    for block in np.flatnonzero(~small).tolist():
        members = order[borders[block + 1] : borders[block + 2]]
        if len(members):
            values[members] = _block_product(model, X, members, block, dtype)
    members = order[borders[1] :]
    members = members[small[blocks[members]]]
    if len(members):
        _decide_small_blocks(model, X, members, blocks[members], values)
    return values


def _decide_small_blocks(
    model: Model, X: Rows, members: Index, blocks: Index, values: Vector
) -> None:
    """Put into `values` those of rows by the machines of their blocks, which do not fall."""
    if blocks[0] == blocks[-1]:  # alone, as for a row at a time, a machine is sooner done by itself
        values[members] = _block_product(model, X, members, int(blocks[0]), np.float32)
        return
    borders = np.searchsorted(blocks, np.arange(model.n_blocks + 1))
    sums = block_diagonal_product(
        model.kernel, X, members, borders, model.support, model.offsets, model.coef
    )
    values[members] = found = sums[members] + model.bias[blocks]
    most = _rounding_of_blocks(model, X, members, np.flatnonzero(np.diff(borders)))
    doubtful = np.flatnonzero(np.abs(found) <= most[blocks])
    for block in np.unique(blocks[doubtful]).tolist():
        again = members[doubtful[blocks[doubtful] == block]]
        values[again] = _block_product(model, X, again, block, np.float64)


def _rounding_of_blocks(model: Model, X: Rows, members: Index, some: Index) -> Vector:
    """Return `rounding` of the machines of some blocks, 0 of the others; shape (n_blocks,)."""
    first, sizes = model.offsets[some], np.diff(model.offsets)[some]
    # Columns of these blocks alone: of a few rows, all others would take longer than the product.
    columns = np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)
    each: Any = DECAY_DEVIATION
    if not model.kernel.is_shift_invariant:
        each = _deviation(model.kernel, X[members], model.support[columns])
    squares = (each * model.coef[columns]) ** 2
    found = np.zeros(model.n_blocks)
    found[some] = _rounding(np.bincount(np.repeat(np.arange(len(some)), sizes), squares, len(some)))
    return found


def _block_product(model: Model, X: Rows, members: Index, block: int, dtype: type) -> Vector:
    part = slice(int(model.offsets[block]), int(model.offsets[block + 1]))
    return _product(model, X[members], part, float(model.bias[block]), dtype)


def decide_by_committee(model: Model, X: Rows, *, dtype: type = np.float32) -> Vector:
    """Return the log odds of the Bayesian committee machine of a level's or a bag's machines.

    Returns
    -------
    ndarray, shape (n,), float64

    Raises
    ------
    InputError
        If the model has no committee.
    """
    if model.committee is None:
        raise InputError("committee prediction needs machines that were calibrated")
    return _decide_together(model, X, model.committee.logits, dtype)


def decide_by_vote(model: Model, X: Rows, *, dtype: type = np.float32) -> Vector:
    """Return the mean of the decision values of a bag's machines, or of their signs.

    Returns
    -------
    ndarray, shape (n,), float64
    """

    def vote(members: Vector) -> Vector:
        values = members + model.bias
        return np.asarray((np.sign(values) if model.vote == "sign" else values).mean(axis=1))

    return _decide_together(model, X, vote, dtype)


def _decide_together(
    model: Model, X: Rows, together: Callable[[Vector], Vector], dtype: type
) -> Vector:
    """Return what is made of the decision values of all machines, without biases, of each row."""
    values, rows = np.empty(X.shape[0]), max(1, _MEMBER_VALUES // model.n_blocks)
    for start in range(0, X.shape[0], rows):
        some = slice(start, start + rows)
        members, _ = kernel_product(
            model.kernel, X[some], model.support, model.coef, groups=model.offsets, dtype=dtype
        )
        values[some] = together(members)
    return values


def _product(model: Model, X: Rows, part: slice, b: float, dtype: type) -> Vector:
    """Return the decision values of one machine, their signs as in float64."""
    support, coef = model.support[part], model.coef[part]
    if coef.size == 0:
        return np.full(X.shape[0], b)
    order: slice | Index = slice(None)
    budget = 0.0
    if coef.size >= ORDER_FROM and model.kernel.is_shift_invariant and not is_sparse(X):
        order, budget = kd_order(X), FAR_PAIRS[np.dtype(dtype)]
    values = np.empty(X.shape[0])
    values[order], _ = kernel_product(
        model.kernel, X[order], support, coef, dtype=dtype, budget=budget
    )
    values += b
    if dtype == np.float32:
        doubtful = np.flatnonzero(np.abs(values) <= rounding(model.kernel, X, support, coef))
        if len(doubtful):
            values[doubtful] = _product(model, X[doubtful], part, b, np.float64)
    return values


def rounding(kernel: Kernel, X: Rows, support: Rows, coef: Vector) -> float:
    """Return what rounding to float32 may change a decision value by; see `kernel_product`."""
    return float(_rounding(np.sum((_deviation(kernel, X, support) * coef) ** 2)))


def _deviation(kernel: Kernel, X: Rows, support: Rows) -> Any:
    """Standard deviation of the error of float32 kernel values, of each support vector or all."""
    if kernel.is_shift_invariant:
        return DECAY_DEVIATION
    radius = float(np.sqrt(squared_norms(X).max(initial=0.0)))
    return dot_error(kernel, np.float32, X.shape[1], radius, np.sqrt(squared_norms(support)))


def _rounding(variance: Any) -> Any:
    return CONFIDENCE * np.sqrt(variance) + FAR_PAIRS[np.dtype(np.float32)]
