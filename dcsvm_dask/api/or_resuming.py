"""`train_or_resume`: one call for jobs that a queue may start again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcsvm_dask.api.resuming import resume
from dcsvm_dask.api.run import Run
from dcsvm_dask.api.training import Place, open_holdout, train
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.linear import as_begun
from dcsvm_dask.pipeline.parameters import DEFAULT_INNER, LEVEL_TOL
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder


def train_or_resume(
    data: Place,
    run: Place,
    *,
    holdout: Place | None = None,
    execution: Execution | None = None,
    client: Any = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
    **parameters: Any,
) -> Run:
    """Train where there is no run yet; where there is one, go on with it.

    Parameters
    ----------
    data : str or path
        A data set, as `ingest` makes it; its train part.
    run : str or path
        The folder or fsspec URL of the run, which may exist.
    holdout, execution, client, quiet, report, progress, callbacks
        As `train` has them.
    **parameters
        Those of `train`. `tol`, `stop_at`, `max_rounds` and `committee` are goals, which may be
        others than the run was begun with, as in `resume`.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If the run was begun with other data or parameters, with what differs, and where `train` or
        `resume` refuse.
    RunError, KeyboardInterrupt
        As `train` does.
    """
    how: dict[str, Any] = {
        "execution": execution,
        "client": client,
        "quiet": quiet,
        "report": report,
        "progress": progress,
        "callbacks": callbacks,
    }
    place, dataset = Location.of(run), DataSet.open(data)
    if not (place / "run.json").exists():
        return train(data, run, holdout=holdout, **how, **parameters)
    training = Training.of(parameters)
    header = RunFolder.open(place).header
    training = as_begun(training, str(header["settings"].get("method")))
    differing = differences(training, dataset, header, holdout)
    if differing:
        told = "; ".join(
            f"{name.replace('_', '-')} {shown(before)}, now {shown(now)}"
            for name, (before, now) in differing.items()
        )
        raise InputError(
            f"{place}: was begun otherwise ({told}); give what it was begun with, or name another "
            "run"
        )
    return resume(place, data=data, **how, **training.goals.to_json())


def differences(
    training: Training, data: DataSet, header: dict[str, Any], holdout: Place | None
) -> dict[str, tuple[Any, Any]]:
    """Return by name what a run has and what is asked for now, where that is not the same."""
    theirs, ours = header["data"], {"url": data.url, "fingerprint": data.fingerprint}
    if theirs["fingerprint"] != ours["fingerprint"]:  # from which other differences follow
        which = "url" if theirs["url"] != ours["url"] else "fingerprint"
        return {"data": (theirs[which], ours[which])}
    found = training.differences(header["settings"], data)
    # These follow from tol, which is a goal: as in a resume, the run keeps them.
    found.pop("alone_tol", None)
    if training.inner == DEFAULT_INNER:  # runs may have begun when SMO was all there was
        found.pop("inner", None)
    if training.level_tol == LEVEL_TOL:
        found.pop("level_tol", None)
    held_out = None if holdout is None else open_holdout(holdout, data).url
    if held_out != header.get("holdout"):
        found["holdout"] = (header.get("holdout"), held_out)
    return found


def shown(value: Any) -> str:
    """Return a parameter's value in a sentence."""
    return "none" if value is None or value == [] else str(value)
