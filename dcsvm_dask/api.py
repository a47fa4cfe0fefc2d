"""The doors for Python: `ingest`, `train`, `resume`, `open_run`."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import dask
import numba
import numpy as np
import zarr
from threadpoolctl import threadpool_limits

from dcsvm_dask import __version__
from dcsvm_dask.diagnostics.history import history
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.errors import InputError
from dcsvm_dask.graphs.conquer import rounds_done
from dcsvm_dask.graphs.dcsvm import Goals, Shape
from dcsvm_dask.graphs.measured import TYPICAL, Measured
from dcsvm_dask.graphs.plan import Plan
from dcsvm_dask.graphs.plan import plan as make_plan
from dcsvm_dask.pipeline.file import Pipeline, read_pipeline
from dcsvm_dask.pipeline.training import Training, check_goals, shape_of
from dcsvm_dask.runtime.capacity import fit_caps, memory_of_core
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.predictor import Predictor
from dcsvm_dask.runtime.session import (
    available_memory,
    carry_run,
    check_room,
    read_header,
)
from dcsvm_dask.steps.choice import read_state
from dcsvm_dask.steps.probe import probe_rows
from dcsvm_dask.steps.problem import PROBE
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.ingest import ingest
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.preparation import Preparation, keep_preparation
from dcsvm_dask.storage.run import RunFolder, refuse_foreign

Place = str | os.PathLike[str] | Location

__all__ = ["Execution", "Run", "ingest", "open_run", "plan", "resume", "run_pipeline", "train"]


class Run(Predictor):
    """A training's folder: what it has reached, and prediction by what it has committed.

    Get one from `train`, `resume` or `open_run`.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @property
    def url(self) -> str:
        """Where the run lives."""
        return self.folder.place.url

    def status(self) -> dict[str, Any]:
        """Return where the run stands; see `dcsvm_dask.diagnostics.status.status`."""
        return status(self.folder)

    def history(self) -> list[dict[str, Any]]:
        """Return the points that the run has been at; see `dcsvm_dask.diagnostics.history`."""
        return history(self.status())

    def _reporter(self) -> Lines:
        return Lines()

    def __repr__(self) -> str:
        found = self.status()
        return f"<Run {self.url}: {found['state']}, {found['stage'] or 'nothing committed'}>"


def train(
    data: Place,
    run: Place,
    *,
    holdout: Place | None = None,
    execution: Execution | None = None,
    quiet: bool = False,
    **parameters: Any,
) -> Run:
    """Train a kernel SVM by divide and conquer, in a new run folder.

    Parameters
    ----------
    data : str or path
        A data set of two classes, as `ingest` makes it; its train part.
    run : str or path
        A folder or fsspec URL that does not exist yet or is empty.
    holdout : str or path, optional
        A data set on which every model is scored as soon as it is committed.
    execution : Execution, optional
        Where to run: ``Execution(workers=0)`` inside this process, ``Execution(scheduler=...)``
        on a cluster; by default on a local process for every core.
    quiet : bool, default False
        Whether to leave out the line for each commit, on standard error.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian"}, default "rbf"
    gamma, coef0 : float, default 1.0 and 0.0
        Of the kernel, as scikit-learn has them; gamma > 0.
    degree : int, default 3
        Of the polynomial kernel, from 1.
    C : float, default 1.0
        Upper bound > 0 of a dual variable.
    fit_intercept : bool, default False
        Whether there is a bias, and with it the equality y'alpha = 0.
    levels : "auto" or int, default "auto"
        Levels of the tree, 0 to 12; 0: conquer only. "auto": bottom blocks of 1,000 to 2,000 rows,
        at most 6 levels, none up to 12,288 rows, and no more than pay. A number is obeyed.
    k : int, default 8
        Level l has k^l clusters.
    clusters : sequence of int, optional
        Clusters of each level instead, bottom first, falling.
    stop_at : int, default 0
        The level whose early model ends the run; 0: the exact model.
    tol : float, default 1e-3
        Violation > 0 at which the exact model is reached: the largest absolute projected gradient,
        with a bias LIBSVM's m(alpha) - M(alpha).
    seed : int, default 0
        Of every random choice, from 0.
    n_samples_clustering : int, default 1000
        Rows on which clusters are found (m), at least; from 2.
    block_cap : int, optional
        Most rows whose kernel matrix a task holds, from 64; by default 8,192, or less where the
        memory of a worker asks for it.
    level_tol : float, default 1e-2
        Violation > 0 at which a level's blocks are solved.
    max_rounds : int, default 1000
        Most conquer rounds, from 1.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If a parameter or the data cannot be used, a run lives there already, or it does not fit
        memory or disk; nothing is left behind then.
    RunError
        If the run could not be carried to its end; `resume` goes on with it.
    KeyboardInterrupt
        After Ctrl-C; `resume` goes on with it.
    """
    training = Training.of(parameters)
    place = Location.of(run)
    dataset = DataSet.open(data)
    held_out = None if holdout is None else open_holdout(holdout, dataset)
    wanted, goals, shape = training.settle(dataset, holdout=held_out is not None)
    execution = execution or Execution()
    memory = available_memory(execution, place.url, dataset.url)
    settings = fitted(wanted, goals, shape, training, execution, memory)
    header = {
        "settings": settings.to_json(),
        "goals": asdict(goals),
        "shape": asdict(shape),
        "data": {"url": dataset.url, "fingerprint": dataset.fingerprint},
        "holdout": None if held_out is None else held_out.url,
        "versions": versions(),
    }
    check_room(execution, make_plan(settings, goals, shape), place, memory)
    refuse_foreign(place)
    with FolderLock(place) as lock:
        folder = RunFolder.create(place, header)
        keep_preparation(folder, dataset)
        report = None if quiet else Lines()
        if report is not None and settings.block_cap < wanted.block_cap:
            report.say(f"--block-cap {settings.block_cap} fits the workers' memory")
        carry_run(folder, lock, execution, report)
    return Run(folder)


def plan(data: Place, *, execution: Execution | None = None, **parameters: Any) -> Plan:
    """Return what `train` would do with the same data and parameters.

    A sample of the rows is looked at, and kernel values are timed in this process.
    """
    training, dataset = Training.of(parameters), DataSet.open(data)
    settings, goals, shape = training.settle(dataset)
    execution = execution or Execution()
    memory = available_memory(execution, dataset.url)
    settings = fitted(settings, goals, shape, training, execution, memory)
    planned = make_plan(settings, goals, shape)
    if PROBE not in [stage.name for stage in planned.graph()]:
        return planned
    with threadpool_limits(1):  # as on workers
        measured = Measured.of(probe_rows(settings, dataset, dataset.rows))
    measured = replace(measured, process_bytes=TYPICAL.process_bytes)  # this is no worker
    return make_plan(settings, goals, shape, measured)


def fitted(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    training: Training,
    execution: Execution,
    memory: int | None,
) -> Settings:
    """Return settings whose largest tasks fit the memory (bytes) of a worker."""
    room = memory_of_core() if execution.shares_machine else memory
    if room is None:
        return settings
    return fit_caps(settings, goals, shape, room, given=training.block_cap is not None)


def resume(
    run: Place,
    *,
    execution: Execution | None = None,
    tol: float | None = None,
    stop_at: int | None = None,
    max_rounds: int | None = None,
    quiet: bool = False,
) -> Run:
    """Go on with a run from what it has committed; other goals may be given."""
    folder = RunFolder.open(Location.of(run))
    settings, before, shape = read_header(folder)
    goals = Goals(
        tol=before.tol if tol is None else tol,
        stop_at=before.stop_at if stop_at is None else stop_at,
        max_rounds=before.max_rounds if max_rounds is None else max_rounds,
    )
    check_goals(goals, len(settings.clusters), rounds_done(folder))
    try:
        dataset = DataSet.open(folder.header["data"]["url"])
    except InputError as error:
        raise InputError(f"{folder.place}: its data cannot be used: {error}") from error
    if dataset.fingerprint != folder.header["data"]["fingerprint"]:
        raise InputError(
            f"{folder.place}: was begun with other data than {dataset.url} holds now "
            "(the fingerprints differ); train a new run"
        )
    if shape != shape_of(dataset, folder.header.get("holdout") is not None):
        raise InputError(f"{folder.place}: run.json is damaged: {shape} is not that of the data")
    execution = execution or Execution()
    memory = available_memory(execution, folder.place.url, dataset.url)
    check_room(execution, make_plan(settings, goals, shape), folder.place, memory)
    with FolderLock(folder.place) as lock:
        keep_preparation(folder, dataset)
        if goals == before and read_state(folder).get("state") == "complete":
            if not quiet:
                Lines().say(f"{folder.place} is complete already: nothing to do")
            return Run(folder)
        refuse_damage(folder)
        if goals != before:
            folder = folder.with_goals(asdict(goals))
        carry_run(folder, lock, execution, None if quiet else Lines())
    return Run(folder)


def refuse_damage(folder: RunFolder) -> None:
    """Refuse a run whose arrays are not those that were committed.

    Raises
    ------
    InputError
        With the place, and with what to delete so that it is made again.
    """
    for place in folder.damaged():
        again = folder.what_makes_again(place.parent.name, place.name.rsplit(".", 1)[0])
        raise InputError(
            f"{place}: is damaged: its objects are not those that were committed; "
            f"delete {again} and resume to make it again"
        )


def run_pipeline(
    file: str | os.PathLike[str], *, execution: Execution | None = None, quiet: bool = False
) -> Run:
    """Run a pipeline file: take in its data and train, or go on with what was begun.

    Raises
    ------
    InputError
        If the file is not a pipeline, or what lies at its outputs was made otherwise.
    """
    pipeline = read_pipeline(Path(file))
    place = Location.of(pipeline.run)
    out = Location.of(pipeline.data_out)
    known = (out / "dataset.json").exists()
    dataset = DataSet.open(out) if known else ingest(out=out, **pipeline.data)
    held_out = out / "test" if "test" in dataset.parts else None
    if not (place / "run.json").exists():
        return train(
            out,
            place,
            holdout=None if held_out is None else held_out.url,
            execution=execution,
            quiet=quiet,
            **asdict(pipeline.training),
        )
    folder = RunFolder.open(place)
    settings, goals, _ = pipeline.training.settle(dataset)
    # How large blocks and working sets may be was settled by the memory that there was.
    begun = folder.header["settings"]
    settled = ["set_cap"] + (["block_cap"] if pipeline.training.block_cap is None else [])
    if begun != settings.to_json() | {key: begun.get(key) for key in settled}:
        raise InputError(
            f"{place}: was begun with other parameters than {file} has now; "
            "name another run in [output], or delete that folder"
        )
    return resume(place, execution=execution, quiet=quiet, **asdict(goals))


def forget(pipeline: Pipeline) -> None:
    """Delete a pipeline's data set and run, if that is what lies at its outputs."""
    for place, mark in (
        (Location.of(pipeline.run), "run.json"),
        (Location.of(pipeline.data_out), "dataset.json"),
    ):
        if (place / mark).exists():
            place.delete()


def open_run(run: Place) -> Run:
    """Open an existing run for looking at it and for predicting."""
    return Run(RunFolder.open(Location.of(run)))


def open_holdout(holdout: Place, data: DataSet) -> DataSet:
    """Open held-out rows and check that they fit the training data.

    Raises
    ------
    InputError
        If features, classes or scaling differ.
    """
    found = DataSet.open(holdout)
    for what, theirs, ours in (
        ("features", found.n_features, data.n_features),
        ("classes", found.classes, data.classes),
    ):
        if theirs != ours:
            raise InputError(
                f"{found.url}: has {what} {theirs}, the training data {data.url} has {ours}; "
                "ingest both together"
            )
    if not Preparation.of(data).scales_like(found):
        raise InputError(
            f"{found.url}: was scaled otherwise than the training data {data.url}; "
            "ingest both together"
        )
    return found


def versions() -> dict[str, str]:
    """Return the versions that a run records."""
    return {
        "dcsvm_dask": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "dask": dask.__version__,
        "zarr": zarr.__version__,
    }
