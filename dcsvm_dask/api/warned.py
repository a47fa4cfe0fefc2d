"""The warnings of a run whose problem is solved, but not as one would expect."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcsvm_dask.diagnostics.status import doubts, fallbacks_of, read_nodes
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.methods.choice import reached_model
from dcsvm_dask.methods.fallbacks import fallbacks_warning
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.isolated import isolated_rows_warning
from dcsvm_dask.methods.narrow import margins_of, narrow_margins_warning
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.methods.registry import approximation
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import MODEL, SCORE, StageId
from dcsvm_dask.storage.state import read_state

_LEFT = ContextVar("narrow_left_to_caller", default=False)


@contextmanager
def narrow_left_to_caller() -> Iterator[None]:
    """Leave warnings of models of no use to the caller, whose models need not be of runs.

    Those are the warnings of narrow margins, of too many support vectors and of one class.
    """
    token = _LEFT.set(True)
    try:
        yield
    finally:
        _LEFT.reset(token)


def warn_of_model(run: RunFolder) -> None:
    """Warn the caller of the model that a run reached.

    It did not converge, nearly all rows are support vectors, it predicts one class, its kernel
    matrix is the identity, its tolerance does not resolve its margin, or the inner solver that is
    named did not finish its working sets.
    """
    stage = reached_model(run)
    node = None if stage is None else run.find(stage, "commit")
    if stage is None or node is None:
        return
    settings, record = Settings.from_json(run.header["settings"]), node.record
    ended = read_state(run)
    exact = StageId(stage).kind == MODEL and approximation(run.header["settings"]) is None
    if exact and ended.get("state") == "complete" and not ended["converged"]:
        message = "the run ended before its violation was within the tolerance"
        if record.get("violation") is not None:
            message += f": {record['violation']:.2g}, not {run.header['goals']['tol']:g}"
        message += f" ({ended['message']})" if ended["message"] else ""
        warnings.warn(DcsvmWarning(message), stacklevel=4)
    if record.get("isolated"):
        message = isolated_rows_warning(
            settings.kernel, None if "outputs" in record else record["support"]
        )
        warnings.warn(DcsvmWarning(message), stacklevel=4)
    named = (ARRANGE, stage, StageId.about(SCORE, stage))
    commits = {name: one.record for name in named if (one := run.find(name, "commit"))}
    for message in () if _LEFT.get() else doubts(run, commits):
        warnings.warn(DcsvmWarning(message), stacklevel=4)
    if settings.inner not in ("auto", "smo"):
        count = sum(fallbacks_of(read_nodes(run)).values())
        if count:
            message = fallbacks_warning(settings.inner, count)
            warnings.warn(DcsvmWarning(message), stacklevel=4)
    tol = Goals(**run.header["goals"]).tol
    if not _LEFT.get() and (
        narrow := narrow_margins_warning(margins_of(record, settings.make_task()), tol)
    ):
        warnings.warn(DcsvmWarning(narrow), stacklevel=4)
