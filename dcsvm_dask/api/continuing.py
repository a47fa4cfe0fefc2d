"""Continue a run from its committed stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from dcsvm_dask.api.run import Place, Run
from dcsvm_dask.api.training import reported
from dcsvm_dask.api.warned import warn_of_model
from dcsvm_dask.diagnostics.followers import followers
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.conquer.graph import rounds_done
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.plan import plan as make_plan
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.methods.registry import MADE, options_of
from dcsvm_dask.methods.run_data import seen_by
from dcsvm_dask.methods.search.graph import METHOD
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.pipeline.data_checks import shape_of
from dcsvm_dask.pipeline.goals import check_goals
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.runtime.header import read_header
from dcsvm_dask.runtime.session import available_memory, carry_run, check_room
from dcsvm_dask.runtime.verification import refuse_damage
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.preparation import keep_preparation
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.state import read_state
from dcsvm_dask.tasks import TASKS, WITH_COMMITTEE


def continue_run(
    run: Place,
    execution: Execution,
    wanted: Mapping[str, Any] = MappingProxyType({}),
    *,
    data: Place | None = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Continue a run; see `resume`.

    Parameters
    ----------
    wanted : mapping
        Other goals than it was begun with, by name; None: the same.
    data : str or path, optional
        Where the run's data set lies now.
    """
    follow = followers(callbacks, quiet=quiet, progress=progress)
    folder = RunFolder.open(Location.of(run))
    folder.check_result_version()
    settings, before, shape = read_header(folder)
    if settings.method in MADE:
        source = settings.options.get("run")
        raise InputError(
            f"{folder.place}: holds a {settings.method} model, which cannot be trained further; "
            f"resume the run that it was made of, {source}"
        )
    goals = replace(before, **{key: goal for key, goal in wanted.items() if goal is not None})
    if settings.method == METHOD:
        check_search(folder, before, goals)
    check_goals(goals, len(settings.clusters), rounds_done(folder))
    check_levels(folder, goals, shape)
    method, options = options_of(folder.header["settings"])
    if goals.tol != before.tol and not options.refines:
        raise InputError(
            f"tol: {folder.place} was begun by {method}, which solves once, to tol "
            f"{before.tol:g}; train a new run for another"
        )
    dataset = _data_of(folder, data, settings, shape)
    say = Announcer(folder.place.url, follow).say
    memory = available_memory(execution, folder.place.url, dataset.url, say=say)
    planned = make_plan(settings, goals, shape)
    check_room(execution, planned, folder.place, memory, begun=True)
    with FolderLock(folder.place) as lock:
        folder = folder.owned(lock.ownership)
        keep_preparation(folder, dataset)
        if goals == before and read_state(folder).get("state") == "complete":
            done = f"{folder.place} is complete already: nothing to do"
            Announcer(folder.place.url, follow).say(done)
            if dataset.url != folder.header["data"]["url"]:
                folder = folder.changed(data_url=dataset.url)
            return Run(folder)
        following = reported(folder, follow) if report else follow

        def checked(executor: Executor) -> RunFolder:
            refuse_damage(folder, executor, lock.check_heartbeat)
            if goals == before and dataset.url == folder.header["data"]["url"]:
                return folder
            return folder.changed(goals=goals.to_json(), data_url=dataset.url)

        carry_run(folder, lock, execution, following, checked=checked)
    found = RunFolder.open(folder.place)
    warn_of_model(found)
    return Run(found)


def _data_of(folder: RunFolder, data: Place | None, settings: Settings, shape: Shape) -> DataSet:
    """Return the data set of a run, which may have been moved; refuse other data."""
    try:
        dataset = DataSet.open(folder.header["data"]["url"] if data is None else data)
    except InputError as error:
        raise InputError(
            f"{folder.place}: its data cannot be used: {error}; if they were moved, name their "
            "place (--data DATA)"
        ) from error
    if dataset.fingerprint != folder.header["data"]["fingerprint"]:
        raise InputError(
            f"{folder.place}: was begun with other data than {dataset.url} holds now "
            "(the fingerprints differ); train a new run"
        )
    seen = seen_by(dataset, settings.options, settings.seed)
    classes = TASKS[settings.task].has_classes
    if shape != shape_of(seen, folder.header.get("holdout") is not None, classes=classes):
        raise InputError(f"{folder.place}: run.json is damaged: {shape} is not that of the data")
    return dataset


def check_levels(folder: RunFolder, goals: Goals, shape: Shape) -> None:
    """Refuse goals of levels that a run has not.

    Raises
    ------
    InputError
        If it went on without levels, or has more classes than a committee can tell apart, or
        a task that has none.
    """
    arranged = folder.find(ARRANGE, COMMIT)
    if goals.stop_at and arranged is not None and not arranged.record["parts"]:
        raise InputError(
            f"stop-at: {folder.place} went on without levels, which did not promise to pay; train "
            "a new run with --levels"
        )
    if goals.committee and shape.class_rows:
        raise InputError(f"committee: is for two classes; {folder.place} has more")
    task = folder.header["settings"].get("task", WITH_COMMITTEE[0])
    if goals.committee and task not in WITH_COMMITTEE:
        raise InputError(f"committee: is for classes and regression; {folder.place} is for {task}")


def check_search(folder: RunFolder, before: Goals, goals: Goals) -> None:
    """Refuse goals that mean nothing to a search.

    Raises
    ------
    InputError
        If there are levels to stop at, rounds or committees among them.
    """
    for name in ("stop_at", "max_rounds", "committee"):
        if getattr(goals, name) != getattr(before, name):
            raise InputError(
                f"{name.replace('_', '-')}: {folder.place} is a search, which has no such goal; "
                "leave it out"
            )
