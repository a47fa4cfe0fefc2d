"""Rounds of linear methods until all SVMs of a run are within the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Outcome, Stage, Stages
from dcsvm_dask.methods.linear.model import model_stage
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stages import merge_stage, scored
from dcsvm_dask.methods.stall import Stall

RoundStage = Callable[[int, str | None, Sequence[int]], Stage]


def rounds(
    goals: Goals,
    shape: Shape,
    round_stage: RoundStage,
    stall: Stall,
    *,
    svms: int,
    rest: bool,
    constant: float,
) -> Stages:
    """Yield the merging of repeated rows, rounds, and the model of the last one.

    Parameters
    ----------
    goals : Goals
    shape : Shape
    round_stage : callable
        Returns the stage of a round, given its number from 1, the stage of the round before (None:
        there is none) and the SVMs that go on.
    stall : Stall
        Ends rounds that come no nearer.
    svms : int
        SVMs of the run.
    rest : bool
        Whether SVMs that are within the tolerance rest while others go on.
    constant : float
        The constant feature; 0: there is no bias.
    """
    before, previous = [merge_stage()], None
    left: Sequence[int] = range(svms)
    converged = False
    for number in range(1, goals.max_rounds + 1):
        stage = round_stage(number, previous, left)
        record = (yield [*before, stage])[stage.name]
        before, previous = [], stage.name
        converged = record["violation"] <= goals.tol
        stall.see(record)
        # If the run went further before its tolerance was raised, this point is gone.
        if (converged or stall.is_over) and not record["released"]:
            break
        if rest:
            left = [i for i, one in enumerate(record["violations"]) if one > goals.tol] or left
    assert previous is not None
    model = model_stage(previous, constant)
    yield scored(model, shape)
    return Outcome(model.name, converged, "" if converged else stall.message(goals.tol))
