"""Decision values of a model: exact, early, naive, by a vote or as a committee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, block_diagonal_product, kernel_product
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import DECAY_DEVIATION, ORDER_FROM, bound_of, deviation

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

# Decision values of single SVMs that are in memory at a time (128 MiB).
_MEMBER_VALUES = 1 << 24


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
