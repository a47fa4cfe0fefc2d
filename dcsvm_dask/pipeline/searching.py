"""The words of `search`, checked, and what they mean for a data set."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.search.graph import BLOCK_ROWS, METHOD, Search
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.parameters import check_parameter, described
from dcsvm_dask.pipeline.data_checks import check_varying
from dcsvm_dask.pipeline.parameters import TrainingParameters
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.tasks import (
    ACCURACY,
    AUC,
    BALANCED_ACCURACY,
    OF_TASKS,
    ONE_CLASS,
    SCORINGS,
    TASKS,
    task_and_type,
)

LEAST_BLOCK_ROWS = 64
# Of LIBSVM's grid.py: C, and gamma.
COSTS = tuple(2.0**power for power in range(-5, 16, 2))
NUS = (0.1, 0.2, 0.3, 0.4, 0.5)
GAMMAS = tuple(2.0**power for power in range(-15, 4, 2))
TRAINED = (
    "kernel",
    "task",
    "svm_type",
    "quantile",
    "fit_intercept",
    "loss",
    "class_weight",
    "multiclass",
    "tol",
    "seed",
    "n_samples_clustering",
)
"""Words of a training that all candidates have."""
POSITIVE = ("C", "gamma", "nu")
"""Parameters that cannot be 0."""
SEARCHED = ("C", "gamma", "degree", "coef0", "epsilon", "nu")


def settle(
    data: DataSet,
    words: dict[str, Any],
    options: dict[str, Any],
    *,
    block_rows: int | None,
    held_out: int,
) -> tuple[Settings, Goals, Shape]:
    """Return what a search means for a data set.

    Parameters
    ----------
    data : DataSet
    words : dict
        Those of `TRAINED` and `SEARCHED` that were given; the latter are numbers, sequences of
        them or arrays.
    options : dict
        Of `Search`, beside these; ``exact`` may be "all", and ``scoring`` None, see `scoring_of`.
    block_rows : int, optional
        Most rows of a block, about.
    held_out : int
        Rows that are held out of all candidates' training; 0: there are folds.

    Raises
    ------
    InputError
        If a word is unknown or impossible.
    """
    trained = {name: value for name, value in words.items() if name in TRAINED}
    if not isinstance(trained.get("quantile"), numbers.Real | None):
        raise InputError(
            f"quantile: give one number, got {trained['quantile']!r:.80}; pinball losses at "
            "different quantiles do not compare"
        )
    for one, about in described(TrainingParameters):
        if one.name in trained:
            check_parameter(about.name or one.name, str(one.type), trained[one.name], about)
    given = trained.get("task", "auto")
    task = data.task if given == "auto" else given
    searched = _grid(data, task, trained, words)
    by = scoring_of(options.get("scoring"), task, trained.get("class_weight"), data)
    options = {**options, "scoring": by}
    if held_out:
        options |= {"folds": 0, "held_out": held_out}
    if options.get("exact") == "all":
        options["exact"] = math.prod(len(values) for values in searched.values())
    made = Search(**searched, **options)
    rows = BLOCK_ROWS if block_rows is None else block_rows
    check(is_a(rows, numbers.Integral), "block_rows", rows, "a whole number")
    if rows < LEAST_BLOCK_ROWS:
        raise InputError(f"block-rows must be at least {LEAST_BLOCK_ROWS}, got {rows}")
    training = Training(**trained, **_middle(searched), levels=0, block_cap=rows)
    settings, goals, shape = training.settle(data, holdout=held_out > 0)
    if shape.n_variables < made.least_rows:
        raise InputError(
            f"{data.url}: has {shape.n_variables} distinct rows, too few for {made.folds} folds; "
            "give more rows, or ones with more features, or fewer folds"
        )
    # Twice as many as are needed: they differ in size.
    many = () if shape.n_variables <= rows else (math.ceil(2 * shape.n_variables / rows),)
    settings = replace(
        settings,
        method=METHOD,
        options=_plain(made),
        clusters=many,
        set_cap=2 * settings.block_cap,
    )
    return settings, goals, shape


def _grid(
    data: DataSet, task: str, trained: dict[str, Any], words: dict[str, Any]
) -> dict[str, Any]:
    """Return the values of every parameter that is searched, those of LIBSVM where none are given.

    Parameters
    ----------
    data : DataSet
    task : str
    trained : dict
        Words that all candidates have.
    words : dict
        All words, of which those in `SEARCHED` are looked at.
    """
    kernel = Kernel(trained.get("kernel", Kernel().name)).kind
    found: dict[str, Any] = {name: _values(name, words[name]) for name in SEARCHED if name in words}
    others = set(found) - {"C", "epsilon", "nu", *kernel.parameters}
    if others:
        raise InputError(
            f"{', '.join(sorted(others))}: the {kernel.name} kernel has no such parameter"
        )
    check_varying(data)
    novelty = task == ONE_CLASS
    of_nu = novelty or trained.get("svm_type") == "nu"
    no_C = of_nu and task != "regression"
    found.setdefault("C", (1.0,) if no_C else COSTS)
    if no_C and found["C"] != (1.0,):
        machine = "one-class SVM" if novelty else "nu-SVC"
        raise InputError(f"C: a {machine} has no C; leave it out, and give nu")
    if of_nu:
        found.setdefault("nu", NUS)
    if kernel.uses("gamma"):
        found.setdefault("gamma", GAMMAS)
    if "gamma" in found:
        found["gamma"] = _with_rules(found["gamma"], data)
    return found


def _middle(searched: dict[str, Any]) -> dict[str, Any]:
    """Return one value of every parameter, by which a search as a whole is checked and planned."""
    middle = {name: values[(len(values) - 1) // 2] for name, values in searched.items()}
    if "nu" in searched:  # the largest has to be possible
        middle["nu"] = searched["nu"][-1]
    return middle


def scoring_of(given: Any, task: str, class_weight: Any, data: DataSet) -> str:
    """Return the score by which candidates are ranked, of those of classes.

    Parameters
    ----------
    given : str or None
        One of `SCORINGS`, with hyphens or underscores. None: balanced accuracy where class weights
        are balanced, otherwise accuracy.
    task : str
    class_weight : str, dict or None
    data : DataSet

    Raises
    ------
    InputError
        If there is no such score, or it is not one of the task or of as many classes.
    """
    has_classes = TASKS[task].has_classes
    if given is None:
        return BALANCED_ACCURACY if has_classes and class_weight == "balanced" else ACCURACY
    found = str(given).replace("_", "-")
    check(found in SCORINGS, "scoring", given, f"one of {', '.join(SCORINGS)}")
    if not has_classes:
        raise InputError(f"scoring: is for classes, and the task is {task}; leave it out")
    if found == AUC and len(data.classes) > 2:
        raise InputError(
            f"scoring: auc is for two classes, and {data.url} has {len(data.classes)}; give "
            f"{BALANCED_ACCURACY}"
        )
    return found


def best_of(settings: dict[str, Any], candidate: int) -> dict[str, Any]:
    """Return the parameters of `train` for a candidate of a search, as its header describes it."""
    made = Settings.from_json(settings)
    task = made.make_task()
    kernel, C, epsilon, nu = Search(**made.options).candidates(made.kernel.name)[candidate]
    words: dict[str, Any] = {"kernel": kernel.name, "C": C}
    words |= {name: getattr(kernel, name) for name in kernel.kind.parameters}
    name, svm_type = task_and_type(task.name)
    words |= {} if task.has_classes else {"task": name}
    words |= {"svm_type": svm_type} if svm_type == "nu" else {}
    words |= {word: getattr(task, word) for word, of in OF_TASKS.items() if task.name in of}
    words |= {} if nu is None else {"nu": nu}
    return words if epsilon is None else {**words, "epsilon": epsilon}


def parse_values(name: str, text: str, rules: Sequence[str] = ()) -> tuple[float | str, ...]:
    """Return the numbers of a list like ``0.1,1,2^5``, or of a range like ``2^-5:2^15:2^2``.

    A range goes from its first to its second number, by a factor. Words of `rules` may stand in a
    list.

    Raises
    ------
    InputError
        If the text is neither.
    """
    if _has_decimal_comma(name, text):
        raise InputError(
            f"{name} must be numbers with commas between them, and decimals need a point: "
            f"{text.strip().replace(',', '.')}, got {text!r:.80}"
        )
    try:
        if ":" not in text:
            parts = [part.strip() for part in text.split(",")]
            return tuple(part if part in rules else _number(part) for part in parts)
        first, last, factor = (_number(part) for part in text.split(":"))
        if not (0 < first <= last and factor > 1):
            raise ValueError
        count = math.floor(math.log(last / first) / math.log(factor) + 1e-9)
        if count >= 1000:
            raise ValueError
        return tuple(first * factor**step for step in range(count + 1))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise InputError(
            f"{name} must be numbers like 0.1,1,2^5, or a range FROM:TO:FACTOR like "
            f"2^-5:2^15:2^2, got {text!r:.80}"
        ) from error


def _has_decimal_comma(name: str, text: str) -> bool:
    """Return whether a number is written as 0,03: no list has 03, and few parameters may be 0."""
    first, comma, decimals = text.strip().partition(",")
    if not (comma and first.isdigit() and decimals.isdigit()):
        return False
    return (decimals[0] == "0" and len(decimals) > 1) or (first == "0" and name in POSITIVE)


def _number(text: str) -> float:
    base, power, exponent = text.partition("^")
    found = float(base) ** float(exponent) if power else float(base)
    if not math.isfinite(found):
        raise ValueError
    return found


def _values(name: str, given: Any) -> tuple[Any, ...]:
    """Return the values of a parameter, each once, ascending; NumPy's as numbers of Python."""
    if isinstance(given, np.ndarray | np.generic):
        given = np.ravel(given).tolist()
    elif isinstance(given, str) or not isinstance(given, Sequence):
        given = (given,)
    kind, made = (numbers.Integral, int) if name == "degree" else (numbers.Real, float)
    if name == "gamma" and any(isinstance(one, str) for one in given):
        return tuple(given)  # rules, which are replaced where the rows are known
    try:
        found = sorted({made(one) if is_a(one, kind) else one for one in given})
    except (TypeError, OverflowError) as error:
        raise InputError(f"{name} must be numbers, got {given!r:.80}") from error
    return tuple(found)


def _with_rules(given: Sequence[Any], data: DataSet) -> tuple[Any, ...]:
    """Return values of gamma, of which rules are replaced by their numbers."""
    numbered = [
        Training(gamma=one).gamma_for(data) if isinstance(one, str) else one for one in given
    ]
    return _values("gamma", numbered)


def _plain(made: Search) -> dict[str, Any]:
    """Return the options as JSON values, numbers as Python has them."""
    found = made.to_json()
    return {
        **found,
        **{key: list(found[key]) for key in SEARCHED},
        **{key: int(found[key]) for key in ("folds", "exact", "budget")},
        **{key: bool(found[key]) for key in ("halving", "refit")},
    }
