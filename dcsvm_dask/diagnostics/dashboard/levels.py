"""The figure of the levels: blocks as rectangles, chains of rounds as bars."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import FixedTicker, Range1d
from distributed.dashboard.utils import update

from dcsvm_dask.diagnostics.dashboard import blocks
from dcsvm_dask.diagnostics.dashboard.panels import empty, hover, panel
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun

LEVEL_PIXELS, WIDTH_PIXELS = 74, 1250
ASPECT = LEVEL_PIXELS / WIDTH_PIXELS


class Levels:
    """The tree of levels: blocks as rectangles, chains of rounds as bars."""

    def __init__(self) -> None:
        self.root = panel("levels", 3 * LEVEL_PIXELS, x_range=Range1d(0, 1), y_range=Range1d(0, 3))
        self.root.yaxis.ticker = FixedTicker(ticks=[])
        self.root.min_border_left, self.root.min_border_bottom = 110, 4
        self.root.xaxis.visible = self.root.ygrid.visible = False
        self.source = empty((*blocks.PLACE, *blocks.CHANGING))
        self.bars = empty((*blocks.PLACE, "colour", "stage", "state", "said"))
        self._shown: list[Any] = []
        self._states: list[tuple[str, int]] = []
        for source in (self.source, self.bars):
            drawn = self.root.quad(
                **{key: key for key in blocks.PLACE},
                source=source,
                fill_color="colour",
                line_color=None,
            )
            if source is self.source:
                hover(self.root, [drawn], html="<div>@said{safe}</div>")
            else:
                hover(self.root, [drawn], ("stage", "@stage, @state"), ("", "@said"))

    def update(self, run: FollowedRun) -> None:
        """Draw levels that are new; of those drawn before change the blocks that have changed."""
        found = blocks.bands(run.progress)
        update(self.bars, blocks.bar_columns(found))
        drawn = [band for band in found if band.blocks]
        shown = [band.blocks for band in drawn]
        # Kept, not only their ids: what is gone may lend its id to what comes.
        n = len(self._shown)
        if len(shown) >= n and all(
            new is old for new, old in zip(shown[:n], self._shown, strict=True)
        ):
            self._patch([(band.name, block) for band in drawn[:n] for block in band.blocks])
        else:
            self.source.data = {key: [] for key in self.source.data}
            self._states, n = [], 0
        for band in drawn[n:]:
            columns = blocks.block_columns([band], ASPECT)
            places = {key: np.array(columns[key], dtype=np.float32) for key in blocks.PLACE}
            self.source.stream(columns | places)  # arrays go at once, lists value by value
            self._states += [(block.state, block.tries) for block in band.blocks]
        self._shown = shown
        self._label(found)

    def _patch(self, shown: list[tuple[str, Any]]) -> None:
        patches: dict[str, list[tuple[int, Any]]] = {key: [] for key in blocks.CHANGING}
        for i, (level, block) in enumerate(shown):
            if self._states[i] == (block.state, block.tries):
                continue
            self._states[i] = block.state, block.tries
            for key, value in blocks.block_state(level, block).items():
                patches[key].append((i, value))
        if patches["said"]:
            self.source.patch(patches)

    def _label(self, found: list[blocks.Band]) -> None:
        ticks = [0.5 * (band.bottom + band.top) for band in found]
        labels = {tick: band.label for tick, band in zip(ticks, found, strict=True)}
        axis = self.root.yaxis[0]
        if axis.major_label_overrides != labels:
            axis.ticker.ticks, axis.major_label_overrides = ticks, labels
        top = max((band.top for band in found), default=1.0)
        if self.root.y_range.end != top:
            self.root.y_range.end = top
            self.root.height = round(LEVEL_PIXELS * top) + 12
