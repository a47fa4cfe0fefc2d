"""The parameters in the header of a run."""

from __future__ import annotations

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.registry import options_of
from dcsvm_dask.methods.search.graph import METHOD, Search
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.runtime.announcer import Message
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.storage.run import RunFolder


def begin_message(run: RunFolder, executor: Executor, workers: int, memory: int | None) -> Message:
    """Return the message that a process begins to carry a run.

    Parameters
    ----------
    run : RunFolder
    executor : Executor
    workers : int
        Tasks that may run at a time.
    memory : int or None
        Bytes that each worker may use; None: no limit.

    Returns
    -------
    dict
    """
    settings, goals, shape = (run.header[key] for key in ("settings", "goals", "shape"))
    # A search has the kernel and C of a middle candidate here.
    shown = ("C", "fit_intercept", "clusters", "block_cap", "seed")
    return {
        "kind": "begin",
        "where": executor.description,
        "workers": workers,
        "memory": memory,
        "dashboard": executor.dashboard,
        "about": {
            "data": run.header["data"]["url"],
            "rows": shape["n_rows"],
            "kernel": settings["kernel"],
            **{key: settings[key] for key in shown},
            **{key: settings[key] for key in ("task", "task_options") if key in settings},
            **goals,
            **({"candidates": _candidates(run)} if settings.get("method") == METHOD else {}),
        },
    }


def _candidates(run: RunFolder) -> int:
    """Return the number of candidates of a search."""
    settings = run.header["settings"]
    return len(Search(**settings["options"]).candidates(settings["kernel"]["name"]))


def read_header(run: RunFolder) -> tuple[Settings, Goals, Shape]:
    """Return the settings, goals and shape of a run.

    Raises
    ------
    InputError
        If its run.json is damaged.
    """
    try:
        goals, shape = Goals(**run.header["goals"]), Shape.of(run.header["shape"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{run.place}: run.json is damaged: {error}") from error
    sizes = (shape.n_rows, shape.n_variables, shape.n_bytes, *shape.class_rows)
    whole = (goals.stop_at, goals.max_rounds, *sizes)
    if any(type(value) is not int for value in whole) or any(
        type(value) is not bool for value in (shape.holdout, goals.committee)
    ):
        raise InputError(f"{run.place}: run.json is damaged: {goals}, {shape}")
    settings = Settings.from_json(run.header["settings"])
    options_of(run.header["settings"])  # raises if they cannot be read
    return settings, goals, shape


def method_of(run: RunFolder) -> str:
    """Return the name of a run's method."""
    return str(run.header["settings"].get("method", DEFAULT_METHOD))
