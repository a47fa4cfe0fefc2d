"""Prediction by a run's committed models: which one, and the decision values of some rows."""

from __future__ import annotations

import threading
import time
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.models.model import MODES, Model, decide
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import MODEL, read_model
from dcsvm_dask.storage.run import Committed, RunFolder

PRECISIONS = {"float32": np.float32, "float64": np.float64}


@dataclass(frozen=True, slots=True)
class Choice:
    """A committed model and how it decides."""

    run_url: str
    stage: str
    """The stage whose commit holds the model."""
    attempt: str
    mode: str
    """exact, early or naive."""
    level: int
    """0 for the exact model."""
    precision: str = "float32"


@dataclass(frozen=True, slots=True)
class Decided:
    """Decision values of some rows."""

    values: NDArray[np.float64]
    seconds: float
    """Processor time that went into them, without reading rows or the model."""


def choose_model(
    run: RunFolder, mode: str | None = None, level: int | None = None, precision: str = "float32"
) -> Choice:
    """Return which committed model predicts.

    Parameters
    ----------
    run : RunFolder
    mode : {"exact", "early", "naive"}, optional
        By default exact where the exact model is committed and no level is asked for, else early.
    level : int, optional
        For early and naive prediction; by default the lowest one that is committed.
    precision : {"float32", "float64"}
        Of kernel values.

    Raises
    ------
    InputError
        If there is no such model.
    """
    if mode is not None and mode not in MODES:
        raise InputError(f"mode: {mode!r} is not possible; give one of {', '.join(MODES)}")
    if precision not in PRECISIONS:
        raise InputError(
            f"precision: {precision!r} is not possible; give one of {', '.join(PRECISIONS)}"
        )
    exact, levels = _exact(run), _levels(run)
    if exact is None and not levels:
        raise InputError(
            f"{run.place}: has no model yet: no level is committed; "
            f"go on with it by `dcsvm resume {run.place}`"
        )
    if mode is None:
        mode = "exact" if exact is not None and level in (None, 0) else "early"
    if mode == "exact":
        if level:
            raise InputError(f"level: level {level} is predicted from by mode early or naive")
        if exact is None:
            raise InputError(
                f"{run.place}: the exact model is not committed yet; {_known(levels)}, or go on "
                f"by `dcsvm resume {run.place} --stop-at 0`"
            )
        return Choice(run.place.url, exact[0], exact[1].attempt, mode, 0, precision)
    if not levels:
        raise InputError(f"{run.place}: was trained without levels; predict with mode exact")
    level = min(levels) if level is None else level
    if level not in levels:
        raise InputError(f"level: level {level} of {run.place} is not committed; {_known(levels)}")
    name, node = levels[level]
    return Choice(run.place.url, name, node.attempt, mode, level, precision)


def load_model(run: RunFolder, stage: str, *, compact: bool = True) -> Model:
    """Return the model that a stage committed, verified.

    With `compact` its support vectors are put in the order that predicts fastest.

    Raises
    ------
    InputError
        If anything of it is missing, damaged or no model.
    """
    node = run.find(stage, "commit")
    if node is None:
        raise InputError(f"{run.place}: stage {stage} is not committed")
    _verify(node)
    try:
        model = read_model(node, Settings.from_json(run.header["settings"]).kernel)
        model.check()
    except (InputError, KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(f"{node.place}: the saved model cannot be read: {error}") from error
    return model.in_compact_order() if compact else model


def decide_stored(choice: Choice, data_url: str, start: int, stop: int) -> Decided:
    """Return the decision values of the rows start:stop of a data set."""
    return decide_given(choice, DataSet.open(data_url).rows.read(start, stop))


def decide_given(choice: Choice, rows: Rows) -> Decided:
    """Return the decision values of scaled rows."""
    model = held_model(choice)
    if is_sparse(rows) and not model.is_sparse:
        rows = np.ascontiguousarray(rows.toarray())
    elif model.is_sparse and not is_sparse(rows):
        rows = sparse.csr_array(rows)
    begin = time.thread_time()
    values = decide(model, rows, choice.mode, dtype=PRECISIONS[choice.precision])
    return Decided(values, time.thread_time() - begin)


def held_model(choice: Choice) -> Model:
    """Return a choice's model; a process keeps the last one."""
    key = (choice.run_url, choice.stage, choice.attempt)
    with _lock:
        if key not in _held:
            _held.clear()
            _held[key] = load_model(RunFolder.open(choice.run_url), choice.stage)
        return _held[key]


_lock = threading.Lock()
_held: dict[tuple[str, str, str], Model] = {}


def _exact(run: RunFolder) -> tuple[str, Committed] | None:
    """Return the exact model's stage; of several the one that was committed last."""
    found = [
        (float(node.record.get("began", 0.0)), stage, node)
        for stage in run.stages()
        if stage.startswith("model-") and (node := run.find(stage, "commit")) is not None
    ]
    return max(found, key=lambda f: f[:2])[1:] if found else None


def _levels(run: RunFolder) -> dict[int, tuple[str, Committed]]:
    found = {}
    for stage in run.stages():
        number = stage.removeprefix("level-")
        if stage.startswith("level-") and number.isdecimal():
            node = run.find(stage, "commit")
            if node is not None:
                found[int(number)] = (stage, node)
    return found


def _known(levels: dict[int, tuple[str, Committed]]) -> str:
    if not levels:
        return "no level is"
    return f"committed level(s): {', '.join(str(level) for level in sorted(levels))}"


def _verify(node: Committed) -> None:
    """Compare every object of a model with the checksum that was committed, before it is opened."""
    keys = {key: check for key, check in node.keys.items() if key.startswith(f"{MODEL}/")}
    if not keys:
        raise InputError(f"{node.place}: no model was committed there")
    for key, (size, crc) in keys.items():
        try:
            data = (node.place / key).read_bytes()
        except FileNotFoundError as error:
            raise InputError(
                f"{node.place}/{key}: is missing; delete {node.place.parent} and resume"
            ) from error
        if len(data) != size or zlib.crc32(data) != crc:
            raise InputError(
                f"{node.place}/{key}: is damaged: its checksum differs from the committed one; "
                f"delete {node.place.parent} and resume"
            )
    # Only Zarr 3 arrays are opened: older metadata can name codecs that run code.
    for key in list((node.place / MODEL).keys()):
        if key.rsplit("/", 1)[-1] in (".zarray", ".zgroup", ".zmetadata"):
            raise InputError(f"{node.place}/{MODEL}/{key}: is no part of a model of this program")
