"""The head of the page: the problem, the progress, and faults."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from dcsvm_dask.diagnostics.dashboard.runs import LEFT, FollowedRun
from dcsvm_dask.diagnostics.dashboard.words import NOTHING, count, estimate_of
from dcsvm_dask.diagnostics.lines import fault
from dcsvm_dask.diagnostics.penalties import penalties
from dcsvm_dask.diagnostics.progress.progress import DONE, RUNNING, Progress
from dcsvm_dask.kernels import parameters_of
from dcsvm_dask.numbers import clock
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import SCORE
from dcsvm_dask.tasks.scores import scores_in

MOST_FAULTS = 8


def no_run(address: str) -> str:
    """Return the text of the page while the scheduler has no run, as HTML."""
    command = f"dcsvm train DATA.zarr --run RUN --scheduler {address}"
    return (
        "<p class='state none'>No run is active.</p>"
        f"<p>This page shows a run from its beginning: <code>{escape(command)}</code></p>"
    )


def head(run: FollowedRun, n_workers: int, now: float) -> str:
    """Return the problem and the progress of a run, as HTML.

    Parameters
    ----------
    run : FollowedRun
    n_workers : int
        Workers of the scheduler.
    now : float
        Seconds since 1970.

    Returns
    -------
    str
        Empty before the run has begun.
    """
    progress = run.progress
    begun, ending = progress.beginning, progress.ending
    if begun is None:
        return ""
    state, message = state_of(progress)
    about = begun.about
    left = progress.left(now)
    facts = [
        ("data", f"{_name(about['data'])}, {count(about['rows'])} rows"),
        ("kernel", _what(about)),
        ("stage", stage_of(progress)),
        ("elapsed", clock(progress.elapsed(now))),
        (
            "left",
            NOTHING if left is None else f"about {clock(left)}, to {_time_of_day(now + left)}",
        ),
        ("workers", count(n_workers)),
        *last_figures(progress),
        *figures_of_sets(progress),
    ]
    if ending is not None:
        facts = [fact for fact in facts if fact[0] != "left"]
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts
    )
    kind = "on" if ending is None else ending.state
    return (
        f"<p class='state {escape(kind)}'>{escape(state)}<span>{escape(run.url)}</span></p>"
        + (f"<p class='message'>{escape(message)}</p>" if message else "")
        + f"<dl>{cells}</dl>"
    )


def state_of(progress: Progress) -> tuple[str, str]:
    """Return the state of a run in a few words, and the message of its end."""
    ending = progress.ending
    if ending is None:
        return "Running", ""
    if ending.state == "complete":
        model = "the exact model is reached" if ending.converged else "an early model is reached"
        return f"Complete: {model}", ending.message
    return {LEFT: "Its process has left"}.get(
        ending.state, ending.state.capitalize()
    ), ending.message


def stage_of(progress: Progress) -> str:
    """Return the present stage, and how much of it is done."""
    for stage in progress.stages.values():
        if stage.state == RUNNING:
            if stage.n_blocks and stage.kind.of_blocks and stage.solved:
                return f"{stage.name}, {count(stage.solved)} of {count(stage.n_blocks)} blocks"
            if stage.solves_sets:
                return stage.name
            tasks = f", {stage.tasks_done} of {stage.tasks} tasks" if stage.tasks > 1 else ""
            return stage.name + tasks
    done = [stage.name for stage in progress.stages.values() if stage.state == DONE]
    return done[-1] if done else NOTHING


def last_figures(progress: Progress) -> list[tuple[str, str]]:
    """Return the latest figures of the whole problem, and the latest score."""
    measured: Record = {}
    scores: list[tuple[str, float]] = []
    for stage in progress.stages.values():
        if stage.kind.name == SCORE and stage.record:
            scores = scores_in(stage.record)[:1]
        elif stage.state == DONE and stage.kind.measures:
            measured = stage.record
    found = []
    if measured:
        found.append(("support vectors", count(measured.get("support", 0))))
        if "objective_estimate" in measured:
            of = (measured[f"objective_{part}"] for part in ("estimate", "error"))
            found.append(("objective", estimate_of(*of)))
        elif "objective" in measured:
            found.append(("objective", f"{measured['objective']:,.4f}"))
            violation = measured["violation"]
            if progress.is_of_sets and progress.falls and progress.ending is None:
                violation = progress.falls[-1][2]
            found.append(("violation", f"{violation:.2g}"))
    return found + [(name, f"{value:.4f}") for name, value in scores]


def figures_of_sets(progress: Progress) -> list[tuple[str, str]]:
    """Return the number of working sets of a run that is one chain of them, and their speed."""
    if not progress.sets or not progress.is_of_sets:
        return []
    rate = progress.sets_per_second
    speed = "" if rate is None or progress.ending is not None else f", {rate:.3g} a second"
    return [("working sets", count(progress.sets) + speed)]


def _what(about: Record) -> str:
    """Return kernel, C and the task's parameters, or the number of candidates of a search."""
    if "candidates" in about:
        return f"{about['kernel']['name']}, {count(about['candidates'])} candidates"
    own = (f"{name} = {value}" for name, value in penalties(about).items())
    return ", ".join([kernel_of(about["kernel"]), *own])


def kernel_of(kernel: Record) -> str:
    """Return a kernel with those of its parameters that it has."""
    names = parameters_of(kernel["name"])
    return ", ".join([kernel["name"], *(f"{name} = {kernel[name]:g}" for name in names)])


def faults(progress: Progress) -> str:
    """Return the latest faults, the newest first, as HTML."""
    if not progress.faults:
        return "<p class='quiet'>Nothing went wrong so far.</p>"
    newest = progress.faults[::-1][:MOST_FAULTS]
    items = "".join(
        f"<li><time>{_time_of_day(event.time)}</time> {escape(fault(event))}</li>"
        for event in newest
    )
    more = len(progress.faults) - len(newest)
    return f"<ul>{items}</ul>" + (f"<p class='quiet'>and {more} before</p>" if more else "")


def _name(url: str) -> str:
    """Return the last two parts of a data set's place."""
    return "/".join(url.rstrip("/").split("/")[-2:])


def _time_of_day(time: float) -> str:
    return datetime.fromtimestamp(time, tz=UTC).astimezone().strftime("%H:%M:%S")
