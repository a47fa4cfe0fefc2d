"""The stage after a level that calibrates its machines for committee prediction."""

from __future__ import annotations

from dcsvm_dask.graphs.graph import COMMIT, Keep, Layer, Stage, many, single
from dcsvm_dask.steps import committee
from dcsvm_dask.storage.stage_id import COMMITTEE, StageId


def committee_stage(level: Stage) -> Stage:
    """Return the stage that calibrates the machines of a level, in as many tasks as it had."""
    solve = next(layer for layer in level.layers if layer.name == "solve")
    name, slots = committee_name(level.name), len(solve.nodes)
    layers: tuple[Layer, ...] = (
        many(
            committee.LAYER,
            committee.calibrate_slot,
            slots,
            "slot",
            keep=Keep.STAGE,
            level=level.name,
            slots=slots,
        ),
        single(COMMIT, committee.commit_committee, stage=name, level=level.name, slots=slots),
    )
    return Stage(name, layers, f"{level.label}_committee")


def committee_name(level: str) -> str:
    """Return the name of the stage that calibrates a level."""
    return StageId.about(COMMITTEE, level)
