"""The history of a run: one entry for each commit that measured the whole problem."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.storage.stage_id import MODEL, StageId, scores_of
from dcsvm_dask.tasks.scores import known_keys

MEASURED = {
    "objective": ("objective_estimate", "objective"),
    "gap": ("gap_estimate", "gap"),
    "violation": ("violation",),
    "n_support": ("support",),
    "n_bounded": ("bounded",),
    "moved": ("moved",),
    "objective_error": ("objective_error",),
    "gap_error": ("gap_error",),
    "passes": ("passes",),
}


def history(status: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the commits that measured the whole problem, in the order of their times.

    Parameters
    ----------
    status : dict
        The result of `dcsvm_dask.diagnostics.status.status`.

    Returns
    -------
    list of dict
        Each has ``stage``, ``level`` and ``round`` (numbers, None where the stage is no level or no
        round), ``time`` (of the commit, seconds since 1970), ``seconds`` (of the stage),
        ``elapsed`` (seconds of work up to its end, of all processes that ran it), ``objective`` and
        ``gap`` (of the whole problem; at levels estimates, with the standard errors
        ``objective_error`` and ``gap_error``), ``violation``, ``n_support`` and ``n_bounded``
        (support vectors at C), ``moved`` (alphas that a round changed), ``primal_objective`` (which
        the gap lies above the dual one), ``passes`` (over the rows, of linear methods), and the
        scores on held-out rows: ``accuracy``, or those of the run's task, such as ``r2``,
        ``pinball`` or ``auc``. A figure that was not measured is None: rounds of refinement measure
        gap and violation of the support vectors' problem only.
    """
    stages = status["stages"]
    keys = known_keys(r for name, r in stages.items() if kind_of(name).judges) or ("accuracy",)
    entries, elapsed = [], 0.0
    for name, record in stages.items():
        elapsed += status["stage_seconds"][name]
        stage, kind = StageId(name), kind_of(name)
        later = kind.measured_by and StageId.numbered(kind.measured_by, stage.number or 0)
        # A model is made of a point that was measured, or its own stage has measured it.
        remade = stage.kind == MODEL and ("source" in record or "objective" not in record)
        if kind.judges or remade or "support" not in record or later in stages:
            continue
        scores = (stages.get(scored) for scored in scores_of(name))
        score: dict[str, Any] = next((found for found in scores if found), {})
        entry = {
            "stage": name,
            "level": stage.number if stage.is_level else None,
            "round": stage.number if kind.is_round else None,
            "time": record["began"] + record["seconds"],
            "seconds": status["stage_seconds"][name],
            "elapsed": elapsed,
        }
        for key, names in MEASURED.items():
            entry[key] = next((record[known] for known in names if known in record), None)
        if not kind.of_all_rows:
            entry["gap"] = entry["violation"] = None
        dual, gap = entry["objective"], entry["gap"]
        entry["primal_objective"] = None if dual is None or gap is None else gap - dual
        entries.append({**entry, **{key: score.get(key) for key in keys}})
    return entries
