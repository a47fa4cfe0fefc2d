"""The parameters of every training: the table that checks, commands and files are made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from dcsvm_dask.parameters import (
    DEFAULT_METHOD,
    Described,
    check_parameter,
    described,
    parameter,
)

LEVEL_TOL = 1e-2
DEFAULT_INNER = "auto"
LOSSES = {
    "classification": ("hinge", "squared_hinge"),
    "regression": ("epsilon_insensitive", "squared_epsilon_insensitive"),
}
"""The losses of tasks that have several: as it is, and squared."""
LEAST_CAP = 64


@dataclass(frozen=True, slots=True)
class TrainingParameters:
    """Parameters of a training as users give them; see `dcsvm_dask.train` for their meaning."""

    kernel: str = parameter("rbf", "Kernel function")
    gamma: float | str = parameter(
        "scale",
        "Kernel coefficient: a number, scale (1 / (features x variance of their values)) or auto "
        "(1 / features)",
    )
    degree: int = parameter(3, "Degree of poly")
    coef0: float = parameter(0.0, "Constant of poly and sigmoid")
    C: float = parameter(1.0, "Regularisation parameter", above=0)
    task: str = parameter(
        "auto",
        "What is learned; auto: what the data set was made for",
        choices=("auto", "classification", "regression", "quantile", "one-class"),
    )
    epsilon: float | None = parameter(
        None, "Half the width of regression's tube without loss", least=0, default_text="0.1"
    )
    loss: str | None = parameter(
        None,
        "Loss of classification or regression, as it is or squared",
        choices=tuple(loss for losses in LOSSES.values() for loss in losses),
        default_text="the hinge or the epsilon-insensitive loss",
    )
    quantile: float | tuple[float, ...] | None = parameter(
        None,
        "Share of the targets below, of task quantile; or several: 0.1,0.5,0.9",
        default_text="0.5",
    )
    svm_type: str = parameter(
        "c", "nu: nu-SVC or nu-SVR, in which nu stands for C or epsilon", choices=("c", "nu")
    )
    nu: float | None = parameter(
        None,
        "Share of outliers or margin errors at most, of one-class SVMs and svm-type nu",
        above=0,
        most=1,
        default_text="0.5",
    )
    fit_intercept: bool = parameter(False, "Train with a bias (constraint y'alpha = 0)")
    class_weight: str | dict[Any, float] | None = parameter(  # noqa: RUF009 - a field
        None, "Class weights: balanced, or LABEL=WEIGHT,...", default_text="all are 1"
    )
    multiclass: str = parameter(
        "ovo",
        "Scheme for more than two classes: one-vs-one or one-vs-rest",
        choices=("ovo", "ovr"),
        of_classes=True,
    )
    levels: int | str = parameter(
        "auto", "Number of levels; auto chooses it, 0 is none", least=0, most=12, of_levels=True
    )
    k: int = parameter(8, "Level l has k^l clusters", least=2, of_levels=True)
    clusters: tuple[int, ...] | None = parameter(
        None,
        "Clusters of each level, bottom first: 256,64,16",
        default_text="powers of k",
        of_levels=True,
    )
    stop_at: int = parameter(0, "Level to stop at; 0 trains the exact model", of_levels=True)
    tol: float = parameter(1e-3, "Tolerance for the violation", above=0)
    seed: int = parameter(0, "Random seed", least=0)
    n_samples_clustering: int = parameter(
        1000, "Rows sampled for clustering", least=2, of_levels=True
    )
    block_cap: int | None = parameter(
        None, "Maximum block size (rows)", least=LEAST_CAP, default_text="8192"
    )
    set_cap: int | None = parameter(
        None,
        "Maximum working set size (rows)",
        least=LEAST_CAP,
        default_text="1.5 times --block-cap",
    )
    inner: str = parameter(
        DEFAULT_INNER,
        "Inner solver of blocks and working sets",
        choices=("auto", "smo", "newton", "interior-point", "projected-gradient"),
    )
    level_tol: float = parameter(
        LEVEL_TOL, "Tolerance of the blocks of levels", above=0, of_levels=True, in_command=False
    )
    max_rounds: int = parameter(1000, "Maximum number of rounds", of_levels=True)
    committee: bool = parameter(False, "Calibrate levels for committee prediction", of_levels=True)
    method: str = parameter(DEFAULT_METHOD, "Method of training; see `dcsvm methods`")


def check_value(name: str, value: Any) -> None:
    """Check the value of one parameter of every training.

    Raises
    ------
    InputError
        If it has another type or is outside its range.
    """
    kind, about = _every()[name]
    check_parameter(name, kind, value, about)


@cache
def _every() -> dict[str, tuple[str, Described]]:
    """Return the type of each parameter of a training and its description, by its name."""
    return {one.name: (str(one.type), about) for one, about in described(TrainingParameters)}
