"""The report of one run, and the comparison of several."""

from __future__ import annotations

from dcsvm_dask.diagnostics.penalties import penalties
from dcsvm_dask.diagnostics.report.page import page, require
from dcsvm_dask.diagnostics.report.tables.about import command
from dcsvm_dask.diagnostics.report.tables.comparison import (
    accuracies,
    comparison,
    errors,
    names,
    tests,
)
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.plane import plane
from dcsvm_dask.diagnostics.report.tables.records import Records, read_records
from dcsvm_dask.diagnostics.report.tables.support_compared import support_compared
from dcsvm_dask.diagnostics.report.tables.table import Table
from dcsvm_dask.diagnostics.summary import is_exact
from dcsvm_dask.kernels import parameters_of
from dcsvm_dask.methods.registry import has_levels
from dcsvm_dask.methods.search.graph import METHOD
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.storage.run import RunFolder


def report(run: RunFolder | Records, *, compute: bool = True) -> tuple[str, dict[str, Table]]:
    """Return the report of a run as HTML, and its tables.

    Parameters
    ----------
    run : RunFolder or Records
    compute : bool, default True
        Whether to compute figures that cost kernel values and store them in the run's folder;
        otherwise only stored ones are shown.

    Returns
    -------
    html : str
    tables : dict of str to Table

    Raises
    ------
    InputError
        If bokeh is not installed, or a commit of the run is damaged.
    """
    require()
    records = run if isinstance(run, Records) else read_records(run)
    found = tables(records, compute=compute)
    # They import bokeh.
    from dcsvm_dask.diagnostics.report.views import levels, workers
    from dcsvm_dask.diagnostics.report.views import run as of_run
    from dcsvm_dask.diagnostics.report.views.plane import plane_section
    from dcsvm_dask.diagnostics.report.views.predictions import prediction_section
    from dcsvm_dask.diagnostics.report.views.progress import progress_section
    from dcsvm_dask.diagnostics.report.views.targets import target_section

    if records.status["method"] == METHOD:
        return _search_report(records, found), found
    climbs = has_levels(records.status["method"])
    quality = (levels.theory_section(records, found), levels.blocks_section(records, found))
    sections = [
        of_run.summary_section(found),
        *([levels.tree_section(records, found)] if climbs else []),
        progress_section(records, found),
        (prediction_section if records.task.has_classes else target_section)(records, found),
        plane_section(records, plane(records, compute=compute)),
        *(quality if climbs else ()),
        workers.workers_section(records, found),
        workers.work_section(found),
        of_run.plan_section(found),
        workers.faults_section(records, found),
        of_run.repeat_section(records, found, command(records)),
    ]
    text = page(
        title=f"{records.run.place.name}",
        subtitle=_subtitle(records),
        state=_state(records),
        headlines=of_run.headlines(records, found),
        notes=records.notes,
        sections=sections,
        tables=found,
    )
    return text, found


def _search_report(records: Records, found: dict[str, Table]) -> str:
    """Return the report of a search, which has no model of its own."""
    from dcsvm_dask.diagnostics.report.views import run as of_run
    from dcsvm_dask.diagnostics.report.views import workers
    from dcsvm_dask.diagnostics.report.views.search import search_headlines, search_section

    return page(
        title=f"{records.run.place.name}",
        subtitle=_subtitle(records),
        state=str(records.status["state"]),
        headlines=search_headlines(records, found),
        notes=records.notes,
        sections=[
            search_section(records, found),
            of_run.summary_section(found),
            workers.workers_section(records, found),
            workers.work_section(found),
            of_run.plan_section(found),
            workers.faults_section(records, found),
            of_run.repeat_section(records, found, command(records)),
        ],
        tables=found,
    )


def _state(records: Records) -> str:
    status = records.status
    if status["state"] == "complete" and is_exact(status):
        return "complete, converged" if status["converged"] else "complete, not converged"
    if status["state"] == "complete":
        return f"complete at {status['model']}"
    return str(status["state"])


def _subtitle(records: Records) -> str:
    settings, data = records.settings, records.data
    kernel = settings["kernel"]
    rows = records.run.header["shape"].get("n_rows", 0)
    about = f"{rows:,} rows" + (f" of {data.n_features:,} features" if data is not None else "")
    method = records.status["method"]
    how = f"{'' if method == DEFAULT_METHOD else method + ', '}{kernel['name']} kernel"
    if method != METHOD and "gamma" in parameters_of(kernel["name"]):
        how += f", gamma {kernel['gamma']:g}"
    if method != METHOD:
        how += "".join(f", {name} {value}" for name, value in penalties(settings).items())
    how += ", with a bias" if settings["fit_intercept"] else ""
    task = records.task.name
    how += "" if task == "classification" else f", {task}"
    return f"{about} · {how} · {records.run.place}"


def compare(runs: list[RunFolder]) -> tuple[str, dict[str, Table]]:
    """Return the comparison of several runs as HTML, and its tables.

    Raises
    ------
    InputError
        If bokeh is not installed, or a commit of a run is damaged.
    """
    require()
    records = [read_records(run) for run in runs]
    called = names(records)
    found = {
        "comparison": comparison(records),
        "accuracies": accuracies(records),
        "errors": errors(records),
        "support": support_compared(records),
        "tests": tests(records),
    }
    from dcsvm_dask.diagnostics.report.views import compare as sections

    text = page(
        title=f"{len(runs)} runs side by side",
        subtitle=" · ".join(called),
        state="",
        headlines=[],
        notes=[
            f"{name}: {note}"
            for name, one in zip(called, records, strict=True)
            for note in one.notes
        ],
        sections=[
            sections.table_section(found["comparison"]),
            sections.accuracy_section(found["accuracies"], called),
            sections.error_section(found["errors"], called),
            *sections.support_sections(found["support"]),
            *sections.test_sections(found["tests"]),
        ],
        tables=found,
    )
    return text, found
