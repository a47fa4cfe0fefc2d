"""Sections and heat maps of a search (Figures 6 to 9 of Hsieh, Si, Dhillon, 2014)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bokeh.models import CategoricalTickFormatter, ColumnDataSource, FactorRange
from bokeh.palettes import Viridis256

from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows, rows_of, table
from dcsvm_dask.diagnostics.report.views.style import HALF, hover, plot
from dcsvm_dask.diagnostics.search import (
    described,
    is_exact,
    lines_of,
    scored_by,
    shown_score,
    varied_in,
)
from dcsvm_dask.numbers import counted
from dcsvm_dask.tasks.scores import LOWER_IS_BETTER, SEARCH_SCORES, SHARES

ROW_HEIGHT, LEAST_HEIGHT = 34, 180
DARK = 0.6
"""Place in the colours from which on a cell is light and its text dark."""
MOST_TEXTS = 12
"""Largest number of columns whose cells are wide enough for a number."""


def heat_map(candidates: Table, column: str, varied: Sequence[str], *, log: bool) -> Any:
    """Return the heat map of one column, with C to the right and the other parameters upwards.

    Parameters
    ----------
    candidates : Table
    column : str
        The column of values.
    varied : sequence of str
        The parameters beside C that name a line of the grid.
    log : bool
        Whether colours follow the logarithm, for times; else values are scores.

    Returns
    -------
    bokeh.plotting.figure or None
        None without values.
    """
    rows = [row for row in rows_of(candidates) if row[column] is not None]
    if not rows:
        return None
    costs = [_cost(value) for value in sorted(set(candidates["C"]))]
    every = {tuple(row[key] for key in varied) for row in rows_of(candidates)}
    lines = [" · ".join(map(short, key)) for key in sorted(every)]
    values = [math.log(max(row[column], 1e-6)) if log else row[column] for row in rows]
    if column.removeprefix("early_").removeprefix("exact_") in LOWER_IS_BETTER:
        values = [-value for value in values]  # better is lighter
    low, high = min(values), max(values)
    places = [(value - low) / (high - low) if high > low else 0.5 for value in values]
    source = ColumnDataSource(
        {
            "C": [_cost(row["C"]) for row in rows],
            "line": [" · ".join(short(row[key]) for key in varied) for row in rows],
            "colour": [Viridis256[int(255 * place)] for place in places],
            "text": [_cell_text(scored_by(row), row[column], log=log) for row in rows],
            "ink": ["#222222" if place >= DARK else "#ffffff" for place in places],
            "edge": ["#d62728" if row["best"] else "#ffffff" for row in rows],
            "edge_width": [3 if row["best"] else 0 for row in rows],
            "state": [_state(row) for row in rows],
        }
    )
    made = plot(
        "C",
        ", ".join(varied) or "kernel",
        height=max(LEAST_HEIGHT, 70 + ROW_HEIGHT * len(lines)),
        width=HALF,
        x_range=FactorRange(*costs),
        y_range=FactorRange(*(lines or [""])),
    )
    for axis in made.axis:
        axis.formatter = CategoricalTickFormatter()
    made.ygrid.grid_line_color = None
    cells = made.rect(
        "C",
        "line",
        width=0.98,
        height=0.96,
        source=source,
        fill_color="colour",
        line_color="edge",
        line_width="edge_width",
    )
    if len(costs) <= MOST_TEXTS:
        made.text(
            "C",
            "line",
            text="text",
            source=source,
            text_color="ink",
            text_align="center",
            text_baseline="middle",
            text_font_size="11px",
        )
    named = [("C", "@C"), (", ".join(varied) or "kernel", "@line"), ("", "@text"), ("", "@state")]
    hover(made, named, [cells])
    return made


def _cost(value: float | None) -> str:
    """Return a value of C as an axis label; one of a task without C, too."""
    return text.NOTHING if value is None else short(value)


def short(value: float) -> str:
    """Return a number as an axis label: powers of two as 2^n."""
    if value <= 0:
        return f"{value:.4g}"
    power = math.log2(value)
    if value != 1 and power == int(power) and (value < 0.1 or value > 100):
        return f"2^{int(power)}"
    return f"{value:.4g}"


def _cell_text(score: str, value: float, *, log: bool) -> str:
    if not log:
        return shown_score(score, value)
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def _state(row: dict[str, Any]) -> str:
    how = "exact" if is_exact(row) else "by blocks"
    if row["share"] and row["share"] < 1:
        how += f", {row['share']:.0%} of the held-out rows"
    return how + ("" if row["solved"] else ", NOT solved") + (", the best" if row["best"] else "")


MOST_SHOWN = 50


def pictures(main: str) -> tuple[tuple[str, str, str], ...]:
    """Return column, title and caption of each heat map, given the key of the main score."""
    name = main_name(main)
    unit = " (%)" if main in SHARES else ""
    return (
        (
            f"early_{main}",
            f"{name[0].upper()}{name[1:]} by blocks{unit}",
            "SVMs of blocks predict the held-out rows of their block (early prediction).",
        ),
        (f"exact_{main}", f"Exact {name}{unit}", "SVMs of all training rows."),
        (
            "early_seconds",
            "Time by blocks",
            (
                "Seconds of a core for all folds, with a share of the kernel values that all C of "
                "a kernel use."
            ),
        ),
        (
            "exact_seconds",
            "Time of exact SVMs",
            "Seconds of a core for all folds; each begins from the solution of the next smaller C.",
        ),
    )


def main_name(main: str) -> str:
    """Return the name of the main score for users."""
    return SEARCH_SCORES[main]


def score_shown(key: str) -> Callable[[Any], str]:
    """Return what makes text of a score, or of None."""
    return text.percent if key in SHARES else text.number


def search_headlines(records: Records, tables: dict[str, Table]) -> list[tuple[str, str, str]]:
    """Return the figures at the top of the page: label, value and explanation."""
    rows = sorted(rows_of(tables["candidates"]), key=lambda row: row["rank"])
    best, about = rows[0], dict(zip(*tables["summary"].values(), strict=True))
    main = scored_by(best)
    known = best[main] is not None
    exact = sum(is_exact(row) for row in rows)
    scored = sum(row[main] is not None for row in rows)
    keys = lines_of(best) if best["C"] is None else ("C", *lines_of(best))
    shown = [(key, text.number(best[key])) for key in keys]
    return [
        (
            f"best {main_name(main)}",
            score_shown(main)(best[main]),
            ("exact" if is_exact(best) else "by blocks") if known else "",
        ),
        *((label, value if known else text.NOTHING, "of the best") for label, value in shown),
        ("candidates", text.whole(len(rows)), f"{scored} scored, {exact} exactly"),
        ("support vectors", text.whole(best["support"]), "of the best, on average"),
        ("time", text.seconds(about["seconds"] or about["work_seconds"]), _workers(about)),
        ("kernel values", text.large(records.status["kernel_values"]), ""),
        ("memory", text.size(about["peak_bytes"]), "largest worker"),
    ]


def _workers(about: dict[str, Any]) -> str:
    return counted(about["workers"], "worker") if about["workers"] else ""


def search_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of the candidates."""
    found = tables["candidates"]
    rows = sorted(rows_of(found), key=lambda row: row["rank"])
    main = scored_by(found)
    show = score_shown(main)
    scored = [row for row in rows if row[main] is not None]
    lead = "No candidate has been scored yet."
    if scored:
        lead = f"{counted(len(scored), 'candidate')} of {len(rows)} scored; best so far: "
        lead += described(scored[0]) + "."
    lost = sum(row["solved"] is False for row in scored)
    if lost:
        budget = records.settings["options"]["budget"]
        lead += (
            f" {counted(lost, 'candidate')} had SVMs that were not solved within {budget:,} "
            "steps a row; they are scored unsolved."
        )
    shown, varied = lines_of(rows[0]), varied_in(rows)
    parts: list[Part] = []
    for column, title, caption in pictures(main):
        made = heat_map(found, column, varied, log=column.endswith("seconds"))
        if made is not None:
            parts.append(Picture(made, title, caption, "candidates"))
    columns = [
        ("rank", "rank", text.whole),
        *([] if rows[0]["C"] is None else [("C", "C", text.number)]),
        *((key, key, text.number) for key in shown),
        (main, main_name(main), show),
        (f"{main}_std", "± over folds", show),
        *(
            (key, SEARCH_SCORES[key], score_shown(key))
            for key in SEARCH_SCORES
            if key in found and key != main
        ),
        (f"early_{main}", "by blocks", show),
        (f"exact_{main}", "exact", show),
        ("early_seconds", "time by blocks", text.seconds),
        ("exact_seconds", "time exact", text.seconds),
        ("support", "support vectors", text.whole),
    ]
    if n_rows(found):
        listed = table(list(found), scored[:MOST_SHOWN])
        parts.append(grid(listed, columns, title="Candidates by rank", table="candidates"))
    return Section("search", "Search", lead, parts)
