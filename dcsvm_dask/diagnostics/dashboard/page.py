"""The document of the page: its figures, its head, and what brings them up to date."""

from __future__ import annotations

import math
import time
from typing import Any

from bokeh.models import Div, InlineStyleSheet, Range1d, Select
from dask.utils import key_split
from distributed.dashboard.components import add_periodic_callback
from distributed.dashboard.components.scheduler import BOKEH_THEME
from distributed.dashboard.components.scheduler import env as dask_pages

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHARES, SKY
from dcsvm_dask.diagnostics.dashboard import blocks, header
from dcsvm_dask.diagnostics.dashboard.figures import (
    Gap,
    Objective,
    Rounds,
    Support,
    Workers,
)
from dcsvm_dask.diagnostics.dashboard.levels import Levels
from dcsvm_dask.diagnostics.dashboard.panels import Shown
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun, Runs
from dcsvm_dask.diagnostics.dashboard.style import INSIDE, page_template

EVERY_MILLISECONDS = 1000
BLOCKS_A_SECOND, LONGEST_PAUSE = 300, 5.0
"""Blocks that a second between two updates allows for: what has many is drawn less often."""
RATES_EVERY = 4
"""Updates between two of the rates, which hardly change from one to the next."""
AXIS_SECONDS = 10.0
"""By how much the axis of time grows: each growth is a message for each browser."""
NEWEST = "the newest run"


class Page:
    """What one browser looks at.

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
            Support(),
        ]
        drawn = [*(figure.root for figure in self.figures), self.workers.root]
        self.roots = [self.head, self.choice, self.faults, *drawn]

    def update(self) -> None:
        """Bring to the browser what is new, now and then."""
        run, now = self._chosen(), time.time()
        if run is self._shown[0] and now - self._drawn < pause_of(run):
            return
        self._drawn = now
        self._offer()
        if run is None:
            address = getattr(self._scheduler, "address", "ADDRESS")
            set_text(self.head, header.no_run(address))
            self.head.css_classes = ["idle"]  # hides what there is nothing to show in
            return
        if self.head.css_classes:
            self.head.css_classes = []
        set_text(self.head, header.head(run, len(self._scheduler.workers), now))
        if self._shown == (run, run.told):
            return
        other = self._shown[0] is not run
        self._shown = run, run.told
        for figure in self.figures:
            figure.update(run)
        if other or not run.is_on or self._updates % RATES_EVERY == 0:
            self.workers.update(run, doing(self._scheduler))
        self._updates += 1
        set_text(self.faults, header.faults(run.progress))
        taken = 1.02 * run.progress.elapsed(now)
        self._seconds.end = AXIS_SECONDS * max(1, math.ceil(taken / AXIS_SECONDS))

    def _offer(self) -> None:
        """Offer the runs to choose from, once there are some."""
        options = [NEWEST, *reversed(self._runs.followed)]
        if options != self.choice.options:
            self.choice.options = options
            self.choice.visible = len(options) > 2
            if self.choice.value not in options:
                self.choice.value = NEWEST

    def _chosen(self) -> FollowedRun | None:
        return self._runs.followed.get(self.choice.value) or self._runs.newest()


def pause_of(run: FollowedRun | None) -> float:
    """Return the seconds that lie between two updates at least."""
    stages = run.progress.stages.values() if run is not None else ()
    return min(LONGEST_PAUSE, sum(stage.n_blocks for stage in stages) / BLOCKS_A_SECOND)


def page_doc(runs: Runs, scheduler: Any, extra: dict[str, Any], doc: Any) -> None:
    """Make the document for a browser that has come; it ends with it."""
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
    """Return by worker what its tasks do now."""
    return {
        address: ", ".join(sorted({key_split(task.key) for task in worker.executing}))
        for address, worker in scheduler.workers.items()
        if worker.executing
    }


def set_text(div: Div, text: str) -> None:
    """Set a text where it is another."""
    if div.text != text:
        div.text = text
