"""`plan`: what `train` would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from threadpoolctl import threadpool_limits

from dcsvm_dask.api.run import Place
from dcsvm_dask.api.sizes import chosen_sizes, fitted, lowered_sizes_note, reading
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.measured import TYPICAL, Measured
from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.methods.plan import plan as make_plan
from dcsvm_dask.methods.probe import probe_rows
from dcsvm_dask.methods.problem import PROBE
from dcsvm_dask.methods.registry import BEGUN
from dcsvm_dask.methods.run_data import seen_by
from dcsvm_dask.pipeline.linear import suited
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.compilation import COMPILING, warm_up
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.opening import check_reach
from dcsvm_dask.runtime.session import check_room
from dcsvm_dask.runtime.workers import Workers, planned_workers
from dcsvm_dask.storage.dataset import DataSet


def plan(data: Place, *, execution: Execution | None = None, **parameters: Any) -> Plan:
    """Return what `train` would do with the same data and parameters.

    A sample of the rows is looked at, and kernel values are timed in this process, once what they
    need is compiled.

    Parameters
    ----------
    data : str or path
        A data set, as `ingest` makes it.
    execution : Execution, optional
        Where the run would be, as `train` has it.
    **parameters
        The parameters of `train`.

    Returns
    -------
    Plan
        Its ``stages``, and for all of them ``seconds(workers)``, ``most_bytes()`` of a worker,
        ``kernel_values`` and ``disk_bytes``.

    Raises
    ------
    InputError
        If a parameter or the data cannot be used.
    """
    return plan_on(data, planned_workers(execution or Execution()), execution, **parameters)


def plan_on(
    data: Place,
    workers: Workers,
    execution: Execution | None = None,
    tell: Callable[[str], None] | None = None,
    **parameters: Any,
) -> Plan:
    """Return what `plan` does, given the workers of the execution; `tell` takes what is to know."""
    report = tell or (lambda _: None)
    training, dataset = Training.of(parameters), DataSet.open(data)
    execution = execution or Execution()
    check_reach(execution, dataset.url)
    training = suited(training, dataset, reading(dataset, execution, workers.memory), report)
    wanted, goals, shape = training.settle(dataset)
    settings = fitted(wanted, goals, shape, training, execution, workers.memory)
    lowered = chosen_sizes(wanted, settings)
    if lowered:
        report(lowered_sizes_note(lowered))
    planned = make_plan(settings, goals, shape)
    try:
        check_room(execution, planned, None, workers.memory)
    except InputError as error:
        report(f"`train` refuses it: {error}")
    probe = next((stage for stage in planned.graph() if stage.name == PROBE), None)
    if probe is None and not BEGUN[settings.method].is_timed:
        return planned
    how = {} if probe is None else probe.layers[0].nodes[0].arguments
    parts = ("sparse" if shape.sparse else "dense", "pairs" if settings.fit_intercept else "box")
    warm_up(parts, lambda: report(f"{COMPILING}, then kernel values are timed"))
    with threadpool_limits(1):  # as on workers
        seen = seen_by(dataset, settings.options, settings.seed)
        measured = Measured.of(probe_rows(settings, seen, seen.rows, **how))
    measured = replace(measured, process_bytes=TYPICAL.process_bytes)  # this is no worker
    return make_plan(settings, goals, shape, measured)


def gamma_note(data: Place, **parameters: Any) -> str | None:
    """Return the number that a rule gives for gamma on a data set, in a sentence; else None."""
    return Training.of(parameters).gamma_note(DataSet.open(data))
