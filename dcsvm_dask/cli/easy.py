"""``dcsvm easy``: one command from a file to a model and its report."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import click

from dcsvm_dask.cli.columns import column_options
from dcsvm_dask.cli.evaluate import OF_CLASSES
from dcsvm_dask.cli.finish import NOT_CONVERGED, progress_of
from dcsvm_dask.cli.options import (
    echo,
    execution_options,
    log_json_option,
    parse_class_weight,
    report_option,
    silent_option,
)
from dcsvm_dask.errors import InputError
from dcsvm_dask.numbers import counted

CLEAR = 2.0
"""Standard errors above chance from which on a score is not chance."""
LINEAR = "a linear SVM does as well, with a smaller model"
LITTLE, FEW = 0.5, 0.5
"""Share of a class's rows that are found, and its rows as a share of the largest class's, below
which the class is mostly missed for being rare."""


@click.command("easy")
@click.argument("source", metavar="FILE")
@click.option(
    "--out", metavar="FOLDER", help="Folder of all results; by default the file's name with -easy."
)
@column_options
@click.option("--test", metavar="FILE", help="Held-out rows, instead of a share of FILE.")
@click.option(
    "--test-fraction",
    type=float,
    help="Share of the rows to hold out, at random; by default 0.2 where FILE has no test part.",
)
@click.option(
    "--minutes", type=float, default=5.0, show_default=True, help="Time for everything, about."
)
@click.option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    default="classification",
    show_default=True,
    help="What the labels are: classes or real targets.",
)
@click.option("--class-weight", help="Class weights: balanced, or LABEL=WEIGHT,....")
@click.option(
    "--scoring",
    type=click.Choice(["accuracy", "balanced-accuracy", "auc"]),
    help="Score of classes by which C and gamma are chosen; by default accuracy, with "
    "--class-weight balanced the balanced accuracy.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--overwrite", is_flag=True, help="Delete the results of an earlier call first.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@execution_options
@report_option
@log_json_option
@silent_option
def command(
    source: str,
    one_hot: Any,
    class_weight: str | None,
    execution: Any,
    as_json: bool,
    log_json: bool,
    quiet: bool,
    **words: Any,
) -> None:
    """Train an SVM on FILE and score it on held-out rows: ingest, search, train, report.

    Columns of words become a feature for each category (--one-hot auto), features are scaled, C
    and gamma are searched within --minutes, and the best SVM is trained on all rows that are not
    held out. The largest class and a linear SVM are scored beside it. After Ctrl-C the same
    command goes on.
    """
    from dcsvm_dask import api
    from dcsvm_dask.runtime.execution import Execution

    if execution.time_budget is not None:
        raise InputError("time-budget: `dcsvm easy` has --minutes instead")
    run = api.easy(
        source,
        one_hot=one_hot or None,  # by default auto
        class_weight=None if class_weight is None else parse_class_weight(class_weight),
        execution=None if execution == Execution() else execution,
        quiet=quiet,
        progress=progress_of(log_json),
        **words,
    )
    if as_json:
        echo(json.dumps({"run": run.url, **run.figures}, indent=1))
    elif not quiet and not log_json:
        echo(summary(run))
    status = run.status()
    if status["state"] == "complete" and not status["converged"]:
        sys.exit(NOT_CONVERGED)


def summary(run: Any) -> str:
    """Return the result beside the baselines, and the commands that may follow."""
    from dcsvm_dask.diagnostics.search_doubts import edges_note
    from dcsvm_dask.diagnostics.terminal.closing import shown

    figures = run.figures
    test, score = figures["test"], figures["score"]
    name = OF_CLASSES.get(score, "R^2")
    error = "" if figures["error"] is None else f" +- {figures['error']:.4f}"
    lines = [f"{name:<18} {test[score]:.4f}{error} on {test['n_rows']:,} held-out rows"]
    if score in OF_CLASSES:
        lines += [
            f"largest class      {figures['majority']:.4f}",
            _linear_line(figures["linear_svm"]),
        ]
        if score != "balanced_accuracy":
            lines.append(f"balanced accuracy  {test['balanced_accuracy']:.4f}")
        if score != "accuracy":
            share = f"the largest class has {test['largest_class']:.4f} of the rows"
            lines.append(f"accuracy           {test['accuracy']:.4f}; {share}")
    else:
        lines += [
            f"mean target        {figures['mean']:.4f}",
            _linear_line(figures["linear_svm"]),
            f"mean abs. error    {test['mae']:.4g}",
        ]
    model = f"C {figures['C']:.6g}, gamma {figures['gamma']:.6g}"
    vectors = counted(test["n_support"], "support vector")
    candidates = counted(figures["candidates"], "candidate")
    lines += [
        f"model              {model}, {vectors}; best of {candidates}",
        f"time               {_time(figures)}",
    ]
    advice = advised(figures)
    linear = [f"  {linear_command(run, figures)}"] if advice and LINEAR in advice else []
    lines += [f"note               {advice}"] if advice else []
    lines += [f"note               {edges_note(figures['edges'])}"] if figures["edges"] else []
    lines += [f"note               {text}" for text in test.get("notes", ())]
    run_place, data = (shlex.quote(shown(url)) for url in (run.url, figures["test_data"]))
    return "\n".join(
        [
            *lines,
            "",
            "Next:",
            f"  dcsvm evaluate {run_place} {data}",
            f"  dcsvm predict {run_place} NEW.csv --out predictions.csv",
            f"  dcsvm report {run_place}",
            *linear,
        ]
    )


def linear_command(run: Any, figures: dict[str, Any]) -> str:
    """Return the command that trains a linear SVM on the same rows."""
    from dcsvm_dask.diagnostics.terminal.closing import shown

    data, test, out = (shown(url) for url in (figures["data"], figures["test_data"], run.url))
    words = ["dcsvm", "train", data, "--kernel=linear", "--run", f"{out}-linear"]
    words += ["--holdout", test]
    given = figures.get("class_weight")
    if isinstance(given, dict):
        given = ",".join(f"{label}={weight:g}" for label, weight in given.items())
    return shlex.join([*words, "--class-weight", given] if given else words)


def _time(figures: dict[str, Any]) -> str:
    compiling = figures["compile_seconds"]
    more = f", and {compiling:.0f} s for compiling, once" if compiling >= 1.0 else ""
    return f"{figures['seconds']:.0f} s of {60 * figures['minutes']:.0f} s{more}"


def _linear_line(score: float | None) -> str:
    return "linear SVM         " + ("not solved in time" if score is None else f"{score:.4f}")


def advised(figures: dict[str, Any]) -> str | None:
    """Return what the baselines say of the model; None where it is better than both."""
    from dcsvm_dask.methods.doubtful import RARE

    test, error = figures["test"], figures["error"] or 0.0
    score = test[figures["score"]]
    if score <= figures.get("majority", figures.get("mean", 0.0)) + error:
        if figures["score"] == "accuracy" and (told := _told_apart(test)):
            return f"no more accurate than always the largest class, but {told}: {RARE}"
        return "no better than always the same answer: the features may not tell the label"
    if figures["score"] == "accuracy" and (missed := _mostly_missed(test)):
        return f"{missed}: {RARE}"
    if figures["linear_svm"] is not None and score <= figures["linear_svm"] + error:
        return f"{LINEAR}: the last command below trains one"
    return None


def _mostly_missed(test: dict[str, Any]) -> str | None:
    """Return which rare class is found in few of its rows, in words; None without any."""
    from dcsvm_dask.methods.doubtful import LEAST_CLASS_ROWS

    most = FEW * max(one["rows"] for one in test["by_class"])
    rare = [one for one in test["by_class"] if LEAST_CLASS_ROWS <= one["rows"] < most]
    worst = min(rare, key=lambda one: one["recall"], default=None)
    if worst is None or worst["recall"] >= LITTLE:
        return None
    return f"of the class {worst['label']!r} only {worst['recall']:.0%} of the rows are found"


def _told_apart(test: dict[str, Any]) -> str | None:
    """Return which score says that the features tell classes apart, in words; None: none does."""
    from dcsvm_dask.models.scores import standard_error

    auc, balanced = test.get("roc_auc"), test["balanced_accuracy"]
    if auc is not None:
        clear = auc > 0.5 + CLEAR * (standard_error(test, "roc_auc") or 0.0)
        return (
            f"its AUC of {auc:.4f} says that the features tell the classes apart" if clear else None
        )
    chance = 1.0 / sum(one["rows"] > 0 for one in test["by_class"])
    clear = balanced > chance + CLEAR * (standard_error(test, "balanced_accuracy") or 0.0)
    return f"its balanced accuracy of {balanced:.4f} is above {chance:.4f}" if clear else None
