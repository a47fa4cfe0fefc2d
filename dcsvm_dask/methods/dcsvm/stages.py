"""The stages of DC-SVM's levels: rows in block order, blocks solved, biases, committees."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.methods import arrange, committee, partition
from dcsvm_dask.methods.dcsvm import balance, level
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Graph, Keep, Layer, Stage, many, single
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import (
    PAGES_OF_PIECE,
    arrange_parts,
    bottom_clusters,
    level_slots,
    row_parts,
    shuffle_shares,
)
from dcsvm_dask.methods.stages import score_stage, scored
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import BALANCE, COMMITTEE, PARTITION, StageId


def arrange_stage(settings: Settings, shape: Shape, parts: int | None = None) -> Stage:
    """Return the stage that clusters all rows and writes them in block order.

    Parameters
    ----------
    parts : int, optional
        Tasks that write rows in block order; None: as many as the data's size asks for.
    """
    n_clusters = bottom_clusters(settings.clusters, shape.n_variables)
    parts = arrange_parts(shape.n_bytes) if parts is None else parts
    shuffled = parts > 1
    if shuffled:
        shares, pages = shuffle_shares(shape.n_bytes, parts), PAGES_OF_PIECE * parts
        assigning = many(
            "assign", arrange.assign_and_sort, shares, "part", parts=shares, pages=pages
        )
        found = [single("pieces", arrange.find_pieces, keep=Keep.STAGE, parts=parts, shares=shares)]
    else:
        shares, found = row_parts(shape.n_rows, settings.chunk_rows), []
        assigning = many("assign", partition.assign_data, shares, "part", parts=shares)
    layers = (
        single("cluster", partition.cluster_data, n_clusters=n_clusters),
        assigning,
        single("order", arrange.order_rows, keep=Keep.RUN, parts=shares, readers=parts),
        *found,
        many(
            "part",
            arrange.arrange_part,
            parts,
            "part",
            keep=Keep.RUN,
            parts=parts,
            shuffled=shuffled,
        ),
        single(COMMIT, arrange.commit_arrangement, parts=parts),
    )
    return Stage(ARRANGE, layers, "arrange")


def bottom_stage(settings: Settings, shape: Shape) -> Stage:
    """Return the bottom level: the blocks that were arranged, solved from zero."""
    number = len(settings.clusters)
    name, slots = StageId.level(number), level_slots(settings.clusters[0], shape.n_variables)
    layers = (
        many(
            "solve",
            level.solve_slot,
            slots,
            "slot",
            stage=name,
            slots=slots,
            below=None,
        ),
        single(COMMIT, level.commit_level, stage=name, slots=slots, below=None),
    )
    return Stage(name, layers, f"l{number}")


def partition_stage(settings: Settings, number: int) -> Stage:
    """Return the stage that chooses a level's partition, and says whether to solve its blocks.

    Parameters
    ----------
    settings : Settings
    number : int
        Number of the level.
    """
    name = StageId.about(PARTITION, StageId.level(number))
    layer = single(COMMIT, partition.weigh_partition, **_partition_of(settings, number))
    return Stage(name, (layer,), f"l{number}_partition")


def _partition_of(settings: Settings, number: int) -> dict[str, Any]:
    """Return the arguments of the steps that choose a level's partition."""
    n_clusters = settings.clusters[len(settings.clusters) - number]
    return {"level": number, "n_clusters": n_clusters, "below": StageId.level(number + 1)}


def level_stage(settings: Settings, shape: Shape, number: int, *, weighed: bool = False) -> Stage:
    """Return a level above the bottom: clustered anew on support vectors, solved warm.

    Parameters
    ----------
    settings : Settings
    shape : Shape
    number : int
        Number of the level.
    weighed : bool, default False
        Whether `partition_stage` has chosen its partition.
    """
    name, below = StageId.level(number), StageId.level(number + 1)
    chosen = _partition_of(settings, number)
    slots = level_slots(chosen["n_clusters"], shape.n_variables)
    parts = row_parts(shape.n_variables, settings.chunk_rows)
    clustering = () if weighed else (single("cluster", partition.cluster_support, **chosen),)
    layers = (
        *clustering,
        many("assign", partition.assign_problem, parts, "part", stage=name, parts=parts),
        single("order", partition.order_blocks, stage=name, parts=parts),
        many(
            "solve",
            level.solve_slot,
            slots,
            "slot",
            stage=name,
            slots=slots,
            below=below,
        ),
        single(COMMIT, level.commit_level, stage=name, slots=slots, below=below),
    )
    return Stage(name, layers, f"l{number}")


def balance_stage(level: str, number: int, previous: str, record: Record) -> Stage:
    """Return the stage that solves all blocks for the next bias.

    Parameters
    ----------
    level : str
        The stage of the level.
    number : int
        Number of the solution.
    previous : str
        The stage of the last solution.
    record : dict
        Its record.
    """
    name, slots = StageId.numbered(BALANCE, number), level_slots(record["blocks"], record["rows"])
    layers = (
        many(
            "solve",
            balance.move_slot,
            slots,
            "slot",
            level=level,
            previous=previous,
            slots=slots,
        ),
        single(
            COMMIT,
            balance.commit_balance,
            stage=name,
            level=level,
            previous=previous,
            slots=slots,
        ),
    )
    return Stage(name, layers, "balance", supersedes=previous if previous != level else None)


def scored_level(level: Stage, goals: Goals, shape: Shape) -> Graph:
    """Return a level's stage and the stages that score it and calibrate its SVMs.

    Parameters
    ----------
    level : Stage
    goals : Goals
    shape : Shape
    """
    graph = scored(level, shape)
    if goals.committee:
        graph.append(committee_stage(level))
        if shape.holdout:
            graph.append(score_stage(level, committee=graph[-1]))
    return graph


def committee_stage(level: Stage) -> Stage:
    """Return the stage that calibrates the SVMs of a level, in as many tasks as it had."""
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
