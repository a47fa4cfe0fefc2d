"""Levels side by side: times, support vectors found, the theorem's bound."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, ORANGE, PURPLE, RED
from dcsvm_dask.diagnostics.report.draw.glyphs import columns, dots, line
from dcsvm_dask.diagnostics.report.draw.style import (
    from_zero,
    hover,
    legend,
    log_axis,
    plot,
    ticks,
    whiskers,
)
from dcsvm_dask.diagnostics.report.table import Table

NOTHING = 1e-9
"""Of the largest value: what lies below it is off the figure."""


def times(levels: Table) -> Any:
    """Return clustering and training seconds of each level, stacked (the paper's Table 5)."""
    made = plot("", "seconds")
    at = list(range(len(levels["level"])))
    clustering, training = levels["clustering_seconds"], levels["training_seconds"]
    total = [a + b for a, b in zip(clustering, training, strict=True)]
    about = {"clustering": clustering, "training": training, "level": levels["level"]}
    source = ColumnDataSource({"x": at, "total": total, **about})
    low = columns(made, source, PURPLE, top="clustering")
    high = columns(made, source, BLUE, bottom="clustering", top="total")
    legend(made, [("clustering", PURPLE), ("training", BLUE)])
    hover(
        made,
        [
            ("level", "@level"),
            ("clustering", "@clustering{0.00} s"),
            ("training", "@training{0.00} s"),
        ],
        [low, high],
    )
    from_zero(made, max(total))
    _level_axis(made, levels["level"])
    return made


def recovery(support: Table) -> Any:
    """Return precision and recall of the levels' support vectors (the paper's Figure 2)."""
    made = plot("", "share")
    at = list(range(len(support["level"])))
    drawn = []
    for key, colour, marker in (("precision", BLUE, "circle"), ("recall", ORANGE, "square")):
        about = {"level": support["level"], "key": [key] * len(at)}
        source = ColumnDataSource({"x": at, "y": support[key], **about})
        line(made, source, colour, 2)
        marks = dots(made, source, colour, marker=marker)
        drawn.append(marks)
    legend(made, [("precision", BLUE), ("recall", ORANGE)])
    hover(made, [("level", "@level"), ("", "@key @y{0.0 %}")], drawn)
    least = min([*support["precision"], *support["recall"]])
    made.y_range = Range1d(0.0 if least < 0.6 else 0.5, 1.02)
    _level_axis(made, support["level"])
    return made


def bound(theorem: Table) -> Any | None:
    """Return f(level) - f* beside C^2 D / 2, log scale (the paper's Figure 1)."""
    at = list(range(len(theorem["level"])))
    series = []
    for key, label, colour in (
        ("bound", "bound C² D(π) / 2", RED),
        ("difference", "f(level) − f*", BLUE),
    ):
        known = [(x, v, e) for x, v, e in _values(theorem, key, at) if v + 2 * e > 0]
        if known:
            series.append((label, colour, known))
    if not series:
        return None
    made = plot("", "difference of objectives", log="y")
    drawn, ends = [], []
    for _, colour, known in series:
        seen = [(x, v, e) for x, v, e in known if v > 2 * e and v > 0]
        limits = [(x, v, e) for x, v, e in known if not (v > 2 * e and v > 0)]
        about = {"level": [theorem["level"][x] for x, _, _ in seen]}
        source = ColumnDataSource(
            {
                "x": [x for x, _, _ in seen],
                "y": [v for _, v, _ in seen],
                "error": [e for _, _, e in seen],
                "low": [v - e for _, v, e in seen],
                "high": [v + e for _, v, e in seen],
                **about,
            }
        )
        line(made, source, colour, 2)
        marks = dots(made, source, colour)
        whiskers(made, source, colour)
        upper = ColumnDataSource(
            {
                "x": [x for x, _, _ in limits],
                "y": [v + 2 * e for _, v, e in limits],
                "error": [e for _, _, e in limits],
                "level": [theorem["level"][x] for x, _, _ in limits],
            }
        )
        most = dots(made, upper, colour, 10, marker="inverted_triangle", fill=None)
        drawn += [marks, most]
        ends += [*source.data["low"], *source.data["high"], *upper.data["y"]]
    legend(made, [(label, colour) for label, colour, _ in series])
    # What is zero but for rounding would leave no room for the rest.
    log_axis(made, "y", [end for end in ends if end > NOTHING * max(ends)])
    hover(made, [("level", "@level"), ("", "@y{0.000e+0} ± @error{0.0e+0}")], drawn)
    _level_axis(made, theorem["level"])
    return made


def mass(theorem: Table) -> Any | None:
    """Return the share of the kernel's mass that lies between the blocks of each level."""
    shares = [share if share is not None else 0.0 for share in theorem["D_share"]]
    if not shares:
        return None
    made = plot("", "share of the kernel's mass")
    at = list(range(len(shares)))
    source = ColumnDataSource({"x": at, "y": shares, "level": theorem["level"]})
    bars = columns(made, source, GREEN, top="y")
    hover(made, [("level", "@level"), ("between blocks", "@y{0.000 %}")], [bars])
    made.y_range = Range1d(0.0, max(1.05 * max(shares), 0.05))
    _level_axis(made, theorem["level"])
    return made


def _values(table: Table, key: str, at: list[int]) -> list[tuple[int, float, float]]:
    return [
        (x, value, error or 0.0)
        for x, value, error in zip(at, table[key], table[f"{key}_error"], strict=True)
        if value is not None
    ]


def _level_axis(made: Any, levels: list[int]) -> None:
    at = [float(x) for x in range(len(levels))]
    ticks(made.xaxis[0], at, [f"level {level}" for level in levels])
    made.x_range = Range1d(-0.6, len(levels) - 0.4)
