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
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import Outputs
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import MODEL, read_model
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import COMMITTEE, StageId


@dataclass(frozen=True, slots=True)
class Decided:
    """Decision values of some rows."""

    values: NDArray[np.float64]
    """Shape (n,) for a single SVM, else (n, n_svms)."""
    seconds: float
    """Processor time that went into them, without reading rows or the model."""


def load_single(run: RunFolder, stage: str, *, compact: bool = True) -> Model:
    """Return the model of a stage as `load_model` does; refuse one of more than two classes.

    Parameters
    ----------
    run : RunFolder
    stage : str
    compact : bool, default True

    Raises
    ------
    InputError
        If anything of it is missing or damaged, or a block has several SVMs.
    """
    model = load_model(run, stage, compact=compact)
    if not model.is_single:
        what = "quantiles" if isinstance(model.scheme, Outputs) else "classes"
        one = "one quantile" if isinstance(model.scheme, Outputs) else "two classes"
        raise InputError(
            f"{run.place}: has a model of {model.n_classes} {what}; one of {one} is needed"
        )
    return model


def load_model(run: RunFolder, stage: str, *, compact: bool = True) -> Model:
    """Return the model that a stage committed, verified.

    Parameters
    ----------
    run : RunFolder
    stage : str
    compact : bool, default True
        Whether support vectors are put in the order that predicts fastest.

    Raises
    ------
    InputError
        If anything of it is missing or damaged.
    """
    node = run.find(stage, "commit")
    if node is None:
        raise InputError(f"{run.place}: stage {stage} is not committed")
    if node.released:
        raise InputError(
            f"{run.place}: the model of {stage} was replaced by that of a later stage meanwhile; "
            "predict again"
        )
    _verify(node)
    try:
        model = read_model(node, Settings.from_json(run.header["settings"]).kernel)
        model.check()
    except (InputError, KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(f"{node.place}: the saved model cannot be read: {error}") from error
    if compact:
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
    model = cached_model(choice)
    rows = stored_like(rows, as_csr=model.is_sparse)
    begin = time.thread_time()
    mode = choice.mode if choice.level else "exact"
    values = decide_by(model, rows, mode, dtype=np.dtype(choice.precision).type)
    return Decided(values, time.thread_time() - begin)


def decide_by(model: Model, X: Rows, mode: str, *, dtype: type = np.float32) -> NDArray[np.float64]:
    """Return decision values as `decide` does, of rows that may be dense or CSR."""
    if model.features is None:  # feature maps take either
        X = stored_like(X, as_csr=model.is_sparse)
    return decide(model, X, mode, dtype=dtype)


def cached_model(choice: Choice) -> Model:
    """Return the model of a choice; a process caches the last one."""
    key = (choice.run_url, choice.stage, choice.attempt, choice.mode == "committee")
    with _lock:
        if key not in _cache:
            _cache.clear()
            run = RunFolder.open(choice.run_url)
            model = load_model(run, choice.stage)
            if choice.mode == "committee":
                committee = read_committee(
                    run.node(StageId.about(COMMITTEE, choice.stage), "commit")
                )
                model = replace(model, committee=committee)
            _cache[key] = model
        return _cache[key]


_lock = threading.Lock()
_cache: dict[tuple[str, str, str, bool], Model] = {}


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
