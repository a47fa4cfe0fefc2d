"""Classes of which `easy` has too many for its time: they may be real targets."""

from __future__ import annotations

from dcsvm_dask.api.easy_search import FOLDS
from dcsvm_dask.data.doubtful import may_be_targets
from dcsvm_dask.errors import InputError
from dcsvm_dask.numbers import duration
from dcsvm_dask.storage.dataset import DataSet

FOLD_SECONDS, TRAINED_SECONDS = 0.15e-3, 0.4e-3
"""Seconds of a core for an SVM of a few rows, in a fold of a search and in a run."""


def pairs_of(data: DataSet) -> int:
    """Return the number of pairs of classes that have training rows."""
    present = sum(count > 0 for count in data.counts)
    return present * (present - 1) // 2


def least_seconds(data: DataSet) -> float:
    """Return what one candidate and the training take at least, whatever their rows."""
    return pairs_of(data) * (FOLDS * FOLD_SECONDS + TRAINED_SECONDS)


def check_learnable(data: DataSet, seconds: float) -> None:
    """Refuse numbers that are real targets rather than classes, where they cost the time limit.

    Classes are refused where most of them would have one training row, or where their SVMs do not
    fit the time limit.

    Parameters
    ----------
    data : DataSet
        The training rows.
    seconds : float
        The time limit.

    Raises
    ------
    InputError
        If they are such numbers.
    """
    if data.targets is not None or not may_be_targets(data.classes, data.counts):
        return
    present = sum(count > 0 for count in data.counts)
    if 2 * present <= data.n_rows and least_seconds(data) <= seconds:
        return
    raise InputError(
        f"{data.url}: the labels of the {data.n_rows:,} training rows are {present:,} different "
        "numbers, most of them in few rows: for real targets give --task regression (in Python "
        "task='regression'); where each number is a class, use `dcsvm ingest` and `dcsvm train`, "
        f"which solve an SVM for each of the {pairs_of(data):,} pairs"
    )


def classes_note(data: DataSet, seconds: float) -> str | None:
    """Return that the classes are too many for the time limit, in a sentence; None: they are not.

    Parameters
    ----------
    data : DataSet
        The training rows.
    seconds : float
        The time limit.
    """
    if data.targets is not None or (least := least_seconds(data)) <= seconds:
        return None
    return (
        f"warning: the classes have {pairs_of(data):,} pairs, an SVM each: one candidate and the "
        f"training take about {duration(least)} at least, beyond --minutes"
    )
