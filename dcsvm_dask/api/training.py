"""`train`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from dcsvm_dask.api.holdout import open_holdout
from dcsvm_dask.api.ingesting import data_for_run, data_place, refuse_words
from dcsvm_dask.api.run import Place, Run
from dcsvm_dask.api.sizes import chosen_sizes, fitted, lowered_sizes_note, reading
from dcsvm_dask.api.warned import warn_of_model
from dcsvm_dask.diagnostics.followers import followers
from dcsvm_dask.diagnostics.report.reporting import Reporting
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.plan import plan as make_plan
from dcsvm_dask.pipeline.linear import suited
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.clients import default_client, is_collection
from dcsvm_dask.runtime.execution import Execution, on_client
from dcsvm_dask.runtime.session import available_memory, carry_run, check_room
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.preparation import keep_preparation
from dcsvm_dask.storage.run import RunFolder, refuse_existing, refuse_foreign
from dcsvm_dask.versions import versions


def train(
    data: Any,
    y: Any = None,
    run: Place | None = None,
    *,
    label: str | int | None = None,
    drop: Sequence[str] = (),
    scale: str | None = None,
    positive: Sequence[Label] | None = None,
    holdout: Place | None = None,
    execution: Execution | None = None,
    client: Any = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
    **parameters: Any,
) -> Run:
    """Train a kernel SVM by divide and conquer, or another method, in a new run folder.

    Call it as ``train(DATA, RUN)``, ``train(FRAME, RUN, label=NAME)`` or ``train(X, y, RUN)``.

    The same data, parameters and seed give the same model, whatever the number of workers, bit for
    bit on one kind of processor with one set of versions. Where the workers' memory is too small
    for `block_cap`, `set_cap` or the method's `chunks` and these are not given, others are chosen
    before the run begins, and are parameters of the run from then on.

    Parameters
    ----------
    data : str or path, or rows
        A data set, as `ingest` makes it; its train part. Of more than two classes see `multiclass`.
        Or rows: an array or a data frame, in memory or of Dask, as `ingest` takes them. They
        become a data set beside the run, ``RUN.data.zarr``, from which it is trained and resumed;
        Dask's are written by the workers that have them.
    y : array or series, shape (n,), optional
        Labels of rows; by default a column of the data frame has them.
    run : str or path
        A folder or fsspec URL that does not exist yet or is empty.
    label, drop, scale, positive
        How rows are taken, as `ingest` has them.
    holdout : str or path, optional
        A data set on which every model is scored as soon as it is committed; dense or sparse,
        whichever the training data are.
    execution : Execution, optional
        Where to run: ``Execution(workers=0)`` inside this process, ``Execution(scheduler=...)``
        on a cluster; by default on a local process for every core, or inside this process where the
        plan is of a few seconds, and where Dask collections are
        given on the workers of the client that Dask takes, if there is one.
    client : distributed.Client, optional
        Run on its workers instead: it is used as it is, with its own Security, and stays open.
        Where the event loop of the caller is the client's (``Client(asynchronous=True)``), call in
        a thread: ``await asyncio.to_thread(dcsvm_dask.train, ...)``.
    quiet : bool, default False
        Whether to show nothing of the run's progress.
    progress : {"auto", "bars", "lines", "json"}, default "auto"
        How to show it otherwise: a tree with bars, or a line for each commit, on standard error;
        "json": an object in a line for everything that happens, on standard output, also where it
        is quiet. "auto": bars where standard error is a terminal, else lines.
    report : bool, default True
        Whether to write ``report.html`` into the run's folder at the end, where bokeh is
        installed.
    callbacks : sequence of Callback, optional
        Further callbacks that follow the progress; see `dcsvm_dask.Callback`.
    method : str, default "dcsvm"
        How to train. Where nobody names one, a linear kernel without a bias is trained by "dcd", or
        by "ocas" where rows do not fit the workers' memory. There are "dcsvm", "decomposition",
        "cascade", "bagging", "nystrom", "fourier", "ltpu", "greedy", "online", "bsgd", "dcd",
        "ocas", "cpa", "subsample", "libsvm" and "liblinear". All but the first have no levels, but
        parameters of their own, which ``dcsvm methods NAME`` lists and ``docs/methods.md``
        explains.
    kernel : str, default "rbf"
        Name of one of `dcsvm_dask.kernels.KERNELS`, as "linear" or "poly".
    gamma : {"scale", "auto"} or float, default "scale"
        Coefficient of the kernel, as scikit-learn's SVC has it: "scale" is
        1 / (n_features X.var()) of the rows as they are stored, thus scaled, "auto" is
        1 / n_features. The run has the number.
    coef0 : float, default 0.0
        Constant term of the kernels that have one, such as "poly".
    degree : int, default 3
        Degree of the polynomial kernel, from 1.
    C : float, default 1.0
        Weight > 0 of a row's loss: with the hinge loss the upper bound of its dual variable.
    task : {"auto", "classification", "regression", "quantile", "one-class"}, default "auto"
        What is learned: classes; a function of the targets by epsilon-SVR; one of their quantiles;
        or where rows like the training rows lie, by a one-class SVM, which has an offset always and
        no `C`. "auto": by what the data set was made for. Rows without a data set have classes
        unless the task says otherwise; rows of one-class need no y.
    epsilon : float, default 0.1
        Half the width of the tube without loss, for regression, in units of the targets.
    loss : str, optional
        For classes "hinge" (the default) or "squared_hinge": C times what a row lacks of the
        margin, or C times its square, as `LinearSVC` has them. For regression
        "epsilon_insensitive" (the default) or "squared_epsilon_insensitive": C times what is
        outside of the tube, or its square, as `LinearSVR` has them. Methods of linear SVMs have a
        `loss` of their own, for classes and for regression.
    quantile : float or sequence of float, default 0.5
        For task "quantile" the share of the targets below the predictions, in (0, 1). Several, in
        ascending order, have an SVM each, over the same clusters and kernel matrices of blocks;
        predictions have a column for each. Only method "dcsvm" takes several.
    svm_type : {"c", "nu"}, default "c"
        For classification and regression: "nu" trains nu-SVCs or a nu-SVR, which have a bias
        always. A nu-SVC has no `C`.
    nu : float, default 0.5
        For task "one-class" the share of training rows that are outliers at most, of svm_type "nu"
        that of rows within the margin or outside of the tube; and of support vectors at least. In
        (0, 1].
    fit_intercept : bool, default False
        Whether there is a bias, and with it the equality y'alpha = 0.
    class_weight : "balanced" or dict, optional
        Factors of C by label, or n / (n_classes n_c) for a class of n_c rows.
    multiclass : {"ovo", "ovr"}, default "ovo"
        Scheme for more than two classes: "ovo" trains one-vs-one SVMs, which vote, as in LIBSVM;
        "ovr" trains one-vs-rest SVMs, of which the largest decision value wins.
    levels : "auto" or int, default "auto"
        Number of levels of the tree, 0 to 12; 0 solves the whole problem at once. "auto" chooses it
        from n, so that bottom blocks have 1,000 to 2,000 rows: at most 6, none up to 12,288 rows
        (with many classes: rows of the largest binary SVM), and none that do not pay.
    k : int, default 8
        Level l has k^l clusters.
    clusters : sequence of int, optional
        Clusters of each level instead, bottom first, falling.
    stop_at : int, default 0
        Level to stop at, whose early model is the result; 0 trains the exact model.
    tol : float, default 1e-3
        Tolerance > 0 for the violation of the exact model: the largest absolute projected gradient,
        with a bias LIBSVM's m(alpha) - M(alpha). Of "ocas" and "cpa" it is the gap between primal
        and dual objective as a share of the former.
    seed : int, default 0
        Random seed, from 0.
    n_samples_clustering : int, default 1000
        Rows on which clusters are found (m), at least; from 2.
    block_cap : int, optional
        Maximum block size (rows), from 64; by default 8,192. A task holds a block's kernel matrix.
    set_cap : int, optional
        Most rows of a working set of the whole problem, whose kernel matrix the only task of a
        layer holds, from 64; by default 1.5 times `block_cap`.
    inner : {"auto", "smo", "newton", "interior-point", "projected-gradient"}, default "auto"
        Inner solver of blocks and working sets whose kernel matrix is in memory: sequential
        minimal optimisation, an active-set Newton method, an interior point method (LOQO) or
        projected gradients. "auto" begins with SMO and goes on with an interior point method
        where SMO needs more operations. The solution is the same within `tol`.
    level_tol : float, default 1e-2
        Violation > 0 at which a level's blocks are solved.
    max_rounds : int, default 1000
        Most conquer rounds, from 1.
    committee : bool, default False
        Whether every level's machines are calibrated for prediction by the Bayesian committee
        machine, by cross-validation in their blocks; of two classes and of regression.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If a parameter or the data cannot be used, a run lives there already, or it does not fit
        memory or disk; nothing is left behind then.
    RunError
        If the run could not be carried to its end; `resume` goes on with it.
    KeyboardInterrupt
        After Ctrl-C; `resume` goes on with it.
    """
    training = Training.of(parameters)
    follow = followers(callbacks, quiet=quiet, progress=progress)
    y, place = labels_and_run(y, run)
    words: dict[str, Any] = {"label": label, "drop": drop, "scale": scale, "positive": positive}
    if isinstance(data, str | os.PathLike | Location):
        refuse_words(data, y, words)
        dataset, execution = DataSet.open(data), on_client(execution, client)
        return _trained(training, dataset, place, holdout, execution, follow, report)
    words["task"] = task_of_rows(training)
    rows = data if y is None else (data, y)
    execution = execution_on_rows(rows, execution, client)
    refuse_existing(place)
    say = Announcer(place.url, follow).say
    available_memory(execution, place.url, data_place(place).url, say=say)
    where, tell = execution.remote, partial(say, doing=True)
    with data_for_run(rows, place, where, report=tell, **words) as dataset:
        return _trained(training, dataset, place, holdout, execution, follow, report)


def labels_and_run(y: Any, run: Any) -> tuple[Any, Location]:
    """Return the labels, or None, and the run of a call as (DATA, RUN) or (X, y, RUN).

    Raises
    ------
    InputError
        If no run is named.
    """
    if run is None:
        y, run = None, y
    if not isinstance(run, str | os.PathLike | Location):
        raise InputError("run: name a folder, as in train(DATA, RUN) or train(X, y, RUN)")
    return y, Location.of(run, writable=True)


def task_of_rows(training: Training) -> str:
    """Return the task for which rows are taken in."""
    return "classification" if training.task == "auto" else str(training.task)


def execution_on_rows(rows: Any, execution: Execution | None, client: Any) -> Execution:
    """Return where to run; of Dask collections where nobody says on the client that Dask takes."""
    if execution is None and client is None and is_collection(rows):
        client = default_client()
    return on_client(execution, client)


def _trained(
    training: Training,
    dataset: DataSet,
    place: Location,
    holdout: Place | None,
    execution: Execution,
    follow: list[Callback],
    report: bool,
) -> Run:
    """Train from a data set; see `train`."""
    held_out = None if holdout is None else open_holdout(holdout, dataset)
    if held_out is not None and held_out.fingerprint == dataset.fingerprint:
        raise InputError(
            f"{held_out.url}: has the training rows, so that scores are not those of new rows; "
            "give held-out ones, such as DATA.zarr/test"
        )
    say = Announcer(place.url, follow).say
    memory = available_memory(execution, place.url, dataset.url, say=say)
    training = suited(training, dataset, reading(dataset, execution, memory), say)
    wanted, goals, shape = training.settle(dataset, holdout=held_out is not None)
    settings = fitted(wanted, goals, shape, training, execution, memory)
    lowered = chosen_sizes(wanted, settings)
    header = {
        "settings": settings.to_json(),
        "goals": goals.to_json(),
        "shape": asdict(shape),
        "data": {"url": dataset.url, "fingerprint": dataset.fingerprint},
        "holdout": None if held_out is None else held_out.url,
        "versions": versions(),
        "lowered": lowered,
    }
    check_room(execution, make_plan(settings, goals, shape), place, memory)
    refuse_foreign(place)
    with FolderLock(place) as lock:
        folder = RunFolder.create(place, header, lock.ownership)
        keep_preparation(folder, dataset)
        if gamma := training.gamma_note(dataset):
            say(gamma)
        if lowered:
            say(lowered_sizes_note(lowered))
        if goals.committee and not settings.clusters:
            say("committee: there are no levels to calibrate; give --levels for some")
        carry_run(folder, lock, execution, reported(folder, follow) if report else follow)
    warn_of_model(folder)
    return Run(folder)


def reported(folder: RunFolder, follow: list[Callback]) -> list[Callback]:
    """Return who follows a run that ends with a report."""
    # First, so that the others are still there to tell what keeps it from being written.
    return [Reporting(folder, follow), *follow]
