"""`search`: which C, which parameters of the kernel, and which epsilon."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from dcsvm_dask.api.continuing import continue_run
from dcsvm_dask.api.holdout import open_holdout
from dcsvm_dask.api.run import Place, Run
from dcsvm_dask.api.training import reported, train
from dcsvm_dask.diagnostics.followers import followers
from dcsvm_dask.diagnostics.search import results
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.choice import BEST
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.methods.plan import plan as make_plan
from dcsvm_dask.methods.search.graph import BLOCK_ROWS
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.pipeline.data_checks import check_novelty_labels
from dcsvm_dask.pipeline.searching import SEARCHED, TRAINED, best_of, settle
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.capacity import LEAST_BLOCK_CAP, fits, memory_of_core
from dcsvm_dask.runtime.execution import Execution, on_client
from dcsvm_dask.runtime.session import available_memory, carry_run, check_room
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.preparation import keep_preparation
from dcsvm_dask.storage.run import RunFolder, refuse_foreign
from dcsvm_dask.tasks import ONE_CLASS
from dcsvm_dask.versions import versions


def search(
    data: Place,
    run: Place,
    *,
    validation: Place | None = None,
    cv: int = 5,
    exact: int | str = 3,
    scoring: str | None = None,
    halving: bool = False,
    refit: bool = True,
    budget: int = 1000,
    block_rows: int | None = None,
    execution: Execution | None = None,
    client: Any = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
    **parameters: Any,
) -> Run:
    """Search C, the kernel's parameters and the epsilon of regression, in a new run folder.

    Rows are put into blocks once; for each kernel the matrix of a block is computed once, folds are
    parts of it, and C goes up, each solution from the one before. Such SVMs decide the held-out
    rows of their block (early prediction: Hsieh, Si, Dhillon, ICML 2014, equation (6)), which ranks
    the candidates; the best of them are solved as a whole, and the best of these is chosen. Up to
    `block_rows` rows are one block, and all scores exact. `scoring` of classes decides, R^2 of
    regression, the mean pinball loss of a quantile, the AUC of one-class SVMs, whose labels +1 and
    -1 take no part in the training.

    Parameters
    ----------
    data : str or path
        A data set, as `ingest` makes it; its train part.
    run : str or path
        A folder or fsspec URL that does not exist yet or is empty. The best candidate is trained in
        its folder ``best``, a run of its own.
    C, gamma, coef0 : float, sequence or array of float, optional
        What is searched. C and gamma are those of LIBSVM's grid.py by default: 2^-5, 2^-3, ... 2^15
        and 2^-15, 2^-13, ... 2^3; coef0 is 0. Of gamma "scale" and "auto" are possible, too.
    degree : int, sequence or array of int, default 3
    epsilon : float, sequence or array of float, default 0.1
        Half the width of the tube of regression, in units of the targets.
    nu : float, sequence or array of float, optional
        Of `svm_type` "nu" and of one-class SVMs; by default 0.1, 0.2, ... 0.5. These SVMs have no
        C, but for nu-SVR. A candidate whose nu the classes of a fold or of a block do not allow
        fails there, as one that is not solved.
    validation : str or path, optional
        A data set on which candidates are scored, instead of cross-validation; dense or sparse,
        whichever the training data are.
    cv : int, default 5
        Folds, from 2; of classes stratified ones.
    exact : int or "all", default 3
        Candidates that are solved as a whole. Where these are all, nothing is ranked before.
    scoring : {"accuracy", "balanced-accuracy", "auc"}, optional
        The score of classes that ranks candidates. The balanced accuracy is the mean over the
        classes of the share of their rows that is predicted right; the AUC, the area under the ROC
        curve, is for two classes. By default the balanced accuracy where `class_weight` is
        "balanced", otherwise the accuracy.
    halving : bool, default False
        Whether all candidates are ranked on few blocks first, and the better third of them on three
        times as many, until a few see all blocks.
    refit : bool, default True
        Whether the best candidate is trained.
    budget : int, default 1000
        Most steps of an SVM for each row that it trains on. One that is not solved by then is
        scored as it is, and marked.
    block_rows : int, optional
        Most rows of a block, about; by default 4096. Where the workers' memory is too small for
        that, fewer are chosen when the search begins; it says how many.
    execution, client, quiet, report, progress, callbacks
        As `train` has them.
    task, svm_type, quantile, loss, kernel, fit_intercept, class_weight, multiclass, tol, seed, \
n_samples_clustering
        For all candidates, as `train` has them; one-class SVMs need labels, for their AUC.
        `quantile` is one number: pinball losses at different quantiles do not compare.

    Returns
    -------
    Run
        See `Run.results` and `Run.best`.

    Raises
    ------
    InputError, RunError, KeyboardInterrupt
        As `train` does.
    """
    begin = time.monotonic()
    for word in parameters:
        if word not in (*TRAINED, *SEARCHED):
            raise InputError(f"{word}: there is no such parameter of search")
    follow = followers(callbacks, quiet=quiet, progress=progress)
    place, dataset = Location.of(run, writable=True), DataSet.open(data)
    held_out = None if validation is None else open_holdout(validation, dataset)
    if held_out is not None and held_out.fingerprint == dataset.fingerprint:
        raise InputError(
            f"validation: {held_out.url} holds the rows that are trained on; name others, as "
            "DATA.zarr/test"
        )
    execution = on_client(execution, client)
    say = Announcer(place.url, follow).say
    memory = available_memory(execution, place.url, dataset.url, say=say)
    options: dict[str, Any] = {"folds": cv, "exact": exact, "halving": halving}
    options |= {"scoring": scoring, "budget": budget, "refit": refit}
    settle_by = partial(
        settle, dataset, parameters, options, held_out=0 if held_out is None else held_out.n_rows
    )
    room = memory_of_core() if execution.shares_machine else memory
    rows, settled, planned = _fitting(settle_by, block_rows, room)
    settings, goals, shape = settled
    if settings.task == ONE_CLASS:
        check_novelty_labels(dataset if held_out is None else held_out)
    header = {
        "settings": settings.to_json(),
        "goals": goals.to_json(),
        "shape": asdict(shape),
        "data": {"url": dataset.url, "fingerprint": dataset.fingerprint},
        "holdout": None if held_out is None else held_out.url,
        "versions": versions(),
        "lowered": f"--block-rows {rows}" if block_rows is None and rows < BLOCK_ROWS else "",
    }
    check_room(execution, planned, place, memory)
    refuse_foreign(place)
    with FolderLock(place) as lock:
        folder = RunFolder.create(place, header, lock.ownership)
        keep_preparation(folder, dataset)
        if header["lowered"]:
            Announcer(place.url, follow).say(
                f"the workers' memory is too small for the usual blocks: the search has "
                f"{header['lowered']}; give it wherever its results are to be the same"
            )
        carry_run(folder, lock, execution, reported(folder, follow) if report else follow)
    how = {"quiet": quiet, "report": report, "progress": progress, "callbacks": callbacks}
    return refitted(Run(folder), execution, time.monotonic() - begin, **how)


def _fitting(
    settle_by: Callable[..., tuple[Settings, Goals, Shape]],
    block_rows: int | None,
    room: int | None,
) -> tuple[int, tuple[Settings, Goals, Shape], Plan]:
    """Return the rows of a block, fewer where memory is too small, what they mean, and the plan."""
    rows = BLOCK_ROWS if block_rows is None else block_rows
    while True:
        settled = settle_by(block_rows=rows)
        planned = make_plan(*settled)
        enough = block_rows is not None or rows <= LEAST_BLOCK_CAP
        if enough or room is None or fits(planned, room):
            return rows, settled, planned
        rows //= 2


def refitted(run: Run, execution: Execution, spent: float, **how: Any) -> Run:
    """Train the best candidate of a search that has ended, or go on with that.

    Parameters
    ----------
    spent : float
        Seconds of the time budget that are gone.
    """
    settings, header = run.folder.header["settings"], run.folder.header
    if run.status()["state"] != "complete" or not settings["options"]["refit"]:
        return run
    if execution.time_budget is not None:
        left = execution.time_budget - spent
        if left <= 0:
            Announcer(run.url, followers((), quiet=how["quiet"], progress=how["progress"])).say(
                f"the time budget is used up; `dcsvm resume {shlex.quote(run.url)}` trains the "
                "best candidate"
            )
            return run
        execution = replace(execution, time_budget=left)
    place = run.folder.place / BEST
    if (place / "run.json").exists():
        continue_run(place, execution, data=header["data"]["url"], **how)
        return run
    found = results(run.folder)
    best = next(row for row in found if row["best"])
    shared = {name: settings[name] for name in ("fit_intercept", "seed", "n_samples_clustering")}
    shared["multiclass"] = settings.get("multiclass", "ovo")
    weights = settings["class_weight"]
    classes = DataSet.open(header["data"]["url"]).classes
    if weights:
        shared["class_weight"] = dict(zip(map(str, classes), weights, strict=True))
    train(
        header["data"]["url"],
        place,
        holdout=header["holdout"],
        execution=execution,
        tol=header["goals"]["tol"],
        **best_of(settings, best["candidate"]),
        **shared,
        **how,
    )
    return run
