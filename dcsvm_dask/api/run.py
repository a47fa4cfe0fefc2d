"""A run as Python has it: where it stands, its history, its report, prediction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dcsvm_dask.diagnostics.frames import to_frame
from dcsvm_dask.diagnostics.history import history
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.diagnostics.notebook import links, run_html
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.choice import BEST
from dcsvm_dask.prediction.predictor import Predictor
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder

Place = str | os.PathLike[str] | Location


class Run(Predictor):
    """A training's folder: what it has reached, and prediction by what it has committed.

    Get one from `train`, `resume` or `open_run`.

    Parameters
    ----------
    folder : RunFolder
        The run's folder in storage.
    """

    def __init__(self, folder: RunFolder) -> None:
        if not isinstance(folder, RunFolder):
            raise InputError(
                f"folder must be a RunFolder, got {folder!r}; open a run of a path by "
                "dcsvm_dask.open_run(path)"
            )
        self.folder = folder

    @property
    def url(self) -> str:
        """Where the run lives."""
        return self.folder.place.url

    def __fspath__(self) -> str:
        """Return the address of the folder, so that a run can be given where its path can."""
        return self.url

    def status(self) -> dict[str, Any]:
        """Return where the run stands; see `dcsvm_dask.diagnostics.status.status`."""
        return status(self.folder)

    def history(self) -> list[dict[str, Any]]:
        """Return the points that the run has been at; see `dcsvm_dask.diagnostics.history`."""
        return history(self.status())

    def results(self) -> list[dict[str, Any]]:
        """Return what a search has found so far; see `dcsvm_dask.diagnostics.search.results`."""
        from dcsvm_dask.diagnostics.search import results

        return results(self.folder)

    @property
    def best(self) -> Run | None:
        """The run of a search's best candidate; None where there is none."""
        place = self.folder.place / BEST
        return Run(RunFolder.open(place)) if (place / "run.json").exists() else None

    def report(
        self,
        out: Place | None = None,
        *,
        csv: Place | None = None,
        compute: bool = True,
        overwrite: bool = False,
    ) -> str:
        """Write a report: one HTML file that needs no network; return where it lies.

        Parameters
        ----------
        out : str or path, optional
            By default ``report.html`` in the run's folder.
        csv : str or path, optional
            A folder for a CSV file of every table.
        compute : bool, default True
            Whether to compute what costs kernel values (naive prediction, decision regions); it
            is kept in the run's folder.
        overwrite : bool, default False
            Whether tables that are there are replaced; an older report is in any case.

        Raises
        ------
        InputError
            If bokeh is not installed, what the run committed is damaged, something lies at
            `out` that is no report, or a place is inside a run or a data set.
        """
        from dcsvm_dask.diagnostics.report.report import report
        from dcsvm_dask.diagnostics.report.writing import check_places, place_in

        own = place_in(self.folder)
        place = own if out is None else Location.of(out, writable=True)
        check_places(place, csv, own=own, overwrite=overwrite)
        text, tables = report(self.folder, compute=compute)
        return _write(text, tables, place, csv)

    def frame(self) -> Any:
        """Return the history as a `pandas.DataFrame` (extra ``pandas``)."""
        return to_frame(self.history())

    def _repr_html_(self) -> str:
        found = self.status()
        return run_html(found, links(self.folder, running=found["state"] == "running"))

    def _callbacks(self) -> list[Callback]:
        return [Lines()]

    def __repr__(self) -> str:
        found = self.status()
        return f"<Run {self.url}: {found['state']}, {found['stage'] or 'nothing committed'}>"


def open_run(run: Place) -> Run:
    """Open an existing run for looking at it and for predicting.

    Parameters
    ----------
    run : str or path
        The folder or fsspec URL of the run.

    Returns
    -------
    Run

    Raises
    ------
    InputError
        If there is no run.
    """
    return Run(RunFolder.open(Location.of(run)))


def compare(
    runs: Sequence[Run | Place],
    out: Place = "comparison.html",
    *,
    csv: Place | None = None,
    overwrite: bool = False,
) -> str:
    """Write a report of several runs side by side; return where it lies.

    Parameters
    ----------
    runs : sequence of Run, str or path
        The runs, or their folders.
    out : str or path, default "comparison.html"
        Where the report is written.
    csv : str or path, optional
        A folder for a CSV file of every table.
    overwrite : bool, default False
        Whether tables that are there are replaced; an older report is in any case.

    Returns
    -------
    str
        Where the report lies.
    """
    from dcsvm_dask.diagnostics.report.report import compare as report_of
    from dcsvm_dask.diagnostics.report.writing import check_places

    place = Location.of(out, writable=True)
    check_places(place, csv, overwrite=overwrite)
    opened = [run if isinstance(run, Run) else open_run(run) for run in runs]
    text, tables = report_of([run.folder for run in opened])
    return _write(text, tables, place, csv)


def _write(text: str, tables: dict[str, Any], place: Location, csv: Place | None) -> str:
    from dcsvm_dask.diagnostics.report.writing import write_csv, write_html

    write_html(text, place)
    if csv is not None:
        write_csv(tables, Location.of(csv))
    return place.url
