"""Compression of a run's model: a new run whose model has fewer support vectors."""

from __future__ import annotations

import contextlib
import math
import numbers
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.errors import InputError, OwnershipLostError
from dcsvm_dask.kernels import kernel_product
from dcsvm_dask.methods.choice import Choice, choose_model
from dcsvm_dask.methods.compressed import Compressed
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.node import process_record
from dcsvm_dask.methods.predict import cached_model
from dcsvm_dask.methods.run_data import settings_of
from dcsvm_dask.models.compression import Block, check_kernel, compress, shares
from dcsvm_dask.models.elimination import Path
from dcsvm_dask.models.model import Model
from dcsvm_dask.prediction.compress_parts import (
    DistinctModel,
    cached_expansion,
    share_of_distance,
    shrink_part,
    write_sample,
)
from dcsvm_dask.prediction.compress_sample import Sample, draw_sample
from dcsvm_dask.prediction.run_prediction import REPORT_SECONDS, evaluate
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.calls import Pool, results
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.header import method_of
from dcsvm_dask.runtime.opening import check_reach
from dcsvm_dask.runtime.pool import open_pool
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.outputs import refuse_inside
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.run import RunFolder, refuse_foreign
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.storage.state import STATE, write_state
from dcsvm_dask.tasks import Task
from dcsvm_dask.tasks.scores import SCORES

STAGE = StageId.about("model", "compressed")
SAMPLE = 8192
MOST_SAMPLE = 65_536
METHOD = "compressed"


def compress_run(
    run: RunFolder,
    out: Location,
    choice: Choice,
    *,
    bound: float,
    data: Any,
    sample: int,
    seed: int,
    execution: Execution,
    announcer: Announcer,
    encoding: str | None = None,
) -> dict[str, Any]:
    """Write a new run whose model is a compressed one; see `Predictor.compress`.

    Parameters
    ----------
    run : RunFolder
        The run with the model.
    out : Location
        Folder of the new run.
    choice : Choice
        The model.
    bound : float
        Largest change of a decision value on the sample, above 0.
    data : optional
        Rows with labels to measure and score on.
    sample : int
        Number of rows to measure on, 1 to 65,536.
    seed : int
        Seed of the sample.
    execution : Execution
    announcer : Announcer
    encoding : str, optional
        Encoding of text without a byte order mark.

    Returns
    -------
    dict
        See `Predictor.compress`.

    Raises
    ------
    InputError
        If a parameter is not valid, the model cannot be compressed, or `out` is not empty.
    """
    _check_parameters(bound, sample, seed)
    _check_places(run, out, execution)
    model = _whole_model(run, choice)
    prepared = Preparation.read(run)
    rows = draw_sample(run, prepared, data, sample, seed, encoding)
    clock = _Clock.started()
    before = None
    if rows.labels is None:
        before = _accuracy(run, choice, rows, execution, encoding)
    with _new_folder(out) as owner:
        place = out / "sample"
        write_sample(place, rows.fit, rows.check, sparse=prepared.is_sparse)
        with open_pool(execution, announcer, "compress") as pool:
            smaller, found = _compressed(model, choice, place, float(bound), pool, announcer)
        place.delete()
        made = RunFolder.draft(out, _header(run, choice, bound, rows), owner)
        attempt = made.attempt(STAGE, COMMIT)
        written = write_whole(attempt, smaller)
        about = {"source": choice.stage, "measured_on": rows.of}
        attempt.commit({**written, **found, **about, **clock.record(), **process_record()})
        prepared.write(made)
        taken = clock.seconds
        write_state(made, "complete", stage=STAGE, start_seconds=0.0, run_seconds=taken)
        made.begin()
    if rows.labels is None:
        chosen = choose_model(made, approximation=METHOD)
        after = _accuracy(made, chosen, rows, execution, encoding)
        assert before is not None
    else:
        task = settings_of(run).make_task()
        before, after = (_scores(task, one, rows) for one in (model, smaller))
    return {
        "out": out.url,
        **found,
        "bound": float(bound),
        "measured_on": rows.of,
        **{key: {"before": before[key], "after": after[key]} for key in SCORES if key in before},
        "scored_rows": before["n_rows"],
        "scored_on": rows.of,
        "seconds": taken,
    }


def _check_parameters(bound: float, sample: int, seed: int) -> None:
    """Raise an error if a number is not valid."""
    check(is_a(bound, numbers.Real) and is_finite(bound), "bound", bound, "a number")
    check(bound > 0, "bound", bound, "a number above 0")
    check(is_a(sample, numbers.Integral), "sample", sample, "a whole number")
    check(1 <= sample <= MOST_SAMPLE, "sample", sample, f"1 to {MOST_SAMPLE}")
    check(is_a(seed, numbers.Integral) and seed >= 0, "seed", seed, "a whole number from 0")


def _check_places(run: RunFolder, out: Location, execution: Execution) -> None:
    """Raise an error if workers do not reach the runs, or the new one's folder is not empty."""
    if execution.workers or execution.remote is not None or execution.file is not None:
        check_reach(execution, run.place.url, out.url)
    if (out / "run.json").exists():
        raise InputError(f"{out}: a run exists there; name another folder")
    refuse_foreign(out)
    refuse_inside(out)


@dataclass(frozen=True, slots=True)
class _Clock:
    """When a compression began, by three clocks."""

    began: float
    begin: float
    busy: float

    @classmethod
    def started(cls) -> Self:
        """Return one that begins now."""
        return cls(time.time(), time.perf_counter(), time.process_time())

    @property
    def seconds(self) -> float:
        """Seconds since then."""
        return time.perf_counter() - self.begin

    def record(self) -> dict[str, float]:
        """Return the times of a commit's record; see `run_node`."""
        busy = time.process_time() - self.busy
        return {"seconds": self.seconds, "cpu_seconds": busy, "began": self.began}


def _header(run: RunFolder, choice: Choice, bound: float, rows: Sample) -> dict[str, Any]:
    """Return the header of the new run: that of the old one, but for the method."""
    own = Compressed(
        run=run.place.url,
        stage=choice.stage,
        method=method_of(run),
        bound=float(bound),
        sample=rows.check.shape[0],
    )
    settings = {**run.header["settings"], "method": METHOD, "options": asdict(own)}
    return {**_without_digest(run.header), "settings": settings}


def _whole_model(run: RunFolder, choice: Choice) -> Model:
    """Return the model to compress; raise an error if it is not a sum of kernel values."""
    model = cached_model(choice)
    if not model.is_single:
        raise InputError(
            f"{run.place}: has SVMs of many classes or quantiles; only models of two classes or of "
            "one quantile can be compressed"
        )
    whole = model.rule is None and model.features is None and model.vote is None
    if not whole or model.n_blocks != 1:
        raise InputError(
            f"{run.place}: a model of {method_of(run)} is not a single sum of kernel values; only "
            "such models can be compressed"
        )
    if model.n_support == 0:
        raise InputError(f"{run.place}: the model has no support vectors")
    check_kernel(model.kernel)
    return model


def _compressed(
    model: Model, choice: Choice, place: Location, bound: float, pool: Pool, announcer: Announcer
) -> tuple[Model, dict[str, Any]]:
    """Return the smaller model and its figures."""
    expansion = cached_expansion(choice, place.url)
    reported = time.perf_counter()

    def each(blocks: Iterable[Block]) -> Iterator[Path]:
        nonlocal reported
        listed = list(blocks)
        calls = (((shrink_part, (choice, place.url, bound, block)), None) for block in listed)
        for done, (path, _) in enumerate(results(pool, calls), start=1):
            if time.perf_counter() - reported > REPORT_SECONDS:
                reported = time.perf_counter()
                announcer.say(f"part {done} of {len(listed)} done")
            yield path

    n = len(expansion.coef)
    repeats = model.n_support - n
    announcer.say(
        f"{model.n_support} support vectors"
        + (f", of which {repeats} repeat others or cancel" if repeats else "")
    )
    found = compress(
        expansion.kernel,
        expansion.support,
        expansion.coef,
        expansion.fit,
        expansion.check,
        bound,
        each=each,
        report=announcer.say,
    )
    change = -expansion.coef
    change[found.rows] += found.coef
    announcer.say("measuring the distance", doing=True)
    calls = (((share_of_distance, (choice, place.url, change, start)), None) for start in shares(n))
    distance = math.sqrt(max(0.0, sum(share for share, _ in results(pool, calls))))
    smaller = replace(
        model,
        support=expansion.support[found.rows],
        coef=found.coef[None, :],
        counts=np.array([[len(found.rows)]]),
    )
    return smaller, {
        "support_before": model.n_support,
        "support": len(found.rows),
        "change": _largest(expansion, change),
        "distance": distance,
        "sample": expansion.check.shape[0],
    }


def _largest(expansion: DistinctModel, change: NDArray[np.float64]) -> float:
    """Return the largest change of a decision value on the sample."""
    products, _ = kernel_product(
        expansion.kernel, expansion.check, expansion.support, change, dtype=np.float64
    )
    return float(np.abs(products).max(initial=0.0))


def _accuracy(
    run: RunFolder, choice: Choice, rows: Sample, execution: Execution, encoding: str | None
) -> dict[str, Any]:
    return evaluate(run, rows.data, choice, execution, Announcer(run.place.url, []), encoding)


def _scores(task: Task, model: Model, rows: Sample) -> dict[str, Any]:
    """Return the scores of a model on the rows on which it is measured, and their number."""
    assert rows.labels is not None
    values, _ = kernel_product(model.kernel, rows.check, model.support, model.coef[0])
    targets = task.targets(rows.labels).astype(np.float64)
    return {**task.scores(values + model.bias[0, 0], targets), "n_rows": len(targets)}


def _without_digest(header: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in header.items() if key not in ("format", "digest")}


@contextlib.contextmanager
def _new_folder(out: Location) -> Iterator[Ownership]:
    """Own a new run's folder; it is emptied after an error."""
    try:
        with FolderLock(out) as lock:
            try:
                refuse_foreign(out)
                yield lock.ownership
            except OwnershipLostError:  # another process owns the folder
                raise
            except BaseException:
                for name in ("sample", "stages", "preparation.json", STATE):
                    (out / name).delete()
                raise
    except BaseException:
        out.delete_if_empty()
        raise
