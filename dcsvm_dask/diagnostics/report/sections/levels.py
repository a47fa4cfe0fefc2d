"""The tree of levels, and what the theorems say of it."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.draw import blocks as draw_blocks
from dcsvm_dask.diagnostics.report.draw import levels as draw
from dcsvm_dask.diagnostics.report.draw.tree import tree
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.records import Records
from dcsvm_dask.diagnostics.report.table import Table, n_rows
from dcsvm_dask.diagnostics.report.theorem import why_no_bound
from dcsvm_dask.steps.regime import is_sparse_in_support

LEVEL = ("level", "level", text.word)


def why_no_levels(records: Records) -> str:
    """Return why there are no levels to show."""
    probe = records.commits.get("probe", {})
    if probe.get("smooth") and "arrange" in records.commits:
        return (
            "This run has no levels: the kernel is smooth "
            f"({probe['probed_between']:.0%} of its mass lies between a few clusters), so it is "
            "conquered by large working sets, which do more there."
        )
    if is_sparse_in_support(probe.get("support_share", 1.0)) and "arrange" in records.commits:
        return (
            f"This run has no levels: {probe['support_share']:.0%} of some rows are support "
            "vectors, so machines that are solved whole do more."
        )
    many = records.run.header["shape"].get("class_rows")
    if not records.settings["clusters"] and many:
        return "This run has no levels: its machines are solved whole."
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
            "the whole problem where blocks do not see each other."
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
    """Return the section on support vectors found early, times of clustering, and the bound."""
    support, theorem, levels = tables["support"], tables["theorem"], tables["levels"]
    if not n_rows(levels):
        return Section("quality", "Quality of the levels", why_no_levels(records))
    parts: list[Part] = []
    if n_rows(support):
        parts.append(
            Picture(
                draw.recovery(support),
                "Support vectors known early",
                "Precision: how many of a level's support vectors are final ones. Recall: how many "
                "of the final ones the level has. Both should near 100 % towards level 1.",
                "support",
            )
        )
    parts.append(
        Picture(
            draw.times(levels),
            "Clustering and training",
            "Clustering should stay a small part. At the bottom it includes writing the rows in "
            "the order of their blocks.",
            "levels",
        )
    )
    made = draw.bound(theorem)
    if made is not None:
        parts.append(
            Picture(
                made,
                "Theorem 1",
                _bound_caption(records, theorem),
                "theorem",
            )
        )
    made = draw.mass(theorem)
    if made is not None:
        parts.append(
            Picture(
                made,
                "Kernel mass between blocks",
                "The share of D(π) in the sum of |K| over all pairs. The smaller it is, the less "
                "the blocks of a level miss of each other.",
                "theorem",
            )
        )
    shown = [
        LEVEL,
        ("D", "D(π)", text.number),
        ("D_error", "±", lambda value: text.number(value, 2)),
        ("bound", "C² D / 2", text.number),
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
        "(two standard errors) where the estimate cannot be told from zero. What is zero but for "
        "rounding is off the figure."
    )
    if not known:
        words += " The difference needs the exact model, without a bias."
    return words


def blocks_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section on how equal blocks are."""
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
            "A flat line means equal blocks. A steep begin means a few large ones, which hold a "
            "level up.",
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
            caption="Effective blocks: the number of equal blocks in which two rows meet as often.",
            table="balance",
        ),
    ]
    return Section("blocks", "Sizes of the blocks", "", parts)
