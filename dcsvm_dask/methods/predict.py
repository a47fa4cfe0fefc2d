"""Decision values of some rows by a run's committed model."""

from __future__ import annotations

import threading
import time
import zlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, stored_like
from dcsvm_dask.methods.choice import Choice
from dcsvm_dask.methods.committee import read_committee
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.models.blocks import BlocksModel
from dcsvm_dask.models.many import ManyModel
from dcsvm_dask.models.model import Model, decide
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import MODEL, AnyModel, read_any
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import COMMITTEE, StageId


@dataclass(frozen=True, slots=True)
class Decided:
    """Decision values of some rows."""

    values: NDArray[np.float64]
    """Shape (n,); of many classes (n, n_machines)."""
    seconds: float
    """Processor time that went into them, without reading rows or the model."""


def load_model(run: RunFolder, stage: str, *, compact: bool = True) -> Model:
    """Return the model of two classes that a stage committed, verified.

    With `compact` its support vectors are put in the order that predicts fastest.

    Raises
    ------
    InputError
        If anything of it is missing, damaged or no such model.
    """
    model = load_any(run, stage, compact=compact)
    if not isinstance(model, Model):
        raise InputError(f"{run.place}: has a model of {model.n_classes} classes; not so many here")
    return model


def load_any(run: RunFolder, stage: str, *, compact: bool = True) -> AnyModel:
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
        model = read_any(node, Settings.from_json(run.header["settings"]).kernel)
        model.check()
    except (InputError, KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(f"{node.place}: the saved model cannot be read: {error}") from error
    if compact and isinstance(model, Model):
        model.compact()
    return model


def decide_stored(
    choice: Choice, data_url: str, start: int, stop: int, features: list[int] | None = None
) -> Decided:
    """Return the decision values of the rows start:stop of a data set, or of some features."""
    rows = DataSet.open(data_url).rows.read(start, stop)
    return decide_given(choice, rows if features is None else rows[:, features])


def decide_given(choice: Choice, rows: Rows) -> Decided:
    """Return the decision values of scaled rows."""
    model = held_model(choice)
    rows = stored_like(rows, as_csr=model.is_sparse)
    begin = time.thread_time()
    mode = choice.mode if choice.level else "exact"
    values = decide_by(model, rows, mode, dtype=np.dtype(choice.precision).type)
    return Decided(values, time.thread_time() - begin)


def decide_by(
    model: AnyModel, X: Rows, mode: str, *, dtype: type = np.float32
) -> NDArray[np.float64]:
    """Return the decision values of a model of two classes or of many, however rows are stored."""
    if not (isinstance(model, Model) and model.features is not None):  # maps take either
        X = stored_like(X, as_csr=model.is_sparse)
    if isinstance(model, ManyModel):
        return model.decide(X, dtype=dtype)
    if isinstance(model, BlocksModel):
        return model.decide(X, mode, dtype=dtype)
    return decide(model, X, mode, dtype=dtype)


def held_model(choice: Choice) -> AnyModel:
    """Return a choice's model; a process keeps the last one."""
    key = (choice.run_url, choice.stage, choice.attempt, choice.mode == "committee")
    with _lock:
        if key not in _held:
            _held.clear()
            run = RunFolder.open(choice.run_url)
            model = load_any(run, choice.stage)
            if choice.mode == "committee" and isinstance(model, Model):
                committee = read_committee(
                    run.node(StageId.about(COMMITTEE, choice.stage), "commit")
                )
                model = replace(model, committee=committee)
            _held[key] = model
        return _held[key]


_lock = threading.Lock()
_held: dict[tuple[str, str, str, bool], AnyModel] = {}


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
