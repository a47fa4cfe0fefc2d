"""The small figures of the page; each has a root and an update from the run to show."""

from __future__ import annotations

import math

from bokeh.models import FactorRange, FixedTicker, NumeralTickFormatter, Range1d, Span, Whisker
from distributed.dashboard.utils import update

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from dcsvm_dask.diagnostics.dashboard import curves, rates
from dcsvm_dask.diagnostics.dashboard.panels import (
    SHORT,
    decades,
    empty,
    fill,
    hover,
    panel,
    span,
    thickness,
    time_axis,
)
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun

FIRST = "once a level or a round is committed"


class Objective:
    """The objective of the whole problem against time."""

    def __init__(self, seconds: Range1d) -> None:
        self.root = panel("objective", SHORT, until=FIRST, x_range=seconds, y_range=Range1d(0, 1))
        time_axis(self.root)
        self.root.yaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
        self.estimates = empty((*curves.POINT, "objective", "lower", "upper", "text"))
        self.source = empty((*curves.POINT, "objective", "text"))
        whisker = Whisker(
            base="seconds", lower="lower", upper="upper", source=self.estimates, line_color=SKY
        )
        whisker.upper_head.line_color = whisker.lower_head.line_color = SKY
        self.root.add_layout(whisker)
        how = {"x": "seconds", "y": "objective"}
        self.root.line(**how, source=self.estimates, color=SKY)
        self.root.line(**how, source=self.source, color=BLUE)
        drawn = [
            self.root.scatter(**how, source=self.estimates, color=SKY, size=8),
            self.root.scatter(**how, source=self.source, color=BLUE, size=7),
        ]
        hover(self.root, drawn, ("stage", "@stage"), ("objective", "@text"))

    def update(self, run: FollowedRun) -> None:
        """Draw the objectives of a run."""
        estimates, exact = curves.objective_columns(run.progress)
        update(self.estimates, estimates)
        update(self.source, exact)
        fill(self.root, bool(estimates["stage"] or exact["stage"]))
        ends = [*estimates["lower"], *estimates["upper"], *exact["objective"]]
        span(self.root.y_range, *curves.linear_range(ends))


class Gap:
    """The duality gap, and the difference of each objective to the best one."""

    def __init__(self, seconds: Range1d) -> None:
        self.root = panel(
            "gap", SHORT, until=FIRST, x_range=seconds, y_range=Range1d(0.1, 10), y_axis_type="log"
        )
        time_axis(self.root)
        self.source = empty((*curves.POINT, "gap", "lower", "upper", "text"))
        self.above = empty((*curves.POINT, "above", "text"))
        whisker = Whisker(
            base="seconds", lower="lower", upper="upper", source=self.source, line_color=ORANGE
        )
        whisker.upper_head.line_color = whisker.lower_head.line_color = ORANGE
        self.root.add_layout(whisker)
        for source, name, colour in ((self.source, "gap", ORANGE), (self.above, "above", BLUE)):
            self.root.line(x="seconds", y=name, source=source, color=colour)
            drawn = self.root.scatter(x="seconds", y=name, source=source, color=colour, size=7)
            words = {"gap": "duality gap", "above": "above the best"}
            hover(self.root, [drawn], ("stage", "@stage"), (words[name], "@text"))

    def update(self, run: FollowedRun) -> None:
        """Draw the gaps of a run."""
        gap, above = curves.gap_columns(run.progress), curves.above_columns(run.progress)
        update(self.source, gap)
        update(self.above, above)
        fill(self.root, bool(gap["stage"]))
        decades(self.root, [*gap["lower"], *gap["upper"], *above["above"]])


class Rounds:
    """A figure of the rounds: their violation, or the number of alphas that they changed."""

    UNTIL = {"violation": "once a round is committed", "moved": "once a round changes some"}  # noqa: RUF012
    WORDS = {"violation": "violation", "moved": "changed alphas"}  # noqa: RUF012

    def __init__(self, what: str, rounds: Range1d, colour: str) -> None:
        self._what = what
        self.root = panel(
            what,
            SHORT,
            until=self.UNTIL[what],
            x_range=rounds,
            y_range=Range1d(0.1, 10),
            y_axis_type="log",
        )
        self.root.xaxis.ticker = FixedTicker(ticks=[])
        self.source = empty(("round", "stage", "chain", "violation", "moved"))
        self.root.line(x="round", y=what, source=self.source, color=colour)
        drawn = self.root.scatter(x="round", y=what, source=self.source, color=colour, size=7)
        hover(self.root, [drawn], ("round", "@stage"), (self.WORDS[what], f"@{what}"))
        self.goal = Span(
            dimension="width", location=1.0, line_color=GREEN, line_dash="dashed", visible=False
        )
        self.root.add_layout(self.goal)

    def update(self, run: FollowedRun) -> None:
        """Draw the committed rounds, and the tolerance as a line."""
        columns = curves.round_columns(run.progress)
        update(self.source, columns)
        rounds = columns["round"]
        span(self.root.x_range, -0.5, max(4.5, len(rounds) - 0.5))
        values = list(columns[self._what])
        known = not all(map(math.isnan, values))
        fill(self.root, known)
        begun = run.progress.beginning
        if self._what == "violation" and begun is not None:
            values.append(begun.about["tol"])
            self.goal.location, self.goal.visible = begun.about["tol"], known
        decades(self.root, values)
        labels, axis = curves.round_labels(columns["stage"]), self.root.xaxis[0]
        if axis.major_label_overrides != labels:
            axis.ticker.ticks, axis.major_label_overrides = list(labels), labels


class Falls:
    """The violation over time that working sets found, or their number a second."""

    LABELS = {"violation": "violation", "rate": "working sets a second"}  # noqa: RUF012

    def __init__(self, name: str, what: str, seconds: Range1d, colour: str) -> None:
        self._what, log = what, what == "violation"
        self.root = panel(
            name,
            SHORT,
            until="once working sets are solved",
            x_range=seconds,
            y_range=Range1d(0.1 if log else 0, 10),
            **({"y_axis_type": "log"} if log else {}),
        )
        time_axis(self.root)
        self.source = empty(("seconds", "sets", "violation", "rate"))
        self.root.line(x="seconds", y=what, source=self.source, color=colour)
        drawn = self.root.scatter(x="seconds", y=what, source=self.source, color=colour, size=4)
        hover(self.root, [drawn], ("working sets", "@sets{0,0}"), (self.LABELS[what], f"@{what}"))
        self.goal = Span(
            dimension="width", location=1.0, line_color=GREEN, line_dash="dashed", visible=False
        )
        self.root.add_layout(self.goal)

    def update(self, run: FollowedRun) -> None:
        """Draw the working sets so far, and the tolerance as a line."""
        columns = curves.fall_columns(run.progress)
        update(self.source, columns)
        values = [value for value in columns[self._what] if not math.isnan(value)]
        fill(self.root, bool(values))
        begun = run.progress.beginning
        if self._what != "violation":
            span(self.root.y_range, 0.0, 1.1 * max(values, default=1.0))
            return
        if begun is not None:
            self.goal.location, self.goal.visible = begun.about["tol"], bool(values)
            values.append(begun.about["tol"])
        decades(self.root, values)


class Support:
    """Support vectors of each level, free and bounded."""

    def __init__(self) -> None:
        self.root = panel("support", SHORT, until=FIRST, x_range=FactorRange())
        self.root.y_range.start = 0
        self.root.yaxis.formatter = NumeralTickFormatter(format="0,0")
        self.source = empty(("name", "free", "bounded", "support"))
        drawn = self.root.vbar_stack(
            ["free", "bounded"], x="name", source=self.source, color=[BLUE, RED]
        )
        self._bars = [part.glyph for part in drawn]
        rows = ("support vectors", "@support{0,0}"), ("bounded", "@bounded{0,0}")
        hover(self.root, list(drawn), ("", "@name"), *rows)

    def update(self, run: FollowedRun) -> None:
        """Draw the known support vectors."""
        columns = curves.support_columns(run.progress)
        if self.root.x_range.factors != columns["name"]:
            self.root.x_range.factors = columns["name"]
            for bars in self._bars:
                bars.width = thickness(len(columns["name"]))
            fill(self.root, bool(columns["name"]))
        update(self.source, columns)


class Workers:
    """Kernel values per second of each worker beside the rate measured by the probe."""

    def __init__(self) -> None:
        self.root = panel(
            "rates",
            SHORT,
            until="once blocks are solved",
            y_range=FactorRange(),
            x_range=Range1d(0, 1),
        )
        self.root.xaxis.formatter = NumeralTickFormatter(format="0,0.[00]")
        self.root.grid.grid_line_color = None
        self.root.xgrid.grid_line_color = GREY
        self.source = empty(("worker", "rate", "text", "share", "tasks", "doing"))
        drawn = self.root.hbar(y="worker", right="rate", source=self.source, color=PURPLE)
        self._bars = drawn.glyph
        hover(
            self.root,
            [drawn],
            ("worker", "@worker"),
            ("kernel values/s", "@text"),
            ("of the calibrated rate", "@share"),
            ("tasks done", "@tasks"),
            ("now", "@doing"),
        )
        self.calibrated = Span(
            dimension="height", location=0, line_color=GREEN, line_dash="dashed", visible=False
        )
        self.root.add_layout(self.calibrated)

    def update(self, run: FollowedRun, doing: dict[str, str]) -> None:
        """Draw the rates of workers that have computed kernel values."""
        calibrated = rates.calibrated_rate(run.progress)
        columns = rates.rate_columns(run.rates.work, calibrated, doing)
        if self.root.y_range.factors != columns["worker"]:
            self.root.y_range.factors = columns["worker"]
            self._bars.height = thickness(len(columns["worker"]))
            fill(self.root, bool(columns["worker"]))
        update(self.source, columns)
        if calibrated is not None:
            self.calibrated.location = calibrated / rates.UNIT
            self.calibrated.visible = bool(columns["worker"])
        most = max([*columns["rate"], (calibrated or 0.0) / rates.UNIT], default=1.0)
        span(self.root.x_range, 0.0, 1.1 * most or 1.0)
