"""The SVMs of a run: one, those of more than two classes, or one for each of several outputs."""

from __future__ import annotations

from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.models.schemes import Outputs, Scheme, scheme_for
from dcsvm_dask.solvers import Machine, Output, machines_of
from dcsvm_dask.tasks import Task, members_of

AnyMachine = Machine | Output


def has_several(settings: Settings, n_classes: int) -> bool:
    """Return whether a run has several SVMs, which are solved one by one.

    Parameters
    ----------
    settings : Settings
    n_classes : int
        0 for a task without classes.
    """
    return n_classes > 2 or len(members_of(settings.make_task())) > 1


def machines_for(settings: Settings, n_classes: int) -> list[AnyMachine]:
    """Return the SVMs of a run that has several, in the order of its scheme; see `has_several`."""
    members = members_of(settings.make_task())
    if len(members) > 1:
        return [Output(number) for number in range(len(members))]
    return list(machines_of(n_classes, settings.multiclass))


def scheme_of_run(settings: Settings, n_classes: int) -> Scheme:
    """Return how the SVMs of a run share support vectors and decide; see `has_several`."""
    members = len(members_of(settings.make_task()))
    return Outputs(members) if members > 1 else scheme_for(n_classes, settings.multiclass)


def task_of_machine(task: Task, machine: AnyMachine) -> Task:
    """Return the task of one of the SVMs of a task."""
    return members_of(task)[machine.number] if isinstance(machine, Output) else task
