"""The methods by their names: the only table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods import compressed, stages, subsample
from dcsvm_dask.methods.approximation import graph as features
from dcsvm_dask.methods.bagging import graph as bagging
from dcsvm_dask.methods.budget import method as budget_method
from dcsvm_dask.methods.cascade import graph as cascade
from dcsvm_dask.methods.cutting import method as cutting_methods
from dcsvm_dask.methods.dcd import method as dcd_method
from dcsvm_dask.methods.dcsvm import method as dcsvm_method
from dcsvm_dask.methods.decomposition import method as decomposition_method
from dcsvm_dask.methods.greedy import graph as greedy_plan
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.online import graph as direct
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.reference import graph as reference
from dcsvm_dask.methods.search import graph as search
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.storage.stage_id import StageId

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        dcsvm_method.METHOD,
        decomposition_method.METHOD,
        cascade.METHOD,
        *features.METHODS,
        greedy_plan.METHOD,
        direct.METHOD,
        budget_method.METHOD,
        dcd_method.METHOD,
        *cutting_methods.METHODS,
        subsample.METHOD,
        bagging.METHOD,
        *reference.METHODS,
    )
}
SEARCH = Method(
    search.METHOD,
    "cross-validated choice of C and of the kernel: many candidates for little more than one fit",
    search.search,
    search.plan_stages,
    search.Search,
    search.STAGES,
    many_classes=True,
)
BEGUN: dict[str, Method] = {**METHODS, SEARCH.name: SEARCH}
"""All that a run folder may have been begun with."""

KINDS: dict[str, StageKind] = {
    kind.name: kind
    for kinds in (stages.KINDS, *(method.stages for method in BEGUN.values()))
    for kind in kinds
}
"""The kinds of stages of all methods."""

MADE: dict[str, type[Options]] = {"compressed": compressed.Compressed}
"""What other runs' models were made into, which nobody trains: its options say how."""


def options_of(settings: Mapping[str, Any]) -> tuple[str, Options]:
    """Return the method that a run's settings name, and what it has of its own.

    Raises
    ------
    InputError
        If there is no such method, or it has other parameters.
    """
    name = settings.get("method", DEFAULT_METHOD)
    try:
        kind = MADE[name] if name in MADE else BEGUN[name].options
        return name, kind(**settings.get("options", {}))
    except (KeyError, TypeError, InputError) as error:
        raise InputError(f"run.json: the method's settings are damaged: {error}") from error


def kind_of(stage: str) -> StageKind:
    """Return the kind of a stage, given its name; a plain one where no method has it."""
    name = StageId(stage).kind
    return KINDS.get(name) or StageKind(name)


def approximation(settings: Mapping[str, Any]) -> str | None:
    """Return the name of the method whose model is not the exact one; None: it is, or is to be."""
    name, options = options_of(settings)
    return name if options.approximates else None


def has_levels(name: str) -> bool:
    """Whether the method of a run trains levels of clusters."""
    return name in METHODS and METHODS[name].has_levels


def is_whole_problem(name: str) -> bool:
    """Whether the objectives of a run are those of the dual problem of all rows."""
    return name in METHODS and METHODS[name].whole_problem
