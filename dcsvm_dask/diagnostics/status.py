"""The status of a run, read from its folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dcsvm_dask.diagnostics.sets import of_sets
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.choice import reached_model
from dcsvm_dask.methods.doubtful import doubtful_model_warnings
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.methods.registry import MADE, kind_of, options_of
from dcsvm_dask.runtime.plan_file import PLAN
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import MODEL, SCORE, StageId
from dcsvm_dask.storage.state import read_state

# Seconds without a node at work that still belong to a stage; the scheduler needs less.
LONGEST_PAUSE = 5.0
# Nodes that compute f from scratch.
FROM_SCRATCH = ("recompute-", "close-")


def status(
    run: RunFolder,
    nodes: dict[str, dict[str, Record]] | None = None,
    damaged: Callable[[InputError], None] | None = None,
) -> dict[str, Any]:
    """Return the state and the figures of a run.

    Parameters
    ----------
    run : RunFolder
    nodes : dict, optional
        The result of `read_nodes`, to avoid reading it again.
    damaged : callable, optional
        Called with the `InputError` of a damaged plan, which is then left out; by default it is
        raised.

    Returns
    -------
    dict
        ``state`` (running, interrupted, complete, failed), ``message``, ``converged``, ``stage``
        (the last one reached), ``model`` (the stage that holds the best model), ``lowered`` (the
        options of sizes that were lowered for want of memory; empty if none), ``method``,
        ``approximates`` (whether the method ends in another model than the exact one), ``level``,
        ``objective`` and ``gap`` (of the whole problem; estimates at a level), ``violation``,
        ``n_support``, ``variables``, ``start_seconds`` (compiling and starting workers) and
        ``run_seconds`` (from then to the end) of the process that completed the run, None if none
        has, ``kernel_values``, ``check_kernel_values`` (of the last f from scratch),
        ``ns_per_kernel_value`` (processor time), ``inner`` (the inner solver), ``fallbacks`` (by
        stage, the working sets that it did not finish, so that SMO went on; only those above 0),
        ``sets`` (of parallel decomposition; see `dcsvm_dask.diagnostics.sets.of_sets`),
        ``floor_ratio`` (kernel values without those of the check, over variables x support
        vectors), ``seconds`` (by phase), ``stage_seconds`` (by stage), ``peak_bytes`` (by worker),
        ``tasks`` (by stage and worker), ``plan`` (estimated and actual memory of a worker, time of
        the run, kernel values and, by stage, bytes written; None where no plan was kept),
        ``warnings`` (signs that the model will not predict well), ``stages`` (the records of the
        commits).

    Raises
    ------
    InputError
        If a commit, the state or, without `damaged`, the plan is damaged.
    """
    nodes = read_nodes(run) if nodes is None else nodes
    commits = {stage: found["commit"] for stage, found in nodes.items() if "commit" in found}
    order = sorted(commits, key=lambda stage: _order(stage, commits[stage]))
    left = state_now(run)
    reached = [stage for stage in order if not kind_of(stage).judges]
    stage = left["stage"] if left["stage"] in commits else (reached[-1] if reached else None)
    last = {} if stage is None else commits[stage]
    work, stage_seconds = _work(nodes, str(last.get("source", stage))), _stage_seconds(nodes)
    variables = commits.get(ARRANGE, {}).get("variables", 0)
    n_support = last.get("support", last.get("n_support"))
    peaks = _peaks(nodes)
    actual = {
        "worker_bytes": max(peaks.values(), default=None),
        "seconds": left.get("run_seconds"),
        "kernel_values": work["kernel_values"],
    }
    written = {
        stage: sum(r["written_bytes"] for r in found.values()) for stage, found in nodes.items()
    }
    try:
        plan = read_plan(run, actual, written)
    except InputError as error:
        if damaged is None:
            raise
        damaged(error)
        plan = None
    return {
        "run": run.place.url,
        "state": left["state"],
        "message": left["message"],
        "converged": bool(left["converged"]),
        "stage": stage,
        "model": reached_model(run),
        "lowered": str(run.header.get("lowered", "")),
        **_method(run.header["settings"]),
        "level": _level(order),
        "objective": last.get("objective_estimate", last.get("objective")),
        "gap": last.get("gap", last.get("gap_estimate")),
        "violation": last.get("violation"),
        "n_support": n_support,
        "variables": variables,
        "start_seconds": left.get("start_seconds"),
        "run_seconds": left.get("run_seconds"),
        **work,
        "inner": run.header["settings"].get("inner", "auto"),
        "sets": of_sets([commits[stage] for stage in order]),
        "fallbacks": fallbacks_of(nodes),
        "floor_ratio": _floor_ratio(work, variables, n_support),
        "seconds": _by_phase(stage_seconds),
        "stage_seconds": stage_seconds,
        "peak_bytes": peaks,
        "plan": plan,
        "tasks": _tasks(nodes),
        "warnings": doubts(run, commits),
        "stages": {stage: commits[stage] for stage in order},
    }


def _floor_ratio(work: dict[str, Any], variables: int, n_support: int | None) -> float | None:
    """Return kernel values, without those of the check, over variables x support vectors."""
    if not variables or not n_support:
        return None
    return float((work["kernel_values"] - work["check_kernel_values"]) / (variables * n_support))


def doubts(run: RunFolder, commits: dict[str, Record]) -> list[str]:
    """Return the signs that the model which a run has reached will not predict well.

    Parameters
    ----------
    run : RunFolder
    commits : dict
        The records of the commits, by stage.
    """
    stage, header = reached_model(run), run.header
    settings = header["settings"]
    if stage not in commits or settings.get("method") in MADE:
        return []
    whole = not options_of(settings)[1].approximates
    single = len(header.get("shape", {}).get("class_rows", ())) <= 2
    variables = commits.get(ARRANGE, {}).get("variables", 0) if whole and single else 0
    score = commits.get(StageId.about(SCORE, stage), {})
    return doubtful_model_warnings(settings, commits[stage], score, variables)


def state_now(run: RunFolder) -> Record:
    """Return the present state of a run; a run whose process is gone is interrupted.

    Returns
    -------
    dict
        ``state`` (running, interrupted, complete, failed), ``message``, ``converged``, ``stage``
        and the other values that `write_state` wrote.
    """
    left = {"state": "running", "message": "", "converged": False, "stage": "", **read_state(run)}
    if left["state"] == "running" and read_owner(run.place) is None:
        return {**left, "state": "interrupted", "message": "the process that ran it is gone"}
    return left


def _method(settings: dict[str, Any]) -> dict[str, Any]:
    name, options = options_of(settings)
    return {"method": name, "approximates": options.approximates}


def _order(stage: str, commit: Record) -> tuple[bool, float]:
    """Return a key that sorts stages by the time of their commit.

    The probe and the arrangement come first.
    """
    return not kind_of(stage).prepares, commit["began"] + commit["seconds"]


def read_plan(
    run: RunFolder, actual: dict[str, Any], written: dict[str, int]
) -> dict[str, Any] | None:
    """Return the plan of a run with each estimate beside the actual value.

    Parameters
    ----------
    run : RunFolder
    actual : dict
        Actual ``worker_bytes``, ``seconds`` and ``kernel_values``.
    written : dict of str to int
        Bytes written by stage.

    Returns
    -------
    dict or None
        ``planned`` and ``actual`` for each key of `actual`, and for each stage under
        ``written_bytes``; None where no plan was kept.

    Raises
    ------
    InputError
        If the plan is damaged.
    """
    try:
        planned = (run.place / PLAN).read_json(sealed=True)
    except FileNotFoundError:
        return None
    except InputError as error:
        raise InputError(f"{error}; delete it, the run continues without it") from error
    stages = {
        stage: {"planned": of["written_bytes"], "actual": written[stage]}
        for stage, of in planned["stages"].items()
        if stage in written
    }
    both = {key: {"planned": planned[key], "actual": actual[key]} for key in actual}
    return {**both, "written_bytes": stages}


def phase_of(stage: str) -> str:
    """Return the phase of a stage: its name, without the number except for levels."""
    found = StageId(stage)
    return stage if found.is_level else found.kind


def read_nodes(run: RunFolder) -> dict[str, dict[str, Record]]:
    """Return the records of all committed nodes by stage and name, with ``written_bytes``."""
    return {
        stage: {
            name: node.record | {"written_bytes": sum(size for size, _ in node.keys.values())}
            for name, node in found.items()
        }
        for stage, found in run.read_all().items()
    }


def _level(order: list[str]) -> int | None:
    stages = [StageId(stage) for stage in order]
    if any(stage.kind == MODEL for stage in stages):
        return 0
    return min((stage.height for stage in stages if stage.is_level), default=None)


def _work(nodes: dict[str, dict[str, Record]], last: str) -> dict[str, Any]:
    values, check, busy = 0, 0, 0.0
    for stage, name, record in _working(nodes):
        values += record["kernel_values"]
        busy += record["cpu_seconds"]
        if stage == last and name.startswith(FROM_SCRATCH):
            check += record["kernel_values"]
    return {
        "kernel_values": values,
        "check_kernel_values": check,
        "ns_per_kernel_value": 1e9 * busy / values if values else None,
    }


def fallbacks_of(nodes: dict[str, dict[str, Record]]) -> dict[str, int]:
    """Return the stages with working sets that the inner solver did not finish, and how many.

    Parameters
    ----------
    nodes : dict
        The result of `read_nodes`.

    Returns
    -------
    dict of str to int
        See `Solution.fallbacks`. Older records do not count them.
    """
    found: dict[str, int] = defaultdict(int)
    for stage, _, record in _working(nodes):
        if record.get("fallbacks"):
            found[stage] += record["fallbacks"]
    return dict(found)


def _working(nodes: dict[str, dict[str, Record]]) -> Iterator[tuple[str, str, Record]]:
    """Return the records of tasks that computed kernel values, with their stages and names."""
    for stage, found in nodes.items():
        for name, record in found.items():
            # These commits only add up what their slots counted.
            sums = name == "commit" and kind_of(stage).of_blocks
            if "kernel_values" in record and not sums:
                yield stage, name, record


def _stage_seconds(nodes: dict[str, dict[str, Record]]) -> dict[str, float]:
    """Return the seconds of each stage, without the time between a kill and a resume."""
    return {stage: wall_seconds(found.values()) for stage, found in nodes.items()}


def wall_seconds(records: Iterable[Record]) -> float:
    """Return the wall time that some nodes took, in seconds, with the short pauses between them."""
    spans = sorted((record["began"], record["began"] + record["seconds"]) for record in records)
    taken, until = 0.0, spans[0][0] if spans else 0.0
    for begin, end in spans:
        pause = max(0.0, begin - until)
        taken += max(0.0, end - max(begin, until)) + (pause if pause <= LONGEST_PAUSE else 0.0)
        until = max(until, end)
    return taken


def _by_phase(stage_seconds: dict[str, float]) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for stage, seconds in stage_seconds.items():
        total[phase_of(stage)] += seconds
    return dict(total)


def _peaks(nodes: dict[str, dict[str, Record]]) -> dict[str, int]:
    peaks: dict[str, int] = defaultdict(int)
    for found in nodes.values():
        for record in found.values():
            peaks[record["host"]] = max(peaks[record["host"]], record["peak_bytes"])
    return dict(peaks)


def _tasks(nodes: dict[str, dict[str, Record]]) -> dict[str, dict[str, int]]:
    tasks: dict[str, dict[str, int]] = {}
    for stage, found in nodes.items():
        by_host: dict[str, int] = defaultdict(int)
        for record in found.values():
            by_host[record["host"]] += 1
        tasks[stage] = dict(by_host)
    return tasks
