"""`resume`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from dcsvm_dask.api.continuing import continue_run
from dcsvm_dask.api.run import Place, Run
from dcsvm_dask.api.searching import refitted
from dcsvm_dask.methods.search.graph import METHOD
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution, on_client
from dcsvm_dask.runtime.header import method_of


def resume(
    run: Place,
    *,
    execution: Execution | None = None,
    client: Any = None,
    tol: float | None = None,
    stop_at: int | None = None,
    max_rounds: int | None = None,
    committee: bool | None = None,
    data: Place | None = None,
    quiet: bool = False,
    report: bool = True,
    progress: str = "auto",
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Go on with a run from what it has committed; other goals may be given.

    Of a search also with the training of its best candidate. The run keeps the sizes of blocks and
    working sets that it was begun with. Other versions of the libraries, or another kind of
    processor, than it was begun with are reported (`Callback.on_versions`); a version of the
    package whose results are others is refused.

    Parameters
    ----------
    run : str or path
        The folder or fsspec URL of the run.
    execution, client
        Where to run; see `train`.
    tol, stop_at, max_rounds, committee
        Other goals than before; None: the same.
    data : str or path, optional
        Where the run's data set lies now, if it was moved: its content must be the same.
    quiet, report, progress, callbacks
        See `train`.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If the run, its data or a goal cannot be used, or another process owns the run.
    RunError
        If the run could not be carried to its end.
    """
    begin, execution = time.monotonic(), on_client(execution, client)
    goals = {"tol": tol, "stop_at": stop_at, "max_rounds": max_rounds, "committee": committee}
    how: dict[str, Any] = {
        "quiet": quiet,
        "report": report,
        "progress": progress,
        "callbacks": callbacks,
    }
    found = continue_run(run, execution, goals, data=data, **how)
    if method_of(found.folder) != METHOD:
        return found
    return refitted(found, execution, time.monotonic() - begin, **how)
