"""Ingest of a source into a data set."""

from __future__ import annotations

import contextlib
import os
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dcsvm_dask.data.about_source import about_source
from dcsvm_dask.data.commit import commit, delete_other_attempts, refuse_others
from dcsvm_dask.data.first_pass import FirstPass, Scanned
from dcsvm_dask.data.form import Form, choose_form, test_codes
from dcsvm_dask.data.ingest_parameters import check_parameters, given_weights, label_of, table_of
from dcsvm_dask.data.learn_columns import learn_columns
from dcsvm_dask.data.made_with import made_with
from dcsvm_dask.data.scale_choice import usual_scale
from dcsvm_dask.data.scan import Report
from dcsvm_dask.data.sources import resolve_sources
from dcsvm_dask.data.split import Split
from dcsvm_dask.data.write import write_part
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.masking import masked
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.readers.lines import by_line
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.scaling import LEARNED
from dcsvm_dask.readers.table import NotPlainError
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.tasks import OneClass, Quantile


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
    check_parameters(scale, test, test_fraction, seed, chunk_rows, rows, drop, train_rows)
    table = table_of(task, positive, decimal)
    place = Location.of(out, writable=True)
    refuse_others(place, overwrite)
    choices = Choices.of(columns, one_hot, ordinal, missing, dates, decimal, missing_words)
    given = given_weights(weights, missing)
    split = Split(test_fraction, shuffle, seed, train_rows)
    resolve = partial(
        resolve_sources,
        source,
        test,
        own_test=test_fraction is None,
        label=label_of(label, target),
        header=header,
        encoding=encoding,
        drop=list(drop),
        data=data,
        learn=partial(
            learn_columns, rows=rows, split=split, weights=given, table=table, positive=positive
        ),
    )
    train_source, test_source = resolve(choices=choices)
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
    report_line = partial(_report, lock, report)
    about = _about(made_with(words, given), of_run, task)
    with contextlib.ExitStack() as stack:
        stack.callback(place.delete_if_empty)
        stack.enter_context(lock)
        refuse_others(place, overwrite)
        try:
            found = stack.enter_context(asked.scanned(train_source, test_source, report_line))
        except NotPlainError:
            sources = resolve(choices=replace(choices, not_plain=True))
            found = stack.enter_context(asked.scanned(*sources, report_line))
        form = _form(found, task, sparse, chunk_rows, report_line)
        with _attempt(lock, place) as staged:
            parts, of_source = _write_parts(staged, found, form, positive, header, report_line)
            for text in of_source["warnings"]:
                warnings.warn(DcsvmWarning(text), stacklevel=2)
            commit(lock, place, staged, form, parts, {**of_source, **about})
    return DataSet.open(place)


@contextlib.contextmanager
def _attempt(lock: FolderLock, place: Location) -> Iterator[RecordedPlace]:
    """Yield a place for new parts; delete it after an error, and afterwards all other parts."""
    name = f"parts-{uuid.uuid4().hex[:12]}"
    staged = RecordedPlace.at(place / name)
    try:
        yield staged
    except BaseException:
        staged.delete()
        raise
    lock.check()
    delete_other_attempts(place, name)


def _report(lock: FolderLock, report: Report | None, line: str) -> None:
    """Report a line about the progress, without passwords; raise where the lock is lost."""
    lock.check_heartbeat()
    if report is not None:
        report(masked(line))


def _about(made: dict[str, Any], of_run: str | None, task: str) -> dict[str, Any]:
    """Return what the data set keeps of the call."""
    return {
        "made_with": made,
        **({} if of_run is None else {"of_run": of_run}),
        # The usual one of targets is regression.
        **({"task": task} if task == Quantile.name else {}),
    }


def _own_weights(source: Any) -> Weights | None:
    """Return the weights that a data set as the source has, if any."""
    own = getattr(source, "weights", None)
    return None if own is None else Weights.of(own)


def _form(
    found: Scanned, task: str, sparse: bool | None, chunk_rows: int | None, report: Report
) -> Form:
    """Return the form in which rows are stored, and report why they are scaled as they are."""
    form = choose_form(found.train, found.test, found.classes, found.statistics, sparse, chunk_rows)
    if form.scaling_reason:
        kind = "none" if form.scaling is None else form.scaling.kind
        report(f"scaling {kind}: {form.scaling_reason}")
    return replace(form, one_class=task == OneClass.name)


def _write_parts(
    staged: RecordedPlace,
    found: Scanned,
    form: Form,
    positive: Sequence[Label] | None,
    header: bool | None,
    report: Report,
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Write the training part and the test part, if there is one.

    Returns
    -------
    parts : dict
        The entry of each part.
    about : dict
        What the data set keeps of its source.
    """
    train, codes, loss = found.train, None, RoundingLoss()
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
    return parts, about_source(found, form, loss, parts, positive, header)


def _write(place: RecordedPlace, scan: Any, *how: Any) -> dict[str, Any]:
    """Write a part; a scan with a method `write_part` writes itself."""
    elsewhere = getattr(scan, "write_part", None)
    entry: dict[str, Any] = (
        write_part(place, scan, *how) if elsewhere is None else elsewhere(place, *how)
    )
    return entry
