"""A plan as a table and in a line."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.methods.stage_plan import StagePlan
from dcsvm_dask.numbers import counted, duration, megabytes


def outline(plan: Plan, workers: int, threads: int = 1, beside: float | None = None) -> str:
    """Return a plan as a table of text, with estimated times.

    Parameters
    ----------
    plan : Plan
    workers : int
        Tasks that run at a time.
    threads : int, default 1
        Threads of a task that runs while no other does.
    beside : float, optional
        Seconds of the command before and after the training; None: they are not known.

    Returns
    -------
    str
    """
    seconds = plan.seconds(workers, threads)
    start = "beside the start of the workers"
    if beside is not None:
        start = f"{duration(seconds)} to train, {duration(beside)} to start and to report"
    most = plan.most_helping(threads)
    lines = [
        (
            f"{'stage':<12} {'tasks':>6} {'largest task':>13} {'kernel values':>14} {'writes':>11} "
            f"{'time':>8} {'workers':>8}  layers"
        )
    ]
    lines += [
        f"{stage.stage.name:<12} {stage.stage.n_nodes:>6} {megabytes(stage.task_bytes):>13} "
        f"{stage.kernel_values:>14.3g} {megabytes(stage.written_bytes):>11} "
        f"{duration(plan.stage_seconds(stage, workers, threads)):>8} "
        f"{plan.helping(stage, threads):>8}  {_layers(stage)}"
        + (f"; about {stage.times} times" if stage.times > 1 else "")
        for stage in plan.stages
    ]
    lines += [
        (
            f"memory: a worker needs about {megabytes(plan.worker_bytes)} and at most "
            f"{megabytes(plan.most_bytes())} (a task of {plan.largest().stage.name}), beside "
            "rows that it keeps where there is room"
        ),
        (
            f"time: about {duration(seconds + (beside or 0.0))} on {counted(workers, 'worker')} "
            f"({start}), for about {plan.kernel_values:.2g} kernel values; the number of rounds is "
            "known only from the run"
        ),
        (
            f"workers: more than {most} save no time, which is then about "
            f"{duration(plan.seconds(most, threads))}; the column is for each stage"
        ),
        f"disk: about {megabytes(plan.disk_bytes)} for the run folder at its most, before packing",
    ]
    return "\n".join(lines)


def in_brief(planned: dict[str, Any]) -> str:
    """Return the estimates of a plan, given as JSON values, in one line."""
    return (
        f"about {duration(planned['seconds'])} on {counted(planned['workers'], 'worker')} of about "
        f"{megabytes(planned['worker_bytes'])}, {planned['kernel_values']:.2g} kernel values"
    )


def _layers(stage: StagePlan) -> str:
    return " > ".join(
        layer.name + (f" x {len(layer.nodes)}" if len(layer.nodes) > 1 else "")
        for layer in stage.stage.working_layers
    )
