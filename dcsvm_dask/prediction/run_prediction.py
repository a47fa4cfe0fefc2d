"""Streamed prediction with a run's committed models: files, arrays, evaluation."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.methods.choice import Choice
from dcsvm_dask.methods.doubtful import missed, missed_classes_warning
from dcsvm_dask.methods.predict import Decided, cached_model, decide_given
from dcsvm_dask.methods.run_data import settings_of
from dcsvm_dask.models.schemes import scheme_for
from dcsvm_dask.models.scores import Scores
from dcsvm_dask.prediction.batches import (
    Batch,
    SentRows,
    StoredRows,
    open_batches,
)
from dcsvm_dask.prediction.repeated_rows import RepeatedRows
from dcsvm_dask.prediction.trained_on import trained_on_note
from dcsvm_dask.readers.kept import KeptColumns, open_kept
from dcsvm_dask.readers.outside import outside_line
from dcsvm_dask.readers.preparing.cell_counts import cells_line
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.calls import results
from dcsvm_dask.runtime.compilation import announced, warm_up
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.opening import check_reach
from dcsvm_dask.runtime.pool import open_pool
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import is_data_set
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.predictions import open_predictions
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import EPOCHS, StageId
from dcsvm_dask.tasks import output_names

REPORT_SECONDS = 5.0


def decision_values(
    run: RunFolder,
    X: Any,
    choice: Choice,
    execution: Execution,
    encoding: str | None = None,
    *,
    sort_quantiles: bool = False,
) -> NDArray[np.float64]:
    """Return the decision values of raw rows in memory, or of a data set or file.

    Parameters
    ----------
    run : RunFolder
    X : array, sparse matrix, data frame, str or path
        See `open_batches`.
    choice : Choice
        The model.
    execution : Execution
    encoding : str, optional
        Encoding of text without a byte order mark.
    sort_quantiles : bool, default False
        Whether the predictions of several quantiles are sorted in each row.

    Returns
    -------
    ndarray, float64
        Shape (n,); for many classes and several quantiles shape (n, n_svms).
    """
    outputs = _outputs(run, sort_quantiles)
    rows = open_batches(X, Preparation.read(run), labelled=False, encoding=encoding)
    with closing(decided(run, rows, choice, execution, Announcer(run.place.url, []))) as found:
        values = [_sorted(block.values, sort_quantiles) for block, _ in found]
    _warn_of_cells(rows, sum(map(len, values)))
    for note in _notes(rows):
        warnings.warn(DcsvmWarning(note), stacklevel=3)
    return np.concatenate(values) if values else np.zeros((0, len(outputs)) if outputs else 0)


def predict_file(
    run: RunFolder,
    data: Any,
    out: Any,
    choice: Choice,
    execution: Execution,
    announcer: Announcer,
    encoding: str | None = None,
    *,
    overwrite: bool = False,
    sort_quantiles: bool = False,
    keep: Sequence[str] = (),
) -> dict[str, Any]:
    """Write labels and decision values of rows, or predicted targets; see `open_predictions`.

    Parameters
    ----------
    run : RunFolder
    data : str, path, DataSet, data frame, array or sparse matrix
        See `open_batches`.
    out : str, path or Location
    choice : Choice
        The model.
    execution : Execution
    announcer : Announcer
    encoding : str, optional
        Encoding of text without a byte order mark.
    overwrite : bool, default False
        Whether existing predictions are replaced.
    sort_quantiles : bool, default False
        Whether the predictions of several quantiles are sorted in each row.
    keep : sequence of str
        Columns of the table that stand in front of the predictions.

    Returns
    -------
    dict
        ``out``, ``mode``, ``level``, ``n_rows``, ``n_support``, ``ms_per_row``, ``cells`` (see
        `CellCounts`), ``outside`` (see `OutsideCounts.to_json`), ``notes``: sentences about the
        rows.
    """
    prepared = Preparation.read(run)
    outputs = _outputs(run, sort_quantiles)
    kept = _kept(data, keep, prepared, encoding) if keep else None
    writer = open_predictions(out, prepared.labels, outputs, overwrite=overwrite, kept=kept)
    rows = open_batches(data, prepared, labelled=False, encoding=encoding)
    _check_out(rows, writer.target)
    n, seconds = 0, 0.0
    scheme = None
    if prepared.labels:
        scheme = scheme_for(len(prepared.labels), settings_of(run).multiclass)
    with writer, closing(decided(run, rows, choice, execution, announcer)) as found:
        for block, _ in found:
            if scheme is None:
                writer.append(None, _sorted(block.values, sort_quantiles))
            else:
                codes = scheme.classes_of(block.values).astype(np.int32)
                writer.append(codes, scheme.values_of_classes(block.values))
            n += len(block.values)
            seconds += block.seconds
    about = _about(run, choice, n, seconds)
    return {
        "out": writer.target.url,
        **about,
        "cells": rows.cells.to_json(),
        "outside": rows.outside,
        "notes": _notes(rows),
    }


def evaluate(
    run: RunFolder,
    data: Any,
    choice: Choice,
    execution: Execution,
    announcer: Announcer,
    encoding: str | None = None,
    *,
    sort_quantiles: bool = False,
) -> dict[str, Any]:
    """Compare predictions with the labels or the targets of rows.

    Parameters
    ----------
    run : RunFolder
    data : str, path, DataSet, data frame or tuple (X, y)
        See `open_batches`.
    choice : Choice
        The model.
    execution : Execution
    announcer : Announcer
    encoding : str, optional
        Encoding of text without a byte order mark.
    sort_quantiles : bool, default False
        Whether the predictions of several quantiles are sorted in each row.

    Returns
    -------
    dict
        The result of `Scores.result`, or the scores of the task, with ``mode``, ``level``,
        ``n_support`` and ``ms_per_row``: the time of one core for a row, without reading rows or
        loading the model; ``notes`` as in `predict_file`, and of `RepeatedRows`. Of classes also
        ``warnings``, see `missed_classes_warning`.
    """
    prepared, outputs = Preparation.read(run), _outputs(run, sort_quantiles)
    rows = open_batches(data, prepared, labelled=True, encoding=encoding)
    with announced(announcer, doing=True):
        repeated = RepeatedRows(run)
    if not prepared.has_classes:
        of_targets = _evaluate_targets(
            run, rows, choice, execution, announcer, sort_quantiles, repeated
        )
        _warn_of_cells(rows, of_targets["n_rows"])
        of_targets["notes"] = _notes_of_scored(run, data, rows, of_targets["n_rows"], repeated)
        return {**of_targets, "sorted": sort_quantiles} if outputs else of_targets
    scores = Scores(prepared.classes)
    scheme = scheme_for(len(prepared.classes), settings_of(run).multiclass)
    seconds = 0.0
    with closing(decided(run, rows, choice, execution, announcer)) as found:
        for block, batch in found:
            assert batch.y is not None
            classes = scheme.classes_of(block.values).astype(np.int32)
            decision = scheme.values_of_classes(block.values)
            scores.update(batch.y, classes, decision if decision.ndim == 1 else None)
            if repeated.compares:
                repeated.update(batch.read())
            seconds += block.seconds
    result = scores.result()
    _warn_of_cells(rows, result["n_rows"])
    confusion = np.array(result["confusion"]["matrix"])
    lost = missed(prepared.classes, np.diag(confusion).tolist(), confusion.sum(axis=1).tolist())
    doubts = [missed_classes_warning(lost, "evaluated rows")] if lost else []
    if prepared.positive is not None and isinstance(rows, SentRows) and not confusion[1].sum():
        named = ", ".join(map(str, prepared.positive))
        doubts.append(
            f"no evaluated row has a label that counts as positive ({named}), and every other "
            "label is negative: write labels as the training data have them"
        )
    about = _about(run, choice, result["n_rows"], seconds)
    notes = _notes_of_scored(run, data, rows, result["n_rows"], repeated)
    return {**result, "warnings": doubts, "notes": notes, **about}


def _evaluate_targets(
    run: RunFolder,
    rows: StoredRows | SentRows,
    choice: Choice,
    execution: Execution,
    announcer: Announcer,
    sort_quantiles: bool,
    repeated: RepeatedRows,
) -> dict[str, Any]:
    """Compare predicted with true targets, which are in memory: 16 bytes a row and more."""
    values, targets, seconds = list[Any](), list[Any](), 0.0
    with closing(decided(run, rows, choice, execution, announcer)) as found:
        for block, batch in found:
            assert batch.y is not None
            values.append(_sorted(block.values, sort_quantiles))
            targets.append(batch.y)
            seconds += block.seconds
            if repeated.compares:
                repeated.update(batch.read())
    if not sum(map(len, targets)):
        raise InputError(f"{rows.name}: has no rows")
    predicted, true = np.concatenate(values), np.concatenate(targets)
    scores = settings_of(run).make_task().scores(predicted, true)
    return {**scores, "n_rows": len(true), **_about(run, choice, len(true), seconds)}


def _kept(
    data: Any, names: Sequence[str], prepared: Preparation, encoding: str | None
) -> KeptColumns:
    """Return the columns of a table that are copied; they are read beside its features."""
    if isinstance(data, DataSet) or (
        isinstance(data, str | os.PathLike | Location) and is_data_set(data)
    ):
        raise InputError("keep: a data set has features alone; give the table that it was made of")
    made = prepared.columns
    return open_kept(
        data.url if isinstance(data, Location) else data,
        names,
        reading=prepared.reading,
        known=prepared.feature_names if made is None else made.inputs if made.has_names else None,
        decimal="." if made is None else made.decimal,
        encoding=encoding,
    )


def _outputs(run: RunFolder, sort_quantiles: bool) -> list[str]:
    """Return the names of the predictions of a row; raise an error if there are none to sort."""
    outputs = output_names(settings_of(run).make_task())
    if sort_quantiles and not outputs:
        raise InputError(
            f"sort-quantiles: {run.place} has not several quantiles, which could be sorted; leave "
            "it out"
        )
    return outputs


def _sorted(values: NDArray[np.float64], ascending: bool) -> NDArray[np.float64]:
    """Return predictions, ascending in each row where it is asked for.

    Rearranged quantiles are never farther from the true ones (Chernozhukov, Fernandez-Val,
    Galichon, Econometrica 78, 2010).
    """
    return np.sort(values, axis=1) if ascending else values


def decided(
    run: RunFolder,
    rows: StoredRows | SentRows,
    choice: Choice,
    execution: Execution,
    announcer: Announcer,
) -> Generator[tuple[Decided, Batch]]:
    """Yield the decision values of all rows, batch by batch in order.

    Parameters
    ----------
    run : RunFolder
    rows : StoredRows or SentRows
    choice : Choice
        The model.
    execution : Execution
    announcer : Announcer

    Yields
    ------
    decided : Decided
    batch : Batch
    """
    if execution.workers or execution.remote is not None or execution.file is not None:
        stored = [rows.name] if isinstance(rows, StoredRows) else []
        check_reach(execution, run.place.url, *stored)
    # Load the model here first: a damaged one is one error, not one in each of many tasks.
    with announced(announcer, doing=True):
        model = cached_model(choice)
        # Compile, or load compiled code, before the time of rows is taken: what one row needs,
        # and what rows in doubt do.
        if model.features is None:
            warm_up(["prediction" if choice.mode == "exact" else "early_prediction"])
        decide_given(choice, model.any_row())
    announcer.say(
        f"{choice.mode} prediction by {choice.stage}, {size_of(_size(run, choice))}"
        + _shortfall(run, choice)
    )
    calls = ((batch.call(choice), batch) for batch in rows.batches())
    seen, reported = 0, time.perf_counter()
    with open_pool(execution, announcer, f"predict_{choice.mode}") as pool, announced(announcer):
        for found, batch in results(pool, calls):
            seen += batch.n_rows
            if time.perf_counter() - reported > REPORT_SECONDS:
                reported = time.perf_counter()
                announcer.say(f"{seen} rows" + (f" of {rows.n_rows}" if rows.n_rows else ""))
            yield found, batch


def _shortfall(run: RunFolder, choice: Choice) -> str:
    """Return a note if the exact model has not reached the run's tolerance, or epochs are left."""
    if StageId(choice.stage).kind == EPOCHS:
        done = run.node(choice.stage, "commit").record["epochs"]
        return f"; NOT finished: {done:.3g} of {settings_of(run).options['epochs']} epochs"
    if choice.mode != "exact":
        return ""
    node = run.node(choice.stage, "commit")
    violation = node.record.get("violation")
    if violation is None:  # an approximation
        return ""
    if not isinstance(violation, int | float):
        raise InputError(f"{node.place}: damaged: its violation is {violation!r:.80}")
    tol = run.header["goals"]["tol"]
    return f"; NOT converged: violation {violation:.2g}, tol {tol:g}" if violation > tol else ""


def _warn_of_cells(rows: StoredRows | SentRows, n_rows: int) -> None:
    """Warn the caller of `Run.predict` or the like of cells that the training rows are unlike."""
    unknown = {**rows.cells.to_json(), "filled": {}}
    for line in (cells_line(unknown), outside_line(rows.outside, n_rows)):
        if line is not None:
            warnings.warn(DcsvmWarning(f"{rows.name}: {line}"), stacklevel=4)


def _notes(rows: StoredRows | SentRows) -> list[str]:
    """Return what users should know of rows that were decided, a sentence each."""
    return [*([] if rows.fewer_features is None else [rows.fewer_features]), *rows.doubts]


def _notes_of_scored(
    run: RunFolder, data: Any, rows: StoredRows | SentRows, n_rows: int, repeated: RepeatedRows
) -> list[str]:
    """Return `_notes`, and whether many rows are training rows unless `trained_on_note` says so."""
    place = os.fspath(data) if isinstance(data, str | os.PathLike) else None
    note = None
    if place is None or trained_on_note(run, place, n_rows) is None:
        note = repeated.note(rows.name)
    return [*_notes(rows), *([] if note is None else [note])]


def _about(run: RunFolder, choice: Choice, n_rows: int, seconds: float) -> dict[str, Any]:
    return {
        "mode": choice.mode,
        "level": choice.level,
        "n_rows": n_rows,
        **_size(run, choice),
        "ms_per_row": 1e3 * seconds / n_rows if n_rows else 0.0,
    }


def _size(run: RunFolder, choice: Choice) -> dict[str, Any]:
    """Return ``n_support`` of a model, and ``n_weights`` where it is a weight of each feature."""
    weights = run.node(choice.stage, "commit").record.get("outputs")
    more = {} if weights is None else {"n_weights": weights}
    return {"n_support": cached_model(choice).n_support, **more}


def size_of(found: dict[str, Any]) -> str:
    """Return the size of a model in words, by what a prediction or evaluation says of it."""
    if "n_weights" in found:
        return f"weights of {found['n_weights']:,} features"
    return f"{found['n_support']:,} support vectors"


def _check_out(rows: StoredRows | SentRows, target: Location) -> None:
    """Raise an error if the output is also the input."""
    if target.url == Location.of(rows.name).url:
        raise InputError(f"out: {target} is the input of the prediction; give another name")
