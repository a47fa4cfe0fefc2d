"""`easy`: from a file to a trained model with its figures, within a time limit."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from typing import Any

from dcsvm_dask.api.easy_classes import check_learnable, classes_note
from dcsvm_dask.api.easy_search import FOLDS, Clock, EasySearch
from dcsvm_dask.api.ingesting import ingest
from dcsvm_dask.api.or_resuming import train_or_resume
from dcsvm_dask.api.run import Place, Run
from dcsvm_dask.data.summary import summary_lines
from dcsvm_dask.diagnostics.followers import shown
from dcsvm_dask.diagnostics.search_doubts import NO_BETTER, edges_note, is_constant
from dcsvm_dask.errors import InputError, Terminated
from dcsvm_dask.models.scores import standard_error
from dcsvm_dask.pipeline.data_checks import check_varying
from dcsvm_dask.pipeline.rounds import Scored, choose, edges, training_seconds
from dcsvm_dask.pipeline.searching import scoring_of
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.readers.frame_checks import is_frame
from dcsvm_dask.readers.open import find_format, source_parts
from dcsvm_dask.readers.preparing.choices import AUTO
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.compilation import COMPILING, announced, warm_up
from dcsvm_dask.runtime.compiled_parts import (
    LINEAR_SOLVER,
    SIGNED_LINEAR_SOLVER,
    compiled_for_search,
)
from dcsvm_dask.runtime.execution import Execution, on_client
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import is_data_set
from dcsvm_dask.storage.easy import COMPLETE, READING, SEARCHING, TRAINING, EasyFolder
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import ACCURACY, AUC, BALANCED_ACCURACY
from dcsvm_dask.tasks.scores import SEARCH_SCORES

MINUTES = 5.0
TEST_FRACTION = 0.2
TASKS = ("classification", "regression")
EVALUATED = {ACCURACY: "accuracy", BALANCED_ACCURACY: "balanced_accuracy", AUC: "roc_auc"}
"""Keys of evaluations by the scorings of searches."""
BASELINE_SHARE = 0.15
"""Share of the time that the linear SVM takes at most."""


class EasyRun(Run):
    """The run of the model that `easy` has trained, with its figures.

    Parameters
    ----------
    folder : RunFolder
        The run's folder in storage.
    figures : dict
        As the attribute has them.

    Attributes
    ----------
    figures : dict
        ``score`` ("accuracy", "balanced_accuracy", "roc_auc" or "r2") names what is compared:
        ``test`` (the evaluation of the held-out rows), ``error`` (the standard error of that score
        of classes), ``majority`` or ``mean`` (the score of always the largest class or the mean
        target on the same rows), ``linear_svm`` (of a linear SVM; None where it did not end in
        time). ``class_weight`` as it was given, ``C``, ``gamma``, ``cv_score``,
        ``cv_error``, ``candidates``, ``edges`` (parameters whose best value is the last one that
        was tried; none where the best candidate is no better than a constant), ``data`` and
        ``test_data``. ``seconds`` of the call, of ``minutes``, leave out ``compile_seconds``.
    """

    def __init__(self, folder: RunFolder, figures: dict[str, Any]) -> None:
        super().__init__(folder)
        self.figures = figures


def easy(
    source: Any,
    out: Place | None = None,
    *,
    label: str | int | None = None,
    test: Place | None = None,
    test_fraction: float | None = None,
    minutes: float = MINUTES,
    task: str = "classification",
    class_weight: str | dict[Any, float] | None = None,
    scoring: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    execution: Execution | None = None,
    client: Any = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    **columns: Any,
) -> EasyRun:
    """Ingest a file, search C and gamma within a time limit, train, and score on held-out rows.

    The result of an unfinished call is taken up by the same call.

    Parameters
    ----------
    source : str, path, data frame or tuple (X, y)
        As `ingest` takes it. Columns of words become a feature for each category, unless `one_hot`
        says otherwise.
    out : str or path, optional
        Folder of the results: ``data.zarr``, ``model`` (the run, with its report), ``linear`` and
        the rounds of the search. By default ``NAME-easy`` in the working folder.
    label, test
        As `ingest` has them.
    test_fraction : float, default 0.2
        Share of the rows that is held out, at random, where there is no test part.
    minutes : float, default 5
        Time for everything but the first compilation. The search ends early enough for the
        training on all rows, whose time is estimated; the training is not cut off, and a quarter of
        the time is left to the search in any case.
    task : {"classification", "regression"}, default "classification"
    class_weight : "balanced" or dict, optional
        Factors of C by label, or n / (n_classes n_c) for a class of n_c rows; of the linear SVM,
        too.
    scoring : {"accuracy", "balanced-accuracy", "auc"}, optional
        The score of classes by which C and gamma are chosen and baselines compared; as `search` has
        it, by default the balanced accuracy where `class_weight` is "balanced".
    seed : int, default 0
        Seed of the held-out rows, the samples and the folds.
    overwrite : bool, default False
        Whether the results of an earlier call in `out` are deleted.
    execution, client, quiet, report, progress
        For the training, as `train` has them. The search runs in this process.
    **columns
        Other words of `ingest`: ``drop``, ``columns``, ``one_hot``, ``ordinal``, ``missing``,
        ``missing_words``, ``dates``, ``decimal``, ``header``, ``encoding``, ``data``, ``target``,
        ``scale``.

    Returns
    -------
    EasyRun

    Raises
    ------
    InputError
        If the source, a parameter or the folder cannot be used.
    RunError, KeyboardInterrupt
        As `train` does; the same call goes on.
    """
    if task not in TASKS:
        raise InputError(
            f"task must be classification or regression, got {task!r:.80}; for other tasks use "
            "`dcsvm ingest`, `dcsvm search` and `dcsvm train`, which have them"
        )
    if not 0 < minutes < math.inf:
        raise InputError(f"minutes must be a positive number, got {minutes}")
    execution = on_client(execution, client) if client is not None else execution
    place = Location.of(_usual_folder(source) if out is None else out, writable=True)
    words = _words(source, test, test_fraction, columns)
    words |= {"label": label, "task": task, "seed": seed}
    address = Location.of(source).url if _is_place(source) else None
    own = {"class_weight": class_weight, "scoring": scoring}
    asked = {"source": address, **{k: _plain(v) for k, v in (words | own).items()}}
    if address is not None and f"{address}/".startswith(f"{place}/"):
        raise InputError(f"{address}: lies in {place}; name another folder by --out")
    folder, clock = EasyFolder(place), Clock(60 * minutes)
    tellers = shown(quiet=quiet, progress=_for_lines(progress), since=clock.since)
    announcer = Announcer(place.url, tellers)
    say = announcer.say
    folder.look(asked, overwrite=overwrite)  # without a lock, which would be a file
    with ExitStack() as stack:
        stack.callback(place.delete_if_empty)  # where the source cannot be taken
        stack.enter_context(FolderLock(place, "folder"))
        try:
            if folder.look(asked, overwrite=overwrite):
                say(f"resuming {place}, whose state was {folder.state['state']}")
                folder.write(interrupted=False)
            else:
                with announced(announcer), clock.without_compilation():
                    _read(source, folder, asked, words, own, clock.total, say)
            follow = shown(quiet=quiet, progress=progress, since=clock.since)
            how = {"quiet": True, "report": report, "callbacks": follow}
            return _search_and_train(folder, own, seed, clock, execution, say, how)
        except KeyboardInterrupt as error:
            if not folder.state:
                raise
            folder.write(interrupted=True)
            kind = Terminated if isinstance(error, Terminated) else KeyboardInterrupt
            raise kind(
                f"{place}: interrupted while {folder.state['state']}; the same command goes on"
            ) from error


def _read(
    source: Any,
    folder: EasyFolder,
    asked: dict[str, Any],
    words: Any,
    own: dict[str, Any],
    limit: float,
    say: Any,
) -> None:
    """Take the source into the data set and say how; leave nothing where it cannot be taken.

    Nor where the class weights or the score, `own`, are not for its classes, nor where its classes
    are rather real targets, too many for the limit, in seconds.
    """
    folder.clear()
    folder.write(asked=asked, state=READING, rounds=[], interrupted=False)
    try:
        data = ingest(source, folder.data, report=lambda line: say(line, doing=True), **words)
        if "test" not in data.parts:
            raise InputError(f"{folder.place}: no rows are held out; give a test fraction")
        Training(class_weight=own["class_weight"]).settle(data)
        check_varying(data)
        check_learnable(data, limit)
        if _score_of(data, own) == AUC and 0 in data.open_part("test").counts:
            raise InputError("scoring: auc needs held-out rows of both classes")
    except InputError:
        folder.clear()
        raise
    for line in summary_lines(data):
        say(line)
    folder.write(state=SEARCHING)


def _search_and_train(
    folder: EasyFolder,
    own: dict[str, Any],
    seed: int,
    clock: Clock,
    execution: Execution | None,
    say: Any,
    how: dict[str, Any],
) -> EasyRun:
    """Train the baseline, search, train with the best candidate, and compare.

    `own` are class weights and the scoring.
    """
    data, test = DataSet.open(folder.data), DataSet.open(f"{folder.data}/test")
    has_classes = data.targets is None
    score = EVALUATED[_score_of(data, own)] if has_classes else "r2"
    usual = usual_values(data, seed)
    if own["class_weight"] is not None:
        usual["class_weight"] = own["class_weight"]
    with clock.without_compilation():
        _compile(data, usual, say)
    C, gamma = usual.pop("C"), Training().gamma_for(data)
    share = f"{data.n_rows:,} rows to train on, {test.n_rows:,} held out"
    say(
        f"{share}, {data.n_features:,} features; at most about {clock.total / 60:g} min (--minutes)"
    )
    if (note := classes_note(data, clock.total)) is not None:
        say(note)
    linear = _linear(folder, C, usual, clock, score, test)
    constant = constant_score(data, test, score)
    _say_baselines(constant, linear, score, has_classes, say)
    found = EasySearch(folder, data, usual, own["scoring"], clock, say).run(C, gamma)
    best = choose(found)
    folder.write(state=TRAINING)
    wide = _warn_of_best(found, best, data, score, say)
    _say_how_long(best, data, clock, say)
    run = train_or_resume(
        data.url,
        folder.model,
        holdout=test.url,
        execution=execution,
        C=best.C,
        gamma=best.gamma,
        **usual,
        **how,
    )
    evaluated = run.evaluate(test.url)
    figures = {
        "score": score,
        "test": evaluated,
        "error": standard_error(evaluated, score),
        "majority" if has_classes else "mean": constant,
        "linear_svm": linear,
        "class_weight": own["class_weight"],
        **_of_search(found, best),
        "edges": wide,
        "minutes": clock.total / 60,
        "seconds": clock.spent(),
        "compile_seconds": clock.compiling,
        "data": data.url,
        "test_data": test.url,
    }
    folder.write(state=COMPLETE, figures=figures)
    return EasyRun(run.folder, figures)


def _compile(data: DataSet, usual: dict[str, Any], say: Any) -> None:
    """Compile what the baseline, the search and the training need."""
    settings, _, shape = Training(**usual).settle(data)
    parts = compiled_for_search(settings, shape)
    warm_up((*parts, LINEAR_SOLVER, SIGNED_LINEAR_SOLVER, "free_bias"), lambda: say(COMPILING))


def _say_baselines(
    constant: float, linear: float | None, score: str, has_classes: bool, say: Any
) -> None:
    what = "the largest class" if has_classes else "the mean target"
    named = SEARCH_SCORES["auc" if score == "roc_auc" else score]
    about = "" if linear is None else f", a linear SVM {linear:.4f}"
    say(f"baselines on the held-out rows: {what} has {named} {constant:.4f}{about}")


def _say_how_long(best: Scored, data: DataSet, clock: Clock, say: Any) -> None:
    seconds = training_seconds(best, data.n_rows, FOLDS)
    late = clock.spent() + seconds > clock.total
    cut = ", beyond --minutes, which do not cut it off; after Ctrl-C the same command goes on"
    say(
        f"training on {data.n_rows:,} rows with C {best.C:.6g} and gamma {best.gamma:.6g}: about "
        f"{seconds:.0f} s by what the search took{cut if late else ''}"
    )


def _warn_of_best(
    found: list[Scored], best: Scored, data: DataSet, score: str, say: Any
) -> list[str]:
    """Say what is doubtful about the best candidate; return the parameters to search further in."""
    largest = max(data.counts) / data.n_rows if score == "accuracy" else None
    wide: list[str] = []
    if is_constant(best.score, best.error, largest):
        say(f"warning: {NO_BETTER}")
    elif wide := [name for name, _ in edges(found, best)]:
        say(f"warning: {edges_note(wide)}")
    if not best.solved:
        say("warning: the best candidate was not solved in the search's steps: it may take long")
    return wide


def _of_search(found: list[Scored], best: Scored) -> dict[str, Any]:
    return {
        "C": best.C,
        "gamma": best.gamma,
        "cv_score": best.score,
        "cv_error": best.error,
        "cv_rows": best.rows,
        "candidates": len({(one.rows, one.C, one.gamma) for one in found}),
        "solved": best.solved,
    }


def usual_values(data: DataSet, seed: int) -> dict[str, Any]:
    """Return what a training takes beside gamma; for real targets in units of their spread."""
    if data.targets is None:
        return {"C": 1.0, "seed": seed}
    spread = float(f"{data.targets['std']:.2g}") or 1.0
    return {
        "C": spread,
        "epsilon": 0.1 * spread,
        "tol": 1e-3 * spread,
        "fit_intercept": True,
        "seed": seed,
    }


def constant_score(data: DataSet, test: DataSet, score: str) -> float:
    """Return the score of the largest class, or of the mean target, of the training rows."""
    if score == "roc_auc":
        return 0.5
    if score == "balanced_accuracy":  # of one class all rows are right, of the others none
        return 1.0 / sum(count > 0 for count in test.counts)
    if data.targets is None or test.targets is None:
        largest = max(range(len(data.counts)), key=data.counts.__getitem__)
        return test.counts[largest] / test.n_rows
    off, spread = data.targets["mean"] - test.targets["mean"], test.targets["std"]
    return -((off / spread) ** 2) if spread else 0.0


def _score_of(data: DataSet, own: dict[str, Any]) -> str:
    """Return the scoring of the search, where it is given or follows from class weights."""
    return scoring_of(own["scoring"], data.task, own["class_weight"], data)


def _linear(
    folder: EasyFolder,
    C: float,
    usual: dict[str, Any],
    clock: Clock,
    score: str,
    test: DataSet,
) -> float | None:
    """Return the score of a linear SVM; None where it does not end in its share of the time."""
    run = train_or_resume(
        f"{folder.data}/train",
        folder.linear,
        execution=Execution(workers=0, time_budget=BASELINE_SHARE * clock.total),
        quiet=True,
        report=False,
        **{**usual, "kernel": "linear", "fit_intercept": True, "C": C},
    )
    if run.status()["state"] != "complete":
        return None
    return float(run.evaluate(test.url)[score])


def _words(
    source: Any, test: Any, test_fraction: float | None, columns: dict[str, Any]
) -> dict[str, Any]:
    """Return the words of `ingest`: categories of words, and held-out rows where there are none."""
    words = {name: value for name, value in columns.items() if value is not None}
    words["test"] = test
    encoding = words.get("encoding")
    known = _is_place(source) and not is_data_set(source)
    parts = ["train"]
    if known:
        kind = find_format(os.fspath(source), encoding)
        parts = source_parts(os.fspath(source), encoding)
        named = kind in ("table", "jsonl", "parquet")
    else:
        named = is_frame(source)
        parts = DataSet.open(source).parts if _is_place(source) else parts
    if named:
        words.setdefault("one_hot", AUTO)
    own = test is not None or "test" in parts
    words["test_fraction"] = TEST_FRACTION if test_fraction is None and not own else test_fraction
    return words


def _usual_folder(source: Any) -> str:
    if not _is_place(source):
        raise InputError("out: name the folder of the results; rows in memory have no name")
    name = os.fspath(source).partition("?")[0].rstrip("/").rsplit("/", 1)[-1]
    return f"{name.partition('.')[0] or 'data'}-easy"


def _is_place(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


def _plain(value: Any) -> Any:
    """Return a word as JSON has it; places as absolute ones."""
    if isinstance(value, os.PathLike):
        return Location.of(value).url
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def _for_lines(progress: str) -> str:
    """Return how sentences are shown: bars are for runs."""
    return "json" if progress == "json" else "lines"
