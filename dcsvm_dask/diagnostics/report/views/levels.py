"""Sections and figures of the levels: times, support vectors, the theorem's bound."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, ORANGE, PURPLE, RED
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows
from dcsvm_dask.diagnostics.report.tables.theorem import why_no_bound
from dcsvm_dask.diagnostics.report.views import blocks as draw_blocks
from dcsvm_dask.diagnostics.report.views.glyphs import columns, dots, line
from dcsvm_dask.diagnostics.report.views.style import (
    from_zero,
    hover,
    legend,
    log_axis,
    plot,
    ticks,
    whiskers,
)
from dcsvm_dask.diagnostics.report.views.tree import tree
from dcsvm_dask.methods.regime import is_sparse_in_support

NOTHING = 1e-9
"""Share of the largest value below which a value is left out of the figure."""


def times(levels: Table) -> Any:
    """Return the figure of clustering and training seconds of each level (the paper's Table 5)."""
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
    """Return the figure of precision and recall of support vectors (the paper's Figure 2)."""
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


def bound_name(records: Records) -> str:
    """Return the formula of Theorem 1's bound for the task of a run."""
    width = records.task.product_range
    return "C² D(π) / 2" if width in (None, 1.0) else f"{width:g} C² D(π) / 2"


def bound(theorem: Table, name: str) -> Any | None:
    """Return the figure of f(level) - f* and its bound on a log scale (the paper's Figure 1).

    Parameters
    ----------
    theorem : Table
    name : str
        The formula of the bound; see `bound_name`.
    """
    at = list(range(len(theorem["level"])))
    series = []
    for key, label, colour in (
        ("bound", f"bound {name}", RED),
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
        clear = [(x, v, e) for x, v, e in known if v > 2 * e and v > 0]
        limits = [(x, v, e) for x, v, e in known if not (v > 2 * e and v > 0)]
        about = {"level": [theorem["level"][x] for x, _, _ in clear]}
        source = ColumnDataSource(
            {
                "x": [x for x, _, _ in clear],
                "y": [v for _, v, _ in clear],
                "error": [e for _, _, e in clear],
                "low": [v - e for _, v, e in clear],
                "high": [v + e for _, v, e in clear],
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
    # Values that are zero up to rounding would compress the others.
    log_axis(made, "y", [end for end in ends if end > NOTHING * max(ends)])
    hover(made, [("level", "@level"), ("", "@y{0.000e+0} ± @error{0.0e+0}")], drawn)
    _level_axis(made, theorem["level"])
    return made


def mass(theorem: Table) -> Any | None:
    """Return the figure of the share of the kernel's mass between the blocks of each level."""
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


LEVEL = ("level", "level", text.word)


def why_no_levels(records: Records) -> str:
    """Return the reason why a run has no levels."""
    probe = records.commits.get("probe", {})
    if probe.get("smooth") and "arrange" in records.commits:
        return (
            "This run has no levels: the kernel is smooth "
            f"({probe['probed_between']:.0%} of its mass lies between a few clusters), so it is "
            "solved by large working sets, which cost less."
        )
    if is_sparse_in_support(probe.get("support_share", 1.0)) and "arrange" in records.commits:
        return (
            f"This run has no levels: {probe['support_share']:.0%} of some rows are support "
            "vectors, so solving each SVM whole costs less."
        )
    if not records.settings["clusters"] and records.has_several:
        return "This run has no levels: each SVM is solved whole."
    if not records.settings["clusters"]:
        return "This run has no levels: its rows are one working set."
    return "No level is committed yet."


def tree_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of the levels and their blocks."""
    blocks, levels = tables["blocks"], tables["levels"]
    if not n_rows(blocks):
        return Section("tree", "The tree", why_no_levels(records))
    best, variables = records.best, records.status["variables"]
    whole = (
        {"rows": variables, "support": best["support"], "bounded": best["bounded"]}
        if best
        else None
    )
    lead = (
        "Rows are clustered in kernel space and an SVM is solved in every cluster; the solutions "
        "start the next level, which has fewer clusters."
    )
    parts: list[Part] = [
        Picture(
            tree(blocks, whole),
            "Blocks of each level",
            "Each rectangle is a block, its area the rows. The brighter it is, the more of its "
            "rows are support vectors. Point at one for its figures.",
            "blocks",
            wide=True,
        )
    ]
    shown = [
        LEVEL,
        ("blocks", "blocks", text.whole),
        ("largest_block", "largest", text.whole),
        ("n_support", "support vectors", text.whole),
        ("bounded", "at the bound", text.whole),
        ("blocks_objective", "objective of the blocks", text.exact),
        ("violation", "violation inside", lambda value: text.number(value, 2)),
        ("clustering", "clusters by", text.word),
        ("clustering_seconds", "clustering", text.seconds),
        ("training_seconds", "training", text.seconds),
        ("kernel_values", "kernel values", text.large),
    ]
    if n_rows(levels):
        caption = (
            "The objective of the blocks is the sum over their own problems, exact; it is that of "
            "the whole problem where no kernel mass lies between blocks."
        )
        parts.append(
            grid(
                levels,
                shown,
                title="Levels",
                caption=caption,
                table="levels",
                words=("clustering",),
            )
        )
    return Section("tree", "The tree", lead, parts)


def theory_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of support vectors, clustering times and the bound."""
    support, theorem, levels = tables["support"], tables["theorem"], tables["levels"]
    if not n_rows(levels):
        return Section("quality", "Quality of the levels", why_no_levels(records))
    parts: list[Part] = []
    if n_rows(support):
        parts.append(
            Picture(
                recovery(support),
                "Support vectors known early",
                "Precision: how many of a level's support vectors are final ones. Recall: how many "
                "of the final ones the level has. Both should near 100 % towards level 1.",
                "support",
            )
        )
    parts.append(
        Picture(
            times(levels),
            "Clustering and training",
            "Clustering should stay a small part. At the bottom it includes writing the rows in "
            "the order of their blocks.",
            "levels",
        )
    )
    made = bound(theorem, bound_name(records))
    if made is not None:
        parts.append(
            Picture(
                made,
                "Theorem 1",
                _bound_caption(records, theorem),
                "theorem",
            )
        )
    made = mass(theorem)
    if made is not None:
        parts.append(
            Picture(
                made,
                "Kernel mass between blocks",
                "The share of D(π) in the sum of |K| over all pairs. The smaller it is, the less "
                "is lost by solving the blocks separately.",
                "theorem",
            )
        )
    shown = [
        LEVEL,
        ("D", "D(π)", text.number),
        ("D_error", "±", lambda value: text.number(value, 2)),
        ("bound", bound_name(records), text.number),
        ("difference", "f(level) − f*", text.number),
        ("difference_error", "±", lambda value: text.number(value, 2)),
        ("difference_from", "from", text.word),
    ]
    why = why_no_bound(records)
    caption = f"{why}." if why else ""
    words = ("difference_from",)
    parts.append(
        grid(theorem, shown, title="Figures", caption=caption, table="theorem", words=words)
    )
    return Section("quality", "Quality of the levels", "", parts)


def _bound_caption(records: Records, theorem: Table) -> str:
    why = why_no_bound(records)
    known = any(value is not None for value in theorem["difference"])
    words = "" if why is None else f"{why}. "
    if why is None:
        words += "The difference of the objectives should lie below the bound. "
    words += (
        "Bars are standard errors of estimates from samples; an open triangle is an upper limit "
        "(two standard errors) where the estimate cannot be distinguished from zero. "
        "Values that are zero up to rounding are left out."
    )
    if not known:
        words += " The difference needs the exact model, without a bias."
    return words


def blocks_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of the blocks' sizes and balance."""
    blocks, balance = tables["blocks"], tables["balance"]
    if not n_rows(blocks):
        return Section("blocks", "Sizes of the blocks", why_no_levels(records))
    shown = [
        LEVEL,
        ("blocks", "blocks", text.whole),
        ("largest", "largest", text.whole),
        ("median", "median", text.whole),
        ("smallest", "smallest", text.whole),
        ("largest_over_mean", "largest / mean", text.number),
        ("effective_blocks", "effective blocks", text.number),
        ("longest_seconds", "longest", text.seconds),
        ("all_seconds", "all together", text.seconds),
    ]
    parts: list[Part] = [
        Picture(
            draw_blocks.sizes(blocks),
            "Rows of the blocks",
            "A flat line means equal blocks. A steep start means a few large ones, which delay "
            "a level.",
            "blocks",
        ),
        Picture(
            draw_blocks.costs(blocks),
            "Time of the blocks",
            "Blocks far above the others of their size have many support vectors, or waited for a "
            "processor.",
            "blocks",
        ),
        grid(
            balance,
            shown,
            title="Balance",
            caption="Effective blocks: the number of equal blocks with as many pairs inside.",
            table="balance",
        ),
    ]
    return Section("blocks", "Sizes of the blocks", "", parts)
