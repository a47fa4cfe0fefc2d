"""`train_or_resume`: one call for jobs that a queue may start again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from dcsvm_dask.api.holdout import open_holdout
from dcsvm_dask.api.ingesting import data_place, ingest, refuse_words
from dcsvm_dask.api.resuming import resume
from dcsvm_dask.api.run import Place, Run
from dcsvm_dask.api.training import execution_on_rows, labels_and_run, task_of_rows, train
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.linear import as_begun
from dcsvm_dask.pipeline.parameters import DEFAULT_INNER, LEVEL_TOL
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder


def train_or_resume(
    data: Any,
    y: Any = None,
    run: Place | None = None,
    *,
    label: str | int | None = None,
    drop: Sequence[str] = (),
    scale: str | None = None,
    positive: Sequence[Label] | None = None,
    holdout: Place | None = None,
    execution: Execution | None = None,
    client: Any = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
    **parameters: Any,
) -> Run:
    """Train where there is no run yet; where there is one, go on with it.

    Parameters
    ----------
    data : str or path, or rows
        A data set, as `ingest` makes it; its train part. Or rows, as `train` takes them: those of
        a run that exists are taken in again, beside it, to see that they are the same.
    y : array or series, shape (n,), optional
        Labels of rows; by default a column of the data frame has them.
    run : str or path
        The folder or fsspec URL of the run, which may exist.
    label, drop, scale, positive, holdout, execution, client, quiet, report, progress, callbacks
        As `train` has them.
    **parameters
        Those of `train`. `tol`, `stop_at`, `max_rounds` and `committee` are goals, which may be
        others than the run was begun with, as in `resume`.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If the run was begun with other data or parameters, with what differs, and where `train` or
        `resume` refuse.
    RunError, KeyboardInterrupt
        As `train` does.
    """
    how: dict[str, Any] = {
        "execution": execution,
        "client": client,
        "quiet": quiet,
        "report": report,
        "progress": progress,
        "callbacks": callbacks,
    }
    y, place = labels_and_run(y, run)
    words: dict[str, Any] = {"label": label, "drop": drop, "scale": scale, "positive": positive}
    if not (place / "run.json").exists():
        return train(data, y, place, holdout=holdout, **words, **how, **parameters)
    training = Training.of(parameters)
    if isinstance(data, str | os.PathLike | Location):
        refuse_words(data, y, words)
        dataset = DataSet.open(data)
    else:
        rows = data if y is None else (data, y)
        execution = execution_on_rows(rows, execution, client)
        words["task"] = task_of_rows(training)
        how |= {"execution": execution, "client": None}
        dataset = _data_of_same_rows(rows, place, execution.remote, words)
    header = RunFolder.open(place).header
    training = as_begun(training, str(header["settings"].get("method")))
    differing = differences(training, dataset, header, holdout)
    if differing:
        raise InputError(
            f"{place}: was begun otherwise ({in_words(differing)}); give what it was begun with, "
            "or name another run"
        )
    return resume(place, data=dataset.url, **how, **training.goals.to_json())


def _data_of_same_rows(rows: Any, run: Location, client: Any, words: dict[str, Any]) -> DataSet:
    """Return the data set of a run, which was made of these rows.

    Raises
    ------
    InputError
        If the run was begun with others.
    """
    # Beside the run, as all workers write there: Dask's rows are taken in where they are.
    again = Location.of(f"{run.url}.{uuid4().hex[:8]}.zarr", writable=True)
    try:
        fingerprint = ingest(rows, again, client=client, **words).fingerprint
    finally:
        again.delete()
    if fingerprint != RunFolder.open(run).header["data"]["fingerprint"]:
        raise InputError(
            f"{run}: was begun with other rows; give those it was begun with, name another run, or "
            f"go on with resume({run.url!r})"
        )
    return DataSet.open(data_place(run))


def differences(
    training: Training, data: DataSet, header: dict[str, Any], holdout: Place | None
) -> dict[str, tuple[Any, Any]]:
    """Return by name what a run has and what is asked for now, where that is not the same."""
    theirs, ours = header["data"], {"url": data.url, "fingerprint": data.fingerprint}
    if theirs["fingerprint"] != ours["fingerprint"]:  # from which other differences follow
        which = "url" if theirs["url"] != ours["url"] else "fingerprint"
        return {"data": (theirs[which], ours[which])}
    found = training.differences(header["settings"], data)
    # These follow from tol, which is a goal: as in a resume, the run keeps them.
    found.pop("alone_tol", None)
    if training.inner == DEFAULT_INNER:  # runs may have begun when SMO was all there was
        found.pop("inner", None)
    if training.level_tol == LEVEL_TOL:
        found.pop("level_tol", None)
    held_out = None if holdout is None else open_holdout(holdout, data).url
    if held_out != header.get("holdout"):
        found["holdout"] = (header.get("holdout"), held_out)
    return found


def in_words(differing: dict[str, tuple[Any, Any]], *, as_options: bool = True) -> str:
    """Return the result of `differences` in a sentence, with names as options of commands."""
    return "; ".join(
        f"{name.replace('_', '-') if as_options else name} {shown(before)}, now {shown(now)}"
        for name, (before, now) in differing.items()
    )


def shown(value: Any) -> str:
    """Return a parameter's value in a sentence."""
    return "none" if value is None or value == [] else str(value)
