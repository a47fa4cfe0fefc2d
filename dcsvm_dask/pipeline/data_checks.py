"""What a training needs of its data set, checked: targets, classes and their weights, rows."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import too_large_message
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.readers.labels import canonical, class_of
from dcsvm_dask.solvers import labels_of_classes
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.tasks import TASKS, NuClassification, OneClass

LEAST_OF_ONE_CLASS = 2
ROUNDING, TINY = 1e-12, 1e-300


def check_kind(data: DataSet, name: str) -> None:
    """Refuse data that were ingested for another kind of task."""
    kind = TASKS[name]
    if data.one_class is not issubclass(kind, OneClass):
        raise InputError(
            f"{data.url}: was ingested with --task {data.task}, but is to be trained with task "
            f"{name}; ingest the source with --task {name}"
        )
    if kind.has_classes is (data.targets is not None):
        theirs, other = "classes", name
        if data.targets is not None:
            theirs, other = "targets", "classification"
        raise InputError(
            f"{data.url}: its rows have {theirs}, but task {name} learns "
            f"{'classes' if kind.has_classes else 'numbers'}; ingest the source with "
            f"--task {other}"
        )


def check_classes(data: DataSet, method: str, *, committee: bool) -> None:
    """Refuse data of one class, and of many where the method has no SVMs for them."""
    if len(data.classes) < 2:
        raise InputError(f"{data.url}: has one class only ({data.classes}); training needs two")
    if len(data.classes) == 2:
        return
    able = METHODS[method].many_classes
    if not able or committee:
        what = "committee" if able else f"method {method}"
        raise InputError(
            f"{data.url}: has {len(data.classes)} classes; {what} is for two. Use method dcsvm "
            "without committees, or ingest the data with --positive LABEL,... to make two "
            "classes of them"
        )


def check_one_class(data: DataSet) -> None:
    """Refuse data of too few rows for a one-class SVM."""
    if data.n_rows < LEAST_OF_ONE_CLASS:
        raise InputError(
            f"{data.url}: a one-class SVM needs at least {LEAST_OF_ONE_CLASS} rows, got "
            f"{data.n_rows}"
        )


def check_varying(data: DataSet) -> None:
    """Refuse rows whose features are all constant: all rows would be one, of any C and gamma.

    Of sets whose ranges are not those of all features nothing is known.
    """
    if not data.ranges or len(data.ranges) < data.n_features:
        return
    if all(low == high for low, high in data.ranges):
        what = "its only feature has" if data.n_features == 1 else "every feature has"
        raise InputError(
            f"{data.url}: {what} the same value in all rows, so that nothing can be learned from "
            "it; look up which columns are features and how numbers are written (--label, --drop, "
            "--columns, --decimal)"
        )


def check_largest(data: DataSet, most: float) -> None:
    """Refuse rows with a feature above the largest size that a method takes.

    Data sets of collections, and those of older versions, do not say which value is the largest;
    tasks find it where they read it.
    """
    if data.largest is None or abs(data.largest[2]) <= most:
        return
    row, feature, value = data.largest
    name = str(feature) if data.feature_names is None else repr(data.feature_names[feature])
    raise InputError(
        f"{data.url}: {too_large_message(name, str(row), value)} (`ingest --scale minmax`, or "
        "standard)"
    )


def check_novelty_labels(data: DataSet) -> None:
    """Refuse rows whose labels cannot score one-class SVMs."""
    labels = np.sign(data.read_y(0, data.n_rows))
    if (labels == 0.0).any() or not (labels > 0.0).any() or not (labels < 0.0).any():
        raise InputError(
            f"{data.url}: one-class SVMs are compared by their AUC, which needs the label +1 or -1 "
            "of every row, and rows of both; train one, or hold out rows that have labels"
        )


def check_nu_of_classes(
    data: DataSet,
    seen: Data,
    task: NuClassification,
    given: str | dict[Any, float] | None,
    multiclass: str,
) -> None:
    """Refuse a nu that some SVM's classes do not allow, with the weights that are `given` to them.

    Parameters
    ----------
    data : DataSet
    seen : DataSet or Data
        Of these the rows that are trained on.
    """
    n_classes = len(data.classes)
    factors = class_weights(given, data.classes, data.counts)
    codes, weights = seen.read_codes(0, seen.n_rows), seen.read_weights(0, seen.n_rows)
    sums = np.bincount(codes, weights, minlength=n_classes).astype(np.float64)
    sums *= np.array(factors or 1.0)
    labels = labels_of_classes(n_classes, multiclass if n_classes > 2 else "ovo")
    sides = np.array([sums @ (labels == side) for side in (1, -1)])
    largest = 2.0 * sides.min(axis=0) / np.maximum(sides.sum(axis=0), TINY)
    least = int(largest.argmin())
    if task.nu <= largest[least] * (1.0 + ROUNDING):
        return
    names = ""
    if n_classes > 2:
        one, other = (
            [data.classes[code] for code in np.flatnonzero(labels[:, least] == side)]
            for side in (1, -1)
        )
        names = f" {one[0]!r} and {repr(other[0]) if len(other) == 1 else 'the rest'}"
    raise InputError(
        f"nu: {task.nu:g} is too large for the classes{names} of {data.url}, whose weights "
        f"are {sides[0, least]:g} and {sides[1, least]:g}; it is at most {largest[least]:.6g}"
    )


def class_weights(
    given: str | dict[Any, float] | None, classes: list[Any], counts: Sequence[int]
) -> tuple[float, ...]:
    """Return the factor of C of each class; empty: all are one.

    Parameters
    ----------
    given : "balanced", dict or None
        "balanced": n / (n_classes n_c) for a class of n_c rows, as scikit-learn has it; or weights
        by label, one where none is given.
    classes : list of labels
    counts : sequence of int
        Rows of each class.

    Raises
    ------
    InputError
        If it is neither, names another label, or a weight is not above 0.
    """
    if given is None:
        return ()
    if given == "balanced":
        return _unless_one([sum(counts) / (len(counts) * max(1, count)) for count in counts])
    wanted = '"balanced", or weights by label'
    check(isinstance(given, dict), "class_weight", given, wanted)
    assert isinstance(given, dict)
    names = {str(label): code for code, label in enumerate(classes)}
    found = [1.0] * len(classes)
    for label, weight in given.items():
        known = ", ".join(names)
        code = names.get(str(label), class_of(canonical(label), classes))
        check(code is not None, "class_weight", label, f"one of the labels {known:.200}")
        assert code is not None
        number = is_a(weight, numbers.Real) and is_finite(weight) and weight > 0
        check(number, "class_weight", weight, f"a positive number for {label}")
        found[code] = float(weight)
    return _unless_one(found)


def _unless_one(factors: list[float]) -> tuple[float, ...]:
    return tuple(factors) if any(factor != 1.0 for factor in factors) else ()


def shape_of(data: Data, holdout: bool, *, classes: bool = True) -> Shape:
    """Return what graphs need to know of a data set, whose labels are classes or other targets."""
    n_bytes = data.rows.nbytes_of(0, data.n_rows)
    many = tuple(map(int, data.counts)) if classes and len(data.counts) > 2 else ()
    rows = data.rows
    return Shape(
        data.n_rows, data.n_distinct, n_bytes, holdout, many, rows.n_features, rows.is_sparse
    )
