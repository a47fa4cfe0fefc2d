"""``dcsvm search``."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.finish import finish, progress_of
from dcsvm_dask.cli.options import (
    KernelName,
    execution_options,
    log_json_option,
    parse_class_weight,
    report_option,
    silent_option,
)
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.parameters import LOSSES

VALUES = "0.1,1,2^5 or FROM:TO:FACTOR"


@click.command("search")
@click.argument("data")
@click.option("--run", "run_place", required=True, help="Folder or URL of the new search.")
@click.option("-C", "--C", "C", metavar=VALUES, help="By default 2^-5:2^15:2^2.")
@click.option("--gamma", metavar=VALUES, help="Or scale, auto; by default 2^-15:2^3:2^2.")
@click.option("--degree", metavar="2,3,...", help="Degree of poly, by default 3.")
@click.option("--coef0", metavar="0,1,...", help="Constant of poly, sigmoid; by default 0.")
@click.option(
    "--nu", metavar=VALUES, help="Of nu-SVMs and one-class SVMs; by default 0.1,0.2,0.3,0.4,0.5."
)
@click.option("--epsilon", metavar=VALUES, help="Tube of regression; by default 0.1.")
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression", "quantile", "one-class"]),
    help="What is learned; by default what the data set was made for.",
)
@click.option(
    "--svm-type",
    type=click.Choice(["c", "nu"]),
    help="nu: nu-SVC or nu-SVR, in which nu stands for C or epsilon.",
)
@click.option("--quantile", metavar="TAU", help="Quantile of task quantile, by default 0.5.")
@click.option(
    "--loss",
    type=click.Choice([loss for losses in LOSSES.values() for loss in losses]),
    help="Loss of classification (hinge by default) or regression (epsilon_insensitive).",
)
@click.option(
    "--kernel",
    type=KernelName(),
    help="Kernel function, by default rbf.",
)
@click.option("--cv", type=int, help="Folds, of classes stratified ones; by default 5.")
@click.option("--validation", metavar="DATA", help="Validation rows to score on, instead of folds.")
@click.option("--exact", help="Best candidates to solve exactly: 3 (default), 0, ..., or all.")
@click.option(
    "--scoring",
    type=click.Choice(["accuracy", "balanced-accuracy", "auc"]),
    help="Score of classes that ranks candidates (auc: of two); by default accuracy, with "
    "--class-weight balanced the balanced accuracy.",
)
@click.option(
    "--halving",
    is_flag=True,
    default=None,
    help="Successive halving: rank on few blocks first, the best on more.",
)
@click.option("--budget", type=int, help="Maximum solver steps per training row; by default 1000.")
@click.option(
    "--block-rows", type=int, help="Approximate maximum block size (rows); by default 4096."
)
@click.option("--refit/--no-refit", default=None, help="Train the best candidate, in RUN/best.")
@click.option(
    "--fit-intercept",
    is_flag=True,
    default=None,
    help="Train with a bias (constraint y'alpha = 0).",
)
@click.option("--class-weight", help="Class weights: balanced, or LABEL=WEIGHT,....")
@click.option(
    "--multiclass",
    type=click.Choice(["ovo", "ovr"]),
    help="Scheme for more than two classes: one-vs-one (default) or one-vs-rest.",
)
@click.option("--tol", type=float, help="Tolerance for the violation, by default 1e-3.")
@click.option("--seed", type=int, help="Random seed, by default 0.")
@click.option(
    "--n-samples-clustering", type=int, help="Rows sampled for clustering; by default 1000."
)
@execution_options
@report_option
@log_json_option
@silent_option
def command(
    data: str,
    run_place: str,
    exact: str | None,
    class_weight: str | None,
    execution: Any,
    report: bool,
    log_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Search C, the kernel's parameters, epsilon and nu for the data set DATA (its train part).

    Candidates are ranked by SVMs of blocks, which share kernel values and start from each
    other; the best ones are solved exactly. Commas stand between values, so that decimals need a
    point: -C 1.5 is one value, -C 1,5 are two. Go on with a search by `dcsvm resume`, look at it by
    `dcsvm status` and `dcsvm report`; RUN/best is the run of the best candidate.
    """
    from dcsvm_dask import api
    from dcsvm_dask.kernels import GAMMA_RULES
    from dcsvm_dask.pipeline.searching import parse_values

    parameters = {name: value for name, value in given.items() if value is not None}
    for name in ("C", "gamma", "coef0", "degree", "epsilon", "nu", "quantile"):
        if name in parameters:
            rules = GAMMA_RULES if name == "gamma" else ()
            parameters[name] = parse_values(name, parameters[name], rules)
    if len(parameters.get("quantile", ())) == 1:
        (parameters["quantile"],) = parameters["quantile"]
    if "degree" in parameters:
        parameters["degree"] = tuple(
            int(one) if one == int(one) else one for one in parameters["degree"]
        )
    if class_weight is not None:
        parameters["class_weight"] = parse_class_weight(class_weight)
    if exact is not None:
        parameters["exact"] = _exact(exact)
    if "cv" in parameters and "validation" in parameters:
        raise InputError("cv and validation: give one of them")
    run = api.search(
        data,
        run_place,
        execution=execution,
        quiet=quiet,
        report=report,
        progress=progress_of(log_json),
        **parameters,
    )
    finish(run, quiet, log_json)


def _exact(text: str) -> int | str:
    """Return a number, or `all`."""
    if text == "all":
        return text
    try:
        return int(text)
    except ValueError as error:
        raise InputError(f"exact must be a number or all, got {text!r:.80}") from error
