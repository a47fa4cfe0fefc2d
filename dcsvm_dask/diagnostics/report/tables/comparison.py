"""Several runs side by side."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.penalties import NUMBERS, penalties
from dcsvm_dask.diagnostics.report.tables.about import summary
from dcsvm_dask.diagnostics.report.tables.history import history
from dcsvm_dask.diagnostics.report.tables.predictions import predictions
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of, table
from dcsvm_dask.diagnostics.report.tables.trials import columns_of, trials
from dcsvm_dask.methods.registry import is_whole_problem, options_of
from dcsvm_dask.tasks import WITHOUT_C
from dcsvm_dask.tasks.scores import known_keys


def names(runs: list[Records]) -> list[str]:
    """Return short names of the runs: the last parts of their places that differ."""
    parts = [run.run.place.url.rstrip("/").split("/") for run in runs]
    for depth in range(1, max(map(len, parts)) + 1):
        found = ["/".join(part[-depth:]) for part in parts]
        if len(set(found)) == len(found):
            return found
    return [f"{name} ({number})" for number, name in enumerate(found, 1)]


def problem_of(records: Records) -> tuple[Any, ...]:
    """Return the values that make objectives comparable: data, kernel, C, bias, task, scheme."""
    settings = records.settings
    kernel = tuple(sorted(settings["kernel"].items()))
    fingerprint = records.run.header["data"]["fingerprint"]
    weights = tuple(settings.get("class_weight", ()))
    task = f"{records.task.name} {records.task.to_json()}"
    scheme = settings.get("multiclass", "ovo"), options_of(settings)[1].is_joint
    return (fingerprint, kernel, settings["C"], weights, settings["fit_intercept"], task, *scheme)


def comparison(runs: list[Records]) -> Table:
    """Return a row for each run: data, parameters and results.

    ``problem`` numbers the problems (data, kernel, C, bias, task, scheme of classes): objectives of
    runs of one problem may be compared. ``relative_error`` is (f - best f) / |best f| among the
    models of the same problem whose objective was measured. The scores are those of the runs'
    tasks.
    """
    problems = list(dict.fromkeys(map(problem_of, runs)))
    best = best_objectives(runs)
    found = [dict(zip(*summary(records).values(), strict=True)) for records in runs]
    keys = known_keys(found) or ("accuracy",)
    parameters = [penalties(records.settings) for records in runs]
    own = [name for name in NUMBERS if any(name in told for told in parameters)]
    rows = []
    for name, records, about, told in zip(names(runs), runs, found, parameters, strict=True):
        settings, problem = records.settings, problem_of(records)
        lowest, mine = best.get(problem), records.objective
        gap = None
        if mine is not None and lowest:
            gap = (mine - lowest) / abs(lowest)
        rows.append(
            {
                "run": name,
                "problem": problems.index(problem) + 1,
                "data": records.run.header["data"]["url"],
                "rows": records.run.header["shape"].get("n_rows"),
                "kernel": settings["kernel"]["name"],
                "gamma": settings["kernel"]["gamma"],
                "C": None if records.task.name in WITHOUT_C else settings["C"],
                **{name: told.get(name) for name in own},
                "fit_intercept": settings["fit_intercept"],
                "clusters": ", ".join(map(str, settings["clusters"])),
                "tol": records.run.header["goals"].get("tol"),
                "state": about["state"],
                "model": about["model"],
                "workers": about["workers"],
                "seconds": about["seconds"] or about["work_seconds"],
                **{key: about.get(key) for key in keys},
                "objective": about["objective"],
                "relative_error": gap,
                "gap": about["gap"],
                "violation": about["violation"],
                "n_support": about["n_support"],
                "kernel_values": about["kernel_values"],
                "peak_bytes": about["peak_bytes"],
            }
        )
    columns = tuple(rows[0]) if rows else ()
    return table(columns, rows)


def best_objectives(runs: list[Records]) -> dict[tuple[Any, ...], float]:
    """Return the best objective of a model for each problem."""
    best: dict[tuple[Any, ...], float] = {}
    for records in runs:
        problem, objective = problem_of(records), records.objective
        if objective is not None:
            best[problem] = min(best.get(problem, objective), objective)
    return best


def accuracies(runs: list[Records]) -> Table:
    """Return the accuracies over time of all runs, a row for each early or exact model."""
    rows = [
        {"run": name, **row}
        for name, records in zip(names(runs), runs, strict=True)
        for row in rows_of(predictions(records))
        if row["mode"] != "committee"
    ]
    columns = ("run", "level", "mode", "time", "rows", "accuracy", "accuracy_error")
    return table(columns, sorted(rows, key=lambda row: (row["run"], row["time"])))


def errors(runs: list[Records]) -> Table:
    """Return the relative error of the objective over time: a row for each point of each run.

    The error is against the best model's objective among the runs of the same problem. Levels are
    estimates with standard errors; ``gap`` of exact points is the duality gap over |best f|, an
    upper bound on the error. Runs are left out if no model's objective of their problem is known,
    or if their method solves another problem or measures a sample of the rows, or if the model's
    objective is in another scale than that of its rounds, as nu-SVC's is.
    """
    best = best_objectives(runs)
    rows = []
    for name, records in zip(names(runs), runs, strict=True):
        lowest = best.get(problem_of(records))
        scaled = records.task.decision_scale(-2.0) != 1.0
        if not lowest or scaled or not is_whole_problem(records.status["method"]):
            continue
        for row in rows_of(history(records)):
            if row["objective"] is not None:
                error = (row["objective"] - lowest) / abs(lowest)
                spread = (row["objective_error"] or 0.0) / abs(lowest)
                exact = not row["estimated"] and row["gap"] is not None
                about = {key: row[key] for key in ("stage", "level", "time")}
                about |= {"gap": row["gap"] / abs(lowest) if exact else None}
                rows.append({"run": name, **about, "error": error, "standard_error": spread})
    return table(("run", "stage", "level", "time", "error", "standard_error", "gap"), rows)


def tests(runs: list[Records]) -> Table:
    """Return the stored tests of all runs: a row for each prediction mode."""
    rows = [
        {"run": name, **row}
        for name, records in zip(names(runs), runs, strict=True)
        for row in rows_of(trials(records.run))
    ]
    return table(("run", *columns_of(rows)), rows)
