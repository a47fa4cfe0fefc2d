"""The methods by their names: their parameters, their graphs, what these take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.graphs import (
    bagging,
    cascade,
    compressed,
    dcsvm_plan,
    direct,
    features,
    greedy,
    greedy_plan,
    reference,
    search,
    subsample,
)
from dcsvm_dask.graphs import classes as many_classes
from dcsvm_dask.graphs.dcsvm import dcsvm
from dcsvm_dask.graphs.forecast import Forecast
from dcsvm_dask.graphs.goals import Goals, Shape
from dcsvm_dask.graphs.graph import Method
from dcsvm_dask.graphs.options import NoOptions, Options
from dcsvm_dask.graphs.stage_plan import StagePlan
from dcsvm_dask.steps.settings import Settings


@dataclass(frozen=True, slots=True)
class Described:
    """What there is to know of a method before it runs."""

    about: str
    """What it is, in a line."""
    options: type[Options]
    """The parameters that it has beside those of every machine."""
    begin: Callable[[Settings, Goals, Shape], Method]
    lay_out: Callable[[Forecast, Goals], list[StagePlan]]


def _by_classes(settings: Settings, goals: Goals, shape: Shape) -> Method:
    """Begin DC-SVM: of two classes, or of more at once."""
    begin = many_classes.classes if shape.class_rows else dcsvm
    return begin(settings, goals, shape)


def _lay_out_by_classes(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    many = bool(sizes.shape.class_rows)
    return many_classes.lay_out(sizes, goals) if many else dcsvm_plan.lay_out(sizes, goals)


METHODS = {
    "dcsvm": Described(
        "divide and conquer (Hsieh, Si, Dhillon 2014): levels of clusters, then the exact model",
        NoOptions,
        _by_classes,
        _lay_out_by_classes,
    ),
    "cascade": Described(
        "Cascade SVM (Graf et al. 2005): support vectors go up a tree of random shares, and back",
        cascade.Cascade,
        cascade.cascade,
        cascade.lay_out,
    ),
    "nystrom": Described(
        "a linear machine over Nystrom features (LLSVM; Williams, Seeger 2001)",
        features.Nystrom,
        features.approximation,
        features.lay_out,
    ),
    "fourier": Described(
        "a linear machine over random Fourier features (Rahimi, Recht 2007) or Fastfood's",
        features.Fourier,
        features.approximation,
        features.lay_out,
    ),
    "ltpu": Described(
        "locally tuned processing units (Moody, Darken 1989): weights over centres of k-means",
        features.Ltpu,
        features.approximation,
        features.lay_out,
    ),
    "greedy": Described(
        "SpSVM (Keerthi, Chapelle, DeCoste 2006): a greedy choice of basis vectors, squared hinge",
        greedy.Greedy,
        greedy.greedy,
        greedy_plan.lay_out,
    ),
    "online": Described(
        "LaSVM (Bordes, Ertekin, Weston, Bottou 2005): rows one by one, and a finish",
        direct.Online,
        direct.one_task,
        direct.lay_out,
    ),
    "subsample": Described(
        "the exact model of a random share of the rows, by divide and conquer",
        subsample.Subsample,
        dcsvm,
        dcsvm_plan.lay_out,
    ),
    "bagging": Described(
        "bagging (Breiman 1996): machines of random samples that vote",
        bagging.Bagging,
        bagging.bagging,
        bagging.lay_out,
    ),
    "libsvm": Described(
        "scikit-learn's SVC, which is LIBSVM, in one task; to compare with",
        reference.Libsvm,
        reference.reference,
        reference.lay_out,
    ),
    "liblinear": Described(
        "scikit-learn's LinearSVC, which is LIBLINEAR, in one task; to compare with",
        reference.Liblinear,
        reference.reference,
        reference.lay_out,
    ),
}

SEARCH = Described(
    "cross-validated choice of C and of the kernel: many candidates for little more than one fit",
    search.Search,
    search.search,
    search.lay_out,
)
BEGUN = {**METHODS, search.METHOD: SEARCH}
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
    name = settings.get("method", "dcsvm")
    try:
        kind = MADE[name] if name in MADE else BEGUN[name].options
        return name, kind(**settings.get("options", {}))
    except (KeyError, TypeError, InputError) as error:
        raise InputError(f"run.json: the method's settings are damaged: {error}") from error


def approximation(settings: Mapping[str, Any]) -> str | None:
    """Return the name of the method whose model is not the exact one; None: it is, or is to be."""
    name, options = options_of(settings)
    return name if options.approximates else None
