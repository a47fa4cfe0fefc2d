"""Ingest of a source into a data set."""

from __future__ import annotations

import contextlib
import os
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.data.commit import commit, delete_other_attempts, refuse_others
from dcsvm_dask.data.doubtful import doubts_of
from dcsvm_dask.data.form import Form, choose_form, test_codes
from dcsvm_dask.data.learn_columns import learn_columns
from dcsvm_dask.data.made_with import made_with
from dcsvm_dask.data.row_sample import RowSample
from dcsvm_dask.data.scale_choice import usual_scale
from dcsvm_dask.data.scan import Report, Scan, Table
from dcsvm_dask.data.sources import resolve_sources
from dcsvm_dask.data.split import Split, classes_of
from dcsvm_dask.data.write import write_part
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.masking import masked
from dcsvm_dask.readers.labels import Label, LabelTable, choose_classes, named_label
from dcsvm_dask.readers.lines import by_line
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.scaling import LEARNED, SCALES
from dcsvm_dask.readers.signs import SignTable
from dcsvm_dask.readers.source import Reading
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.survey import RANGED, Survey
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


@dataclass(frozen=True)
class _Scanned:
    """What the first pass has found."""

    train: Any
    """The scan of the training part, a `Scan` or what a source with rows elsewhere has instead."""
    test: Any
    """The scan of the test part, which is that of the training part where that is split."""
    order: NDArray[np.int64] | None
    """The training rows; None: all, as they lie."""
    test_order: NDArray[np.int64] | None
    """Rows that a test fraction holds out; None: there is no test fraction."""
    code_of: dict[Label, int]
    """The class of each label; empty of targets."""
    survey: Survey
    sample: RowSample | None
    has_classes: bool

    @property
    def test_source(self) -> Any:
        """The source of the test part, if it has one of its own."""
        return None if self.test is self.train else self.test.source

    @property
    def codes(self) -> list[int] | None:
        """The class of each label of the training part; None of targets."""
        return [self.code_of[label] for label in self.train.y.labels] if self.has_classes else None


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
    _check_parameters(scale, test, test_fraction, seed, chunk_rows, rows)
    table = _table(task, positive, decimal)
    targets = table is not LabelTable
    if isinstance(drop, str) or not all(isinstance(name, str) for name in drop):
        raise InputError(f"drop must be a list of names of columns, got {drop!r:.80}")
    if train_rows is not None and not _is_whole(train_rows, 1):
        raise InputError(f"train_rows must be a whole number of at least 1, got {train_rows}")
    place = Location.of(out, writable=True)
    refuse_others(place, overwrite)
    choices = Choices.of(columns, one_hot, ordinal, missing, dates, decimal, missing_words)
    weighed = None if weights is None else Weights.of(weights)
    if weighed is not None and missing == "drop":
        raise InputError(
            "missing: drop changes which row is which, and weights are by row; fill in"
        )
    if target is not None:
        if label is not None:
            raise InputError("give label or target, not both: both name the labels")
        label = target
    parting = Split(test_fraction, shuffle, seed, train_rows)
    resolve = partial(
        resolve_sources,
        source,
        test,
        own_test=test_fraction is None,
        label=label,
        header=header,
        encoding=encoding,
        drop=list(drop),
        data=data,
        learn=partial(
            learn_columns, rows=rows, split=parting, weights=weighed, table=table, positive=positive
        ),
    )
    train_source, test_source = resolve(choices=choices)
    made = made_with(words, weighed)
    own = getattr(train_source, "weights", None)
    if weighed is None and own is not None:
        weighed = Weights.of(own)

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
        loss = RoundingLoss()
        split = test_fraction is not None or shuffle
        first = partial(
            _first_pass,
            rows=rows,
            table=table,
            copy=split,
            scale=scale,
            weights=weighed,
            report=report_line,
        )
        try:
            train, statistics, survey, sample = first(train_source)
        except NotPlainError:
            train_source, test_source = resolve(choices=replace(choices, not_plain=True))
            train, statistics, survey, sample = first(train_source)
        stack.callback(train.close)
        classes: list[Label] = []
        code_of: dict[Label, int] = {}
        if not targets:
            train.y.check_classes()
            classes, code_of = choose_classes(train.y, positive)
        test_scan = train
        if test_source is not None:
            test_scan = _scan(
                test_source,
                (None, None),
                table=_for_test(table, train.y, decimal),
                copy=False,
                statistics=None,
                report=report_line,
            )
            stack.callback(test_scan.close)
        if isinstance(train.y, SignTable):
            assert isinstance(test_scan.y, SignTable)
            train.y.check_positive(test_scan.y)
        groups = classes_of(train.y, train.y_values(), positive) if parting.chooses else None
        order, test_order = parting.order(train.n_rows, groups)
        if order is not None and scale in LEARNED:
            train.update_statistics(statistics, order)
        form = choose_form(train, test_scan, classes, statistics, sparse, chunk_rows)
        form = replace(form, one_class=task == OneClass.name)
        if form.scaling_reason:
            kind = "none" if form.scaling is None else form.scaling.kind
            report_line(f"scaling {kind}: {form.scaling_reason}")
        found = _Scanned(train, test_scan, order, test_order, code_of, survey, sample, not targets)
        staged = RecordedPlace.at(place / attempt)
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


def _first_pass(
    source: Any, rows: tuple[int | None, int | None], *, copy: bool, scale: str, **how: Any
) -> tuple[Any, ScalingStatistics, Survey, RowSample | None]:
    """Read the training part; return its scan, statistics of its rows, and a sample of them.

    With a split, where rows are copied, the training rows are not known yet, so that statistics are
    computed later.
    """
    statistics, survey = ScalingStatistics(scale, source.name), Survey()
    # Collections are read elsewhere, data sets were looked at; of arrays and svmlight text those
    # are looked at whose rows are sparse, each feature by itself.
    read_here = not hasattr(source, "scan") and not hasattr(source, "about")
    looked_at = read_here and (source.feature_names is not None or source.is_sparse)
    sample = RowSample() if looked_at else None
    train = _scan(
        source,
        rows,
        copy=copy,
        statistics=None if copy else statistics,
        survey=survey,
        **({} if sample is None else {"sample": sample}),
        **how,
    )
    return train, statistics, survey, sample


def _write_parts(
    staged: RecordedPlace,
    found: _Scanned,
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
    found: _Scanned,
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
            y.labels if has_classes else (),
            form.classes if has_classes else (),
            parts["train"]["counts"] if has_classes else (),
            parts["test"]["counts"] if held_out else None,
            found.sample,
            found.codes,
            y,
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


def _for_test(table: Callable[[str], Table], y: Table, decimal: str) -> Callable[[str], Table]:
    """Return what reads y of the test part: targets in the form of the training part."""
    if not isinstance(y, TargetTable):
        return table
    return partial(TargetTable, decimal=decimal, form=y.form or "")


def _target_form(y: Table) -> dict[str, str]:
    """Return the form of targets, where they are written with a sign."""
    form = y.form if isinstance(y, TargetTable) else None
    return {"target_form": form} if form else {}


def _scan(source: Any, rows: tuple[int | None, int | None], **how: Any) -> Any:
    """Scan a source; a source with a method `scan` scans itself."""
    elsewhere = getattr(source, "scan", None)
    return Scan(source, rows, **how) if elsewhere is None else elsewhere(rows, **how)


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
) -> None:
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


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and int(value) >= least
