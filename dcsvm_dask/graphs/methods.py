"""The methods by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.graphs import (
    bagging,
    cascade,
    compressed,
    dcsvm_method,
    direct,
    features,
    greedy_plan,
    reference,
    search,
    subsample,
)
from dcsvm_dask.graphs.method import Method
from dcsvm_dask.graphs.options import Options
from dcsvm_dask.steps.settings import DEFAULT_METHOD

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        dcsvm_method.METHOD,
        cascade.METHOD,
        *features.METHODS,
        greedy_plan.METHOD,
        direct.METHOD,
        subsample.METHOD,
        bagging.METHOD,
        *reference.METHODS,
    )
}
SEARCH = Method(
    search.METHOD,
    "cross-validated choice of C and of the kernel: many candidates for little more than one fit",
    search.search,
    search.lay_out,
    search.Search,
    many_classes=True,
)
BEGUN: dict[str, Method] = {**METHODS, SEARCH.name: SEARCH}
"""All that a run folder may have been begun with."""

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
