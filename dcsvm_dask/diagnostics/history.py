"""What a run went through: one entry for each commit that measured the whole problem."""

from __future__ import annotations

from typing import Any

MEASURED = {
    "objective": ("objective_estimate", "objective"),
    "gap": ("gap_estimate", "gap"),
    "violation": ("violation",),
    "n_support": ("support",),
}


def history(status: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the points that a run has been at, in the order in which it was there.

    Parameters
    ----------
    status : dict
        What `dcsvm_dask.diagnostics.status.status` returned.

    Returns
    -------
    list of dict
        ``stage``, ``time`` (of its commit, seconds since 1970), ``seconds`` (of the stage),
        ``objective`` and ``gap`` (of the whole problem; at levels estimates), ``violation``,
        ``n_support``, and ``accuracy`` (on held-out rows; None where there are none).
    """
    stages = status["stages"]
    entries = []
    for name, record in stages.items():
        if name.startswith(("score", "model")) or "support" not in record:
            continue
        scores = (stages.get(f"score-{scored}") for scored in (name, f"model-{name}"))
        score: dict[str, Any] = next((found for found in scores if found), {})
        entry = {
            "stage": name,
            "time": record["began"] + record["seconds"],
            "seconds": status["stage_seconds"][name],
        }
        for key, names in MEASURED.items():
            entry[key] = next((record[known] for known in names if known in record), None)
        entries.append({**entry, "accuracy": score.get("accuracy")})
    return entries
