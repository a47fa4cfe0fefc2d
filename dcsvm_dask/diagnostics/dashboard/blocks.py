"""The levels and their blocks as rectangles with colours and texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from dcsvm_dask.diagnostics.colours import BLUE, GREY, ORANGE, share_colour
from dcsvm_dask.diagnostics.dashboard.words import NOTHING, count, figure_of, host, seconds_of
from dcsvm_dask.diagnostics.progress.progress import (
    DONE,
    RUNNING,
    WAITING,
    Block,
    Progress,
    StageProgress,
)
from dcsvm_dask.diagnostics.tiles import Tile, tiles
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.storage.stage_id import LEVEL, StageId

Columns = dict[str, list[Any]]

WAITING_COLOUR = GREY + "48"
"""Visible on white and on black."""
LEVEL_HEIGHT, CHAIN_HEIGHT, APART = 1.0, 0.4, 0.14
PLACE = ("left", "right", "bottom", "top")
CHANGING = ("colour", "text")
"""Columns of blocks that change while a level is solved; each costs the scheduler time."""


@dataclass(slots=True)
class Band:
    """A level or a chain of rounds; the first one is drawn at the bottom."""

    name: str
    stages: list[StageProgress] = field(default_factory=list)
    bottom: float = 0.0

    @property
    def kind(self) -> StageKind:
        """Kind of its stages."""
        return self.stages[-1].kind

    @property
    def blocks(self) -> list[Block]:
        """Blocks of a level; empty where their sizes are not known."""
        return self.stages[-1].blocks

    @property
    def top(self) -> float:
        """Upper edge of the rectangles."""
        return self.bottom + (CHAIN_HEIGHT if self.kind.beside_levels else LEVEL_HEIGHT)

    @property
    def label(self) -> str:
        """Name and size, on a line each."""
        last = self.stages[-1]
        if last.kind.name == LEVEL:
            n = last.n_blocks or last.record.get("blocks", 0)
            return f"{self.name}\n{count(n)} blocks" if n else self.name
        rounds = sum(stage.state != WAITING for stage in self.stages)
        return f"{self.name}, {rounds} round{'s' * (rounds > 1)}" if rounds else self.name


def bands(progress: Progress) -> list[Band]:
    """Return the levels, the bottom one first, and above them the chains of rounds."""
    found: dict[str, Band] = {}
    for stage in progress.stages.values():
        if stage.kind.name == LEVEL:
            found[stage.name] = Band(f"level {StageId(stage.name).height}", [stage])
        elif stage.kind.beside_levels:
            name = stage.kind.name
            found.setdefault(name, Band(name)).stages.append(stage)
    order = sorted(found, key=lambda name: _place_of(found[name]))
    begun = [name for name in order if any(stage.state != WAITING for stage in found[name].stages)]
    # Waiting stages before one that has begun were skipped by the run.
    last = order.index(begun[-1]) if begun else 0
    order = [name for i, name in enumerate(order) if i >= last or name in begun]
    for below, above in pairwise(order):
        found[above].bottom = found[below].top + APART
    return [found[name] for name in order]


def _place_of(band: Band) -> tuple[bool, int]:
    """Return a key that sorts bands: levels, the bottom one first, then the others in turn."""
    above = band.kind.beside_levels
    return above, band.kind.turn or 0 if above else -StageId(band.stages[-1].name).height


def block_places(bands: list[Band], aspect: float) -> Columns:
    """Return a rectangle for each block whose area is proportional to its rows.

    Parameters
    ----------
    bands : list of Band
    aspect : float
        Pixels of a unit of height over pixels of the whole width.

    Returns
    -------
    dict of str to list of float
    """
    columns: Columns = {key: [] for key in PLACE}
    for band in bands:
        box = Tile(0.0, band.bottom, 1.0, band.top)
        sizes = [block.rows for block in band.blocks]
        for tile in tiles(sizes, box, aspect):
            _place(columns, tile)
    return columns


def block_state(level: str, block: Block) -> dict[str, Any]:
    """Return the columns of a block that change: its colour, and its tooltip as HTML."""
    record = block.record
    colour = {RUNNING: ORANGE, DONE: BLUE}.get(block.state, WAITING_COLOUR)
    if record:
        colour = share_colour(record["support"] / max(1, record["rows"]))
    lines = (f"<b>{name}:</b> {escape(value)}" for name, value in facts(level, block).items())
    return {"colour": colour, "text": "<br>".join(lines)}


def facts(level: str, block: Block) -> dict[str, str]:
    """Return the entries of a block's tooltip."""

    def figure(name: str) -> str:
        return figure_of(block.record.get(name))

    return {
        "block": f"{block.number} of {level}, {block.state}",
        "rows": count(block.rows),
        "support vectors": f"{figure('support')} ({figure('bounded')} bounded)",
        "objective": figure("objective"),
        "violation": figure("violation"),
        "iterations": figure("iterations"),
        "kernel values": figure("kernel_values"),
        "time": seconds_of(block.record.get("seconds")),
        "worker": host(block.worker) if block.worker else NOTHING,
        "retries": str(retries(block)),
    }


def retries(block: Block) -> int:
    """Return how often a block was begun again."""
    return max(0, block.tries - 1)


def block_columns(bands: list[Band], aspect: float) -> Columns:
    """Return all columns of all blocks."""
    states = [block_state(band.name, block) for band in bands for block in band.blocks]
    return block_places(bands, aspect) | {key: [state[key] for state in states] for key in CHANGING}


def bar_columns(bands: list[Band]) -> Columns:
    """Return rectangles for stages without listed blocks: a level as a bar, rounds side by side.

    The done share of a running stage, from the left, is coloured as running.
    """
    columns: Columns = {key: [] for key in (*PLACE, "colour", "stage", "state", "text")}
    for band in bands:
        stages = [stage for stage in band.stages if stage.state != WAITING] or band.stages[-1:]
        for i, stage in enumerate(stages):
            if not stage.blocks:
                box = (i / len(stages), (i + 1) / len(stages))
                _bar(columns, band, stage, box)
    return columns


def _bar(columns: Columns, band: Band, stage: StageProgress, box: tuple[float, float]) -> None:
    left, right = box
    middle = left + (right - left) * stage.share
    colour = BLUE if stage.state == DONE else ORANGE
    for (begin, end), filled in zip(
        pairwise((left, middle, right)), (colour, WAITING_COLOUR), strict=True
    ):
        if end > begin:
            _place(columns, Tile(begin, band.bottom, end, band.top))
            columns["colour"].append(filled)
            columns["stage"].append(stage.name if stage.state != WAITING else band.name)
            columns["state"].append(stage.state)
            columns["text"].append(_figures(stage))


def _figures(stage: StageProgress) -> str:
    """Return the known figures of a level or a round in a few words."""
    if stage.state != DONE:
        return f"{stage.tasks_done} of {stage.tasks} tasks" if stage.tasks else NOTHING
    record = stage.record
    names: tuple[str, ...] = ("objective", "gap", "violation", "support", "moved")
    if "objective_estimate" in record:
        names = ("objective_estimate", "gap_estimate", "support")
    figures = ((name.split("_")[0], record.get(name)) for name in names)
    return ", ".join(f"{name} {figure_of(value)}" for name, value in figures if value is not None)


def _place(columns: Columns, tile: Tile) -> None:
    # Slightly smaller than its area, so that the background separates neighbours.
    x = min(4e-4, 0.1 * (tile.right - tile.left))
    y = min(8e-3, 0.1 * (tile.top - tile.bottom))
    for key, value in zip(
        PLACE, (tile.left + x, tile.right - x, tile.bottom + y, tile.top - y), strict=True
    ):
        columns[key].append(value)
