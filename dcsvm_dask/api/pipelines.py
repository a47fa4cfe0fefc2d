"""`run_pipeline`: data taken in, then one training after the other, each in its own run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from dcsvm_dask.api.or_resuming import in_words
from dcsvm_dask.api.resuming import resume
from dcsvm_dask.api.run import Run
from dcsvm_dask.api.training import train
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.made_with import differing, made_with
from dcsvm_dask.diagnostics.report.tables.trials import trials
from dcsvm_dask.errors import DcsvmError, InputError, RunError
from dcsvm_dask.methods.choice import Choice
from dcsvm_dask.pipeline.file import DATA_KEYS, Pipeline, Planned, read_pipeline
from dcsvm_dask.prediction import run_prediction as predicting
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder


def run_pipeline(
    file: str | os.PathLike[str],
    *,
    changes: Sequence[str] = (),
    execution: Execution | None = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
    begin: Callable[[Planned], None] = lambda _: None,
) -> list[Run]:
    """Run a pipeline file: take in its data, train and test, or go on with what was begun.

    Parameters
    ----------
    file : str or path
    changes : sequence of str
        ``TABLE.KEY=VALUE``, instead of what the file says.
    execution, quiet, report, progress, callbacks
        As `train` has them.
    begin : callable, optional
        Called before each training with its name.

    Returns
    -------
    list of Run
        In the order of the file.

    Raises
    ------
    InputError
        If the file is not a pipeline, or what lies at its outputs was made otherwise; before
        anything is trained.
    RunError
        If a training failed; the others were carried to their end, and the same call goes on.
    """
    pipeline = read_pipeline(Path(file), changes)
    out = Location.of(pipeline.data_out)
    known = (out / "dataset.json").exists()
    dataset = DataSet.open(out) if known else ingest(out=out, **pipeline.data)
    if known:
        _refuse_other_data(dataset, pipeline.data, file)
    if pipeline.modes is not None and "test" not in dataset.parts:
        raise InputError(
            f"{file}: [test] needs rows held out, {dataset.url} has none; give [data] a test or a "
            "test_fraction, and another place in [output]"
        )
    for planned in pipeline.trainings:
        _refuse_other(planned, dataset, file)
    how: dict[str, Any] = {
        "execution": execution,
        "quiet": quiet,
        "report": report,
        "progress": progress,
        "callbacks": callbacks,
    }
    runs, failed = [], list[tuple[str, DcsvmError]]()
    for planned in pipeline.trainings:
        begin(planned)
        try:
            runs.append(_carry(planned, dataset, how))
            if pipeline.modes is not None:
                _test(runs[-1], pipeline.modes, execution or Execution())
        except DcsvmError as error:
            if pipeline.folder is None:
                raise
            failed.append((planned.name, error))
    if failed:
        why = "; ".join(f"{name}: {error}" for name, error in failed)
        raise RunError(f"{len(failed)} of {len(pipeline.trainings)} trainings failed: {why}")
    return runs


def _carry(planned: Planned, dataset: DataSet, how: dict[str, Any]) -> Run:
    """Begin a training, or go on with it."""
    place = Location.of(planned.run)
    if not (place / "run.json").exists():
        held_out = f"{dataset.place}/test" if "test" in dataset.parts else None
        return train(dataset.place, place, holdout=held_out, **how, **planned.training.words())
    return resume(place, **how, **planned.training.goals.to_json())


def _test(run: Run, modes: tuple[str, ...], execution: Execution) -> None:
    """Predict all rows held out, in every mode asked for; what was done before is kept."""

    def measure(choice: Choice) -> dict[str, Any]:
        held_out, nobody = run.folder.header["holdout"], Announcer(run.url, [])
        return predicting.evaluate(run.folder, held_out, choice, execution, nobody)

    trials(run.folder, modes, measure)


def _refuse_other_data(
    dataset: DataSet, data: dict[str, Any], file: str | os.PathLike[str]
) -> None:
    """Refuse a data set that was made otherwise than a pipeline says."""
    usual = {name: one.default for name, one in signature(ingest).parameters.items()}
    weights = Weights.of(data["weights"]) if "weights" in data else None
    asked = made_with(usual | data, weights)
    word = differing(dataset.made_with, {word: asked[word] for word in DATA_KEYS})
    if word is not None:
        raise InputError(
            f"{dataset.place}: was made with another value of {word} than {file} has; "
            "name another data set in [output], or delete that folder"
        )


def _refuse_other(planned: Planned, dataset: DataSet, file: str | os.PathLike[str]) -> None:
    """Refuse a training that is impossible on its data, or a run that was begun otherwise."""
    place = Location.of(planned.run)
    try:
        planned.training.settle(dataset)
    except InputError as error:
        raise InputError(f"{planned.name}: {error}" if planned.name else str(error)) from error
    if not (place / "run.json").exists():
        return
    others = planned.training.differences(RunFolder.open(place).header["settings"], dataset)
    if others:
        changed = in_words(others, as_options=False)
        raise InputError(
            f"{place}: was begun with other parameters than {file} has now ({changed}); "
            "name another run in [output], or delete that folder"
        )


def forget(pipeline: Pipeline) -> None:
    """Delete a pipeline's data set and runs, if that is what lies at its outputs."""
    for place, mark in (
        *((Location.of(planned.run), "run.json") for planned in pipeline.trainings),
        (Location.of(pipeline.data_out), "dataset.json"),
    ):
        if (place / mark).exists():
            place.delete()
