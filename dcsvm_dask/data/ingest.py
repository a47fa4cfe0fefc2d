"""Ingest of a source into a data set."""

from __future__ import annotations

import contextlib
import os
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from dcsvm_dask.data.commit import commit, delete_other_attempts, refuse_others
from dcsvm_dask.data.doubtful import doubts_of
from dcsvm_dask.data.first_pass import FirstPass, Scanned
from dcsvm_dask.data.form import Form, choose_form, test_codes
from dcsvm_dask.data.learn_columns import learn_columns
from dcsvm_dask.data.made_with import made_with
from dcsvm_dask.data.scale_choice import usual_scale
from dcsvm_dask.data.scan import Report, Table
from dcsvm_dask.data.sources import resolve_sources
from dcsvm_dask.data.split import Split
from dcsvm_dask.data.write import write_part
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.masking import masked
from dcsvm_dask.readers.labels import Label, LabelTable, named_label
from dcsvm_dask.readers.lines import by_line
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.scaling import LEARNED, SCALES
from dcsvm_dask.readers.signs import SignTable
from dcsvm_dask.readers.source import Reading
from dcsvm_dask.readers.survey import RANGED
from dcsvm_dask.readers.table import NotPlainError
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.tasks import DATA_TASKS, TASKS, OneClass, Quantile

SHOWN = 20
"""Number of features whose ranges are stored where there are more than `RANGED`."""


def ingest(
    source: Any,
    out: str | os.PathLike[str] | Location,
    *,
    test: Any = None,
    label: str | int | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    drop: Sequence[str] = (),
    columns: Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    ordinal: Mapping[str, Sequence[str]] | None = None,
    missing: str = "refuse",
    dates: str | None = None,
    decimal: str = ".",
    missing_words: Sequence[str] | None = None,
    data: str | None = None,
    target: str | None = None,
    scale: str | None = None,
    test_fraction: float | None = None,
    shuffle: bool = False,
    train_rows: int | None = None,
    seed: int = 0,
    positive: Sequence[Label] | None = None,
    task: str = "classification",
    chunk_rows: int | None = None,
    sparse: bool | None = None,
    rows: tuple[int | None, int | None] = (None, None),
    weights: Any = None,
    overwrite: bool = False,
    report: Report | None = None,
    of_run: str | None = None,
) -> DataSet:
    """Ingest a source and return the training part of the data set; see `dcsvm_dask.ingest`.

    Parameters
    ----------
    source, test
        As in `dcsvm_dask.ingest`, or an object with ``open_part``, such as a Dask collection, whose
        rows are not in this process.
    out : str, path or Location
        The data set to write.
    columns, one_hot, ordinal, missing, dates, decimal, missing_words, data, target
        As in `dcsvm_dask.ingest`.
    label, header, encoding, drop, scale, test_fraction, shuffle, train_rows, seed, positive, task
        As in `dcsvm_dask.ingest`.
    chunk_rows, sparse, rows, weights, overwrite
        As in `dcsvm_dask.ingest`.
    report : callable, optional
        Called with lines about the progress.
    of_run : str, optional
        Name of the run that the data set belongs to.

    Returns
    -------
    DataSet

    Raises
    ------
    InputError
        If a parameter or the source is not valid, or the place has other content.
    """
    words = dict(locals())  # only the parameters are local variables here
    scale = usual_scale(source, scale)
    _check_parameters(scale, test, test_fraction, seed, chunk_rows, rows, drop, train_rows)
    table = _table(task, positive, decimal)
    place = Location.of(out, writable=True)
    refuse_others(place, overwrite)
    choices = Choices.of(columns, one_hot, ordinal, missing, dates, decimal, missing_words)
    given = _given_weights(weights, missing)
    split = Split(test_fraction, shuffle, seed, train_rows)
    resolve = partial(
        resolve_sources,
        source,
        test,
        own_test=test_fraction is None,
        label=_label(label, target),
        header=header,
        encoding=encoding,
        drop=list(drop),
        data=data,
        learn=partial(
            learn_columns, rows=rows, split=split, weights=given, table=table, positive=positive
        ),
    )
    train_source, test_source = resolve(choices=choices)
    made = made_with(words, given)
    asked = FirstPass(
        rows=rows,
        table=table,
        decimal=decimal,
        scale=scale,
        split=split,
        weights=_own_weights(train_source) if given is None else given,
        positive=positive,
    )
    lock = FolderLock(place, "data set")

    def report_line(line: str) -> None:
        lock.check_heartbeat()
        if report is not None:
            report(masked(line))

    attempt = f"parts-{uuid.uuid4().hex[:12]}"
    with contextlib.ExitStack() as stack:
        stack.callback(place.delete_if_empty)
        stack.enter_context(lock)
        refuse_others(place, overwrite)
        try:
            found = stack.enter_context(asked.scanned(train_source, test_source, report_line))
        except NotPlainError:
            sources = resolve(choices=replace(choices, not_plain=True))
            found = stack.enter_context(asked.scanned(*sources, report_line))
        form = choose_form(
            found.train, found.test, found.classes, found.statistics, sparse, chunk_rows
        )
        form = replace(form, one_class=task == OneClass.name)
        if form.scaling_reason:
            kind = "none" if form.scaling is None else form.scaling.kind
            report_line(f"scaling {kind}: {form.scaling_reason}")
        staged, loss = RecordedPlace.at(place / attempt), RoundingLoss()
        try:
            parts = _write_parts(staged, found, form, loss, positive, report_line)
            about = {
                **_about_source(found, form, loss, parts, positive, header),
                "made_with": made,
                **({} if of_run is None else {"of_run": of_run}),
                # The usual one of targets is regression.
                **({"task": task} if task == Quantile.name else {}),
            }
            for text in about["warnings"]:
                warnings.warn(DcsvmWarning(text), stacklevel=2)
            commit(lock, place, staged, form, parts, about)
        except BaseException:
            staged.delete()
            raise
        lock.check()
        delete_other_attempts(place, attempt)
    return DataSet.open(place)


def _given_weights(weights: Any, missing: str) -> Weights | None:
    """Return the weights that were given, if any."""
    if weights is None:
        return None
    found = Weights.of(weights)
    if missing == "drop":
        raise InputError(
            "missing: drop changes which row is which, and weights are by row; fill in"
        )
    return found


def _own_weights(source: Any) -> Weights | None:
    """Return the weights that a data set as the source has, if any."""
    own = getattr(source, "weights", None)
    return None if own is None else Weights.of(own)


def _label(label: str | int | None, target: str | None) -> str | int | None:
    """Return what names the labels: a column, or the target of an archive."""
    if target is None:
        return label
    if label is not None:
        raise InputError("give label or target, not both: both name the labels")
    return target


def _write_parts(
    staged: RecordedPlace,
    found: Scanned,
    form: Form,
    loss: RoundingLoss,
    positive: Sequence[Label] | None,
    report: Report,
) -> dict[str, dict[str, Any]]:
    """Write the training part and the test part, if there is one; return their entries."""
    train, codes = found.train, None
    if found.has_classes:
        codes = np.array(found.codes, np.int32)
    learned = form.scaling is not None and form.scaling.kind in LEARNED
    parts = {
        "train": _write(
            staged / "train",
            train,
            found.order,
            codes,
            form,
            report,
            train.weights(found.order),
            None if learned else loss,
        )
    }
    if found.has_classes and sum(1 for count in parts["train"]["counts"] if count) < 2:
        raise InputError(f"{train.source.name}: the split leaves one class to train on")
    if found.test_source is not None or found.test_order is not None:
        if found.has_classes:
            with by_line(found.test_source):
                codes = test_codes(found.test.y, train.y, found.code_of, positive)
        parts["test"] = _write(staged / "test", found.test, found.test_order, codes, form, report)
    return parts


def _about_source(
    found: Scanned,
    form: Form,
    loss: RoundingLoss,
    parts: dict[str, dict[str, Any]],
    positive: Sequence[Label] | None,
    header: bool | None,
) -> dict[str, Any]:
    """Return the properties of the source and the doubts about it, as JSON values."""
    source, y, has_classes = found.train.source, found.train.y, found.has_classes
    held_out = has_classes and found.test_order is not None
    about = {
        "positive": None,
        "feature_names": source.feature_names,
        "columns": _columns(source),
        "reading": {
            **asdict(getattr(source, "reading", Reading("source"))),
            "header": header,
            "first_feature": form.first_feature,
            **_target_form(y),
        },
        "ranges": found.survey.ranges(
            form.n_features if form.n_features <= RANGED else SHOWN, form.shift(found.train)
        ),
        "dropped": {
            "weight_0": found.train.left_out,
            "train_rows": _left_over(found.train.n_rows, found.order, found.test_order),
            **_with_missing_cells(source, found.test_source),
        },
        "warnings": doubts_of(
            source,
            found.survey,
            loss,
            labels=y.labels if has_classes else (),
            classes=form.classes if has_classes else (),
            counts=parts["train"]["counts"] if has_classes else (),
            held_out=parts["test"]["counts"] if held_out else None,
            sample=found.sample,
            codes=found.codes,
            y=y,
            to_end=found.to_end,
        ),
        # A data set as the source has properties of its own source.
        **getattr(source, "about", {}),
    }
    if positive is not None:
        about["positive"] = [named_label(one, y.labels, any_case=True) for one in positive]
    return about


def _columns(source: Any) -> dict[str, Any] | None:
    """Return how the columns of a source were made numbers, as JSON values."""
    made = getattr(source, "preparation", None)
    return None if made is None else dict(made.to_json())


def _table(task: Any, positive: Sequence[Label] | None, decimal: str) -> Callable[[str], Table]:
    """Return what reads y of a task, given the name of a source."""
    if not isinstance(task, str) or task not in DATA_TASKS:
        raise InputError(f"task must be one of {', '.join(DATA_TASKS)}, got {task!r:.80}")
    kind = TASKS[task]
    if kind.has_classes:
        return LabelTable
    if issubclass(kind, OneClass):
        return partial(SignTable, positive=positive)
    if positive is not None:
        raise InputError(f"positive: makes classes, but {task} learns numbers; leave it out")
    # Rows in Dask, which are asked for by this class, have no other decimals.
    return TargetTable if decimal == "." else partial(TargetTable, decimal=decimal)


def _target_form(y: Table) -> dict[str, str]:
    """Return the form of targets, where they are written with a sign."""
    form = y.form if isinstance(y, TargetTable) else None
    return {"target_form": form} if form else {}


def _write(place: RecordedPlace, scan: Any, *how: Any) -> dict[str, Any]:
    """Write a part; a scan with a method `write_part` writes itself."""
    elsewhere = getattr(scan, "write_part", None)
    entry: dict[str, Any] = (
        write_part(place, scan, *how) if elsewhere is None else elsewhere(place, *how)
    )
    return entry


def _with_missing_cells(*sources: Any) -> dict[str, int]:
    """Return how many rows were left out for missing cells, if any were."""
    count = sum(getattr(source, "n_left_out", 0) for source in sources)
    return {"missing": count} if count else {}


def _left_over(n: int, order: Any, test_order: Any) -> int:
    """Return the number of rows in neither part."""
    if order is None:
        return 0
    return int(n - len(order) - (0 if test_order is None else len(test_order)))


def _check_parameters(
    scale: str,
    test: Any,
    test_fraction: float | None,
    seed: int,
    chunk_rows: int | None,
    rows: tuple[int | None, int | None],
    drop: Sequence[str],
    train_rows: int | None,
) -> None:
    """Raise an error if a parameter is not valid, whatever the source."""
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    if test is not None and test_fraction is not None:
        raise InputError("give test rows or a test fraction, not both")
    if test_fraction is not None and not 0 < test_fraction < 1:
        raise InputError(f"test_fraction must be between 0 and 1, got {test_fraction}")
    if not _is_whole(seed, 0):
        raise InputError(f"seed must be a whole number of at least 0, got {seed}")
    if chunk_rows is not None and not _is_whole(chunk_rows, 1):
        raise InputError(f"chunk_rows must be a whole number of at least 1, got {chunk_rows}")
    start, stop = rows
    if (start or 0) < 0 or (stop is not None and stop <= (start or 0)):
        raise InputError(f"rows must be START:STOP with 0 <= START < STOP, got {start}:{stop}")
    if isinstance(drop, str) or not all(isinstance(name, str) for name in drop):
        raise InputError(f"drop must be a list of names of columns, got {drop!r:.80}")
    if train_rows is not None and not _is_whole(train_rows, 1):
        raise InputError(f"train_rows must be a whole number of at least 1, got {train_rows}")


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and int(value) >= least
