"""The page's document: its figures, its head, and their updates."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.models import Div, FixedTicker, InlineStyleSheet, Range1d, Select
from dask.utils import key_split
from distributed.dashboard.components import add_periodic_callback
from distributed.dashboard.components.scheduler import BOKEH_THEME
from distributed.dashboard.components.scheduler import env as dask_pages
from distributed.dashboard.utils import update

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHARES, SKY
from dcsvm_dask.diagnostics.dashboard import blocks, header
from dcsvm_dask.diagnostics.dashboard.figures import (
    Falls,
    Gap,
    Objective,
    Rounds,
    Support,
    Workers,
)
from dcsvm_dask.diagnostics.dashboard.panels import Shown, empty, hover, panel
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun, Runs

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
        self.bars = empty((*blocks.PLACE, "colour", "stage", "state", "text"))
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
                hover(self.root, [drawn], html="<div>@text{safe}</div>")
            else:
                hover(self.root, [drawn], ("stage", "@stage, @state"), ("", "@text"))

    def update(self, run: FollowedRun) -> None:
        """Draw new levels; of levels that are drawn change the blocks that have changed."""
        found = blocks.bands(run.progress)
        update(self.bars, blocks.bar_columns(found))
        drawn = [band for band in found if band.blocks]
        shown = [band.blocks for band in drawn]
        # The lists are kept, not their ids: a new object may get the id of a deleted one.
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
        if patches["text"]:
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


TEMPLATE = Path(__file__).with_name("page.html")

# Bokeh's text is in shadow trees, which the page's style does not reach; its variables do.
INSIDE = """
:host { color: var(--ink); font-size: 14px; }
p { margin: 0 0 6px; }
code { color: var(--ink); background: var(--line); padding: 1px 5px; border-radius: 4px; }
.state { font-size: 19px; font-weight: 600; }
.state::before { content: ""; display: inline-block; width: 11px; height: 11px; margin-right: 9px;
  border-radius: 50%; background: var(--grey); }
.state.on::before { background: var(--running); }
.state.complete::before { background: var(--goal); }
.state.failed::before { background: var(--bounded); }
.state span { font-size: 13px; font-weight: 400; color: var(--quiet); margin-left: 14px; }
.message { color: var(--quiet); }
dl { display: flex; flex-wrap: wrap; gap: 8px 26px; margin: 8px 0 0; }
dt { font-size: 12px; color: var(--quiet); }
dd { margin: 1px 0 0; font-size: 15px; font-variant-numeric: tabular-nums; }
ul { margin: 0; padding: 0; list-style: none; }
li { margin: 0 0 3px; }
time, .quiet { color: var(--quiet); }
select { color: var(--ink); background: var(--panel); border-color: var(--line); max-width: 60em; }
"""


def page_template(pages: Any) -> Any:
    """Return the page's template, which extends Dask's.

    Parameters
    ----------
    pages : jinja2.Environment
        The environment of Dask's templates.
    """
    return pages.from_string(TEMPLATE.read_text(encoding="utf-8"))


EVERY_MILLISECONDS = 1000
BLOCKS_A_SECOND, LONGEST_PAUSE = 300, 5.0
"""Blocks per second between two updates: pages with many blocks are drawn less often."""
RATES_EVERY = 4
"""Updates between two updates of the rates, which change slowly."""
AXIS_SECONDS = 10.0
"""Step by which the time axis grows: each step is a message to each browser."""
NEWEST = "the newest run"


class Page:
    """The page in one browser.

    Parameters
    ----------
    runs : Runs
    scheduler : distributed.Scheduler
    """

    def __init__(self, runs: Runs, scheduler: Any) -> None:
        self._runs, self._scheduler = runs, scheduler
        self._shown: tuple[FollowedRun | None, int] = (None, -1)
        self._updates = 0
        self._drawn = 0.0
        seconds, rounds = Range1d(0, 60), Range1d(-0.5, 4.5)
        self._seconds = seconds
        style = [InlineStyleSheet(css=INSIDE)]
        self.head = Div(name="head", sizing_mode="stretch_width", stylesheets=style)
        self.faults = Div(name="faults", sizing_mode="stretch_width", stylesheets=style)
        self.choice = Select(
            name="choice", options=[NEWEST], value=NEWEST, visible=False, stylesheets=style
        )
        self.levels = Levels()
        self.workers = Workers()
        self.figures: list[Shown] = [
            self.levels,
            Objective(seconds),
            Gap(seconds),
            Rounds("violation", rounds, RED),
            Rounds("moved", rounds, SKY),
            Falls("falls", "violation", seconds, RED),
            Falls("speed", "rate", seconds, PURPLE),
            Support(),
        ]
        drawn = [*(figure.root for figure in self.figures), self.workers.root]
        self.roots = [self.head, self.choice, self.faults, *drawn]

    def update(self) -> None:
        """Send changes to the browser, unless the last update is recent."""
        run, now = self._chosen(), time.time()
        if run is self._shown[0] and now - self._drawn < pause_of(run):
            return
        self._drawn = now
        self._offer()
        if run is None:
            address = getattr(self._scheduler, "address", "ADDRESS")
            set_text(self.head, header.no_run(address))
            self.head.css_classes = ["idle"]  # hides empty figures
            return
        shown = ["of-sets"] if run.progress.is_of_sets else []  # hides figures without meaning
        if self.head.css_classes != shown:
            self.head.css_classes = shown
        set_text(self.head, header.head(run, len(self._scheduler.workers), now))
        if self._shown == (run, run.n_messages):
            return
        other = self._shown[0] is not run
        self._shown = run, run.n_messages
        for figure in self.figures:
            figure.update(run)
        if other or not run.is_on or self._updates % RATES_EVERY == 0:
            self.workers.update(run, doing(self._scheduler))
        self._updates += 1
        set_text(self.faults, header.faults(run.progress))
        taken = 1.02 * run.progress.elapsed(now)
        self._seconds.end = AXIS_SECONDS * max(1, math.ceil(taken / AXIS_SECONDS))

    def _offer(self) -> None:
        """Update the list of runs to choose from."""
        options = [NEWEST, *reversed(self._runs.followed)]
        if options != self.choice.options:
            self.choice.options = options
            self.choice.visible = len(options) > 2
            if self.choice.value not in options:
                self.choice.value = NEWEST

    def _chosen(self) -> FollowedRun | None:
        return self._runs.followed.get(self.choice.value) or self._runs.newest()


def pause_of(run: FollowedRun | None) -> float:
    """Return the least number of seconds between two updates."""
    stages = run.progress.stages.values() if run is not None else ()
    return min(LONGEST_PAUSE, sum(stage.n_blocks for stage in stages) / BLOCKS_A_SECOND)


def page_doc(runs: Runs, scheduler: Any, extra: dict[str, Any], doc: Any) -> None:
    """Build the document for a new browser.

    Parameters
    ----------
    runs : Runs
    scheduler : distributed.Scheduler
    extra : dict
        Variables of Dask's templates.
    doc : bokeh.document.Document
        The empty document to fill.
    """
    page = Page(runs, scheduler)
    page.update()
    add_periodic_callback(doc, page, EVERY_MILLISECONDS)
    for root in page.roots:
        doc.add_root(root)
    doc.title = "Dask: DC-SVM"
    doc.theme = BOKEH_THEME
    doc.template = page_template(dask_pages)
    colours = {
        "estimate": SKY,
        "exact": BLUE,
        "gap": ORANGE,
        "violation": RED,
        "moved": SKY,
        "goal": GREEN,
        "free": BLUE,
        "bounded": RED,
        "rate": PURPLE,
        "waiting": blocks.WAITING_COLOUR,
        "running": ORANGE,
        "done": BLUE,
        "grey": GREY,
    }
    doc.template_variables.update(extra, colours=colours, shares=SHARES)


def doing(scheduler: Any) -> dict[str, str]:
    """Return the names of each worker's running tasks."""
    return {
        address: ", ".join(sorted({key_split(task.key) for task in worker.executing}))
        for address, worker in scheduler.workers.items()
        if worker.executing
    }


def set_text(div: Div, text: str) -> None:
    """Set the text of a div, unless it is the same."""
    if div.text != text:
        div.text = text
