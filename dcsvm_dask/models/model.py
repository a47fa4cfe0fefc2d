"""A trained machine in memory, and its decision values: exact, early and naive."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import Partition
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kd_order, kernel_product
from dcsvm_dask.kernels.bounds import CONFIDENCE, dot_error
from dcsvm_dask.kernels.rows import squared_norms

Vector = NDArray[np.float64]

MODES = ("exact", "early", "naive")

# Standard deviation of the error of a float32 kernel value of rbf and laplacian, at most.
DECAY_DEVIATION = 2.0**-18

# Fewer support vectors cost less than the order of the rows would save.
ORDER_FROM = 4096

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
    """

    kernel: Kernel
    support: Rows
    coef: Vector
    offsets: NDArray[np.int64]
    bias: Vector
    partition: Partition | None = None
    block_of_label: NDArray[np.int64] | None = None

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.coef)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.support.shape[1])

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.bias)

    @property
    def is_sparse(self) -> bool:
        """Whether the support vectors are CSR."""
        return is_sparse(self.support)

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
        elif self.partition is None and self.n_blocks != 1:
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
    """Return decision values in one of the three modes.

    Parameters
    ----------
    model : Model
        Of the whole problem for "exact", of a level for "early" and "naive".
    X : Rows, shape (n, n_features)
        Scaled as the rows of training were.
    mode : {"exact", "early", "naive"}
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
    if mode == "early":
        return decide_early(model, X, dtype=dtype)
    if (mode == "exact") != (model.partition is None):
        raise InputError(f"{mode} prediction does not fit to this model")
    return decide_whole(model, X, dtype=dtype)


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
    if model.n_support == 0:
        return np.full(X.shape[0], b, dtype=np.float64)
    if not model.kernel.is_shift_invariant or model.n_support < ORDER_FROM or is_sparse(X):
        return _product(model, X, slice(None), b, dtype)
    order = kd_order(X)
    values = np.empty(X.shape[0])
    values[order] = _product(model, X[order], slice(None), b, dtype)
    return values


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
    for block, b in enumerate(model.bias):
        members = order[borders[block + 1] : borders[block + 2]]
        if len(members):
            part = slice(int(model.offsets[block]), int(model.offsets[block + 1]))
            values[members] = _product(model, X[members], part, float(b), dtype)
    return values


def _product(model: Model, X: Rows, part: slice, b: float, dtype: type) -> Vector:
    """Return the decision values of one machine, their signs as in float64."""
    support, coef = model.support[part], model.coef[part]
    if coef.size == 0:
        return np.full(X.shape[0], b)
    budget = FAR_PAIRS[np.dtype(dtype)] if coef.size >= ORDER_FROM else 0.0
    values, _ = kernel_product(model.kernel, X, support, coef, dtype=dtype, budget=budget)
    values += b
    if dtype == np.float32:
        doubtful = np.flatnonzero(np.abs(values) <= _doubt(model.kernel, X, support, coef))
        if len(doubtful):
            values[doubtful] = _product(model, X[doubtful], part, b, np.float64)
    return values


def _doubt(kernel: Kernel, X: Rows, support: Rows, coef: Vector) -> float:
    """Return what rounding to float32 may change a decision value by; see `kernel_product`."""
    if kernel.is_shift_invariant:
        each: Vector | float = DECAY_DEVIATION
    else:
        radius = float(np.sqrt(squared_norms(X).max(initial=0.0)))
        norms = np.sqrt(squared_norms(support))
        each = dot_error(kernel, np.float32, X.shape[1], radius, norms)
    return CONFIDENCE * float(np.linalg.norm(each * coef)) + FAR_PAIRS[np.dtype(np.float32)]
