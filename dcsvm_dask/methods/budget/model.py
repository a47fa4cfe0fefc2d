"""The model of descent on a budget: the support vectors of each SVM are its own."""

from __future__ import annotations

from dcsvm_dask.methods.budget.points import model_at, point_of
from dcsvm_dask.methods.graph import COMMIT, Stage, single
from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.solvers import far_merges
from dcsvm_dask.storage.model import write_whole
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import MODEL, StageId

COUNTED = ("steps", "violations", "merges", "removals", "far_merges")


def model_stage(source: str) -> Stage:
    """Return the stage that writes the model of a stage."""
    layers = (single(COMMIT, commit_budgeted, source=source),)
    return Stage(StageId.about(MODEL, source), layers, "model")


def commit_budgeted(run: RunFolder, attempt: Attempt, *, source: str) -> Record:
    """Commit the model of a stage.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    source : str
        The stage.
    """
    problem, node = read_problem(run), run.node(source, "commit")
    points = [point_of(node, machine) for machine in range(node.record["svms"])]
    model = model_at(problem, points)
    bias = model.bias[0]
    # Merged points are rows of nobody: whether rows see each other is looked at among all.
    nothing_seen = bool(far_merges(node.record, problem.settings.kernel))
    return {
        "source": source,
        **{key: node.record[key] for key in COUNTED},
        "support": model.n_support,
        "bias": float(bias[0]) if len(bias) == 1 else bias.tolist(),
        **(isolation(problem) if nothing_seen else {}),
        **write_whole(attempt, model),
    }
