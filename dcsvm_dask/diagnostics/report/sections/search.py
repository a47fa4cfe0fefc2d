"""What a search found: the grid as heat maps, the candidates in the order of their rank."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.numbers import counted
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.draw.search import heat_map
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.records import Records
from dcsvm_dask.diagnostics.report.table import Table, n_rows, rows_of, table
from dcsvm_dask.diagnostics.search import described
from dcsvm_dask.graphs.search import OF_KERNEL

MOST_SHOWN = 50
PICTURES = (
    (
        "early_accuracy",
        "Accuracy by blocks (%)",
        "Machines of blocks decide the held-out rows of their block (early prediction).",
    ),
    ("exact_accuracy", "Exact accuracy (%)", "Machines of all rows that train."),
    (
        "early_seconds",
        "Time by blocks",
        (
            "Seconds of a core for all folds, with a share of the kernel values, which all C of a "
            "kernel have in common."
        ),
    ),
    (
        "exact_seconds",
        "Time of exact machines",
        "Seconds of a core for all folds; each begins from the solution of the next smaller C.",
    ),
)


def search_headlines(records: Records, tables: dict[str, Table]) -> list[tuple[str, str, str]]:
    """Return the figures on top of the page: label, value, and what it is."""
    rows = sorted(rows_of(tables["candidates"]), key=lambda row: row["rank"])
    best, about = rows[0], dict(zip(*tables["summary"].values(), strict=True))
    known = best["accuracy"] is not None
    exact = sum(row["exact_accuracy"] is not None for row in rows)
    scored = sum(row["accuracy"] is not None for row in rows)
    shown = [(key, text.number(best[key])) for key in ("C", *OF_KERNEL.get(best["kernel"], ()))]
    return [
        (
            "best accuracy",
            text.percent(best["accuracy"]),
            ("exact" if best["exact_accuracy"] is not None else "by blocks") if known else "",
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
    scored = [row for row in rows if row["accuracy"] is not None]
    lead = "No candidate has been scored yet."
    if scored:
        lead = f"{counted(len(scored), 'candidate')} of {len(rows)} scored; best so far: "
        lead += described(scored[0]) + "."
    lost = sum(row["solved"] is False for row in scored)
    if lost:
        budget = records.settings["options"]["budget"]
        lead += (
            f" {counted(lost, 'candidate')} had machines that were not solved within {budget:,} "
            "steps a row; they are scored as they are."
        )
    shown = OF_KERNEL.get(rows[0]["kernel"], ())
    varied = [key for key in shown if len(set(found[key])) > 1] or list(shown[:1])
    parts: list[Part] = []
    for column, title, caption in PICTURES:
        made = heat_map(found, column, varied, log=column.endswith("seconds"))
        if made is not None:
            parts.append(Picture(made, title, caption, "candidates"))
    columns = [
        ("rank", "rank", text.whole),
        ("C", "C", text.number),
        *((key, key, text.number) for key in shown),
        ("accuracy", "accuracy", text.percent),
        ("accuracy_std", "± over folds", text.percent),
        ("early_accuracy", "by blocks", text.percent),
        ("exact_accuracy", "exact", text.percent),
        ("early_seconds", "time by blocks", text.seconds),
        ("exact_seconds", "time exact", text.seconds),
        ("support", "support vectors", text.whole),
    ]
    if n_rows(found):
        listed = table(list(found), scored[:MOST_SHOWN])
        parts.append(grid(listed, columns, title="Candidates by rank", table="candidates"))
    return Section("search", "Search", lead, parts)
