"""A run as a notebook shows it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from dcsvm_dask.diagnostics.colours import GREEN, GREY, ORANGE, RED
from dcsvm_dask.diagnostics.history import history
from dcsvm_dask.diagnostics.sets import described
from dcsvm_dask.diagnostics.summary import is_exact
from dcsvm_dask.errors import InputError
from dcsvm_dask.numbers import duration
from dcsvm_dask.runtime.journal import read_journal
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks.scores import SCORES

STATES = {"complete": GREEN, "running": ORANGE, "interrupted": GREY, "failed": RED}
_CELL = "text-align:right;padding:1px 10px"
_COLUMNS = (
    ("objective", "objective", "{:,.6g}"),
    ("gap", "gap", "{:.3g}"),
    ("violation", "violation", "{:.1e}"),
    ("n_support", "support vectors", "{:,}"),
    ("accuracy", "accuracy", "{:.4f}"),
    ("seconds", "seconds", "{:.1f}"),
)


def run_html(status: dict[str, Any], links: dict[str, str]) -> str:
    """Return a run as HTML without scripts, in the colours of the page around it.

    Parameters
    ----------
    status : dict
        The result of `dcsvm_dask.diagnostics.status.status`.
    links : dict of str to str
        Addresses by their labels.
    """
    state = str(status["state"])
    head = (
        f'<b>{escape(status["run"])}</b> &nbsp;<span style="background:{STATES.get(state, GREY)};'
        f'color:#fff;border-radius:3px;padding:1px 7px">{escape(state)}</span>'
    )
    text = str(status["message"])
    if state == "complete" and is_exact(status):
        text = "the exact model" if status["converged"] else "the rounds ended before convergence"
    elif state == "complete" and status["approximates"]:
        text = f"the model of {status['method']}"
    elif state == "complete":
        text = f"the early model of {status['stage']}"
    if status["run_seconds"] is not None:
        text += f", in {duration(status['run_seconds'])}"
    anchors = " · ".join(
        f'<a href="{escape(address)}" target="_blank">{escape(name)}</a>'
        for name, address in links.items()
    )
    sets = described(status["sets"]) if status.get("sets") else ""
    parts = [head, escape(text), escape(sets), _table(history(status)), anchors]
    return f'<div style="line-height:1.7">{"<br>".join(part for part in parts if part)}</div>'


def links(run: RunFolder, *, running: bool) -> dict[str, str]:
    """Return the addresses of a run's live page and report, by their labels, where they exist."""
    found = {}
    try:
        begins = [entry for part in read_journal(run) for entry in part if "dashboard" in entry]
    except InputError:  # damaged: there are links less
        begins = []
    page = str(begins[-1]["dashboard"] or "") if begins else ""
    if running and page.startswith(("http://", "https://")):  # no script of a foreign folder
        found["live page"] = page.removesuffix("/status") + "/dcsvm"
    report = run.place / "report.html"
    if report.is_local and report.exists():
        found["report"] = Path(report.url).as_uri()
    return found


def _table(entries: list[dict[str, Any]]) -> str:
    """Return the history as an HTML table of at most twelve rows."""
    if not entries:
        return ""
    shown = entries if len(entries) <= 12 else [*entries[:8], *entries[-4:]]
    columns = [one for one in _COLUMNS if one[0] != "accuracy"]
    known = (key for key in SCORES if any(entry.get(key) is not None for entry in entries))
    key = next(known, "accuracy")
    columns.insert(-1, (key, SCORES[key], "{:.4f}"))
    names = ["", *(title for _, title, _ in columns)]
    rows = ["<tr>" + "".join(f'<th style="{_CELL}">{name}</th>' for name in names) + "</tr>"]
    for entry in shown:
        values = ((entry.get(key), form) for key, _, form in columns)
        cells = ["" if value is None else form.format(value) for value, form in values]
        cells = [f'<td style="{_CELL}">{cell}</td>' for cell in cells]
        name = f'<td style="text-align:left;padding:1px 10px">{escape(str(entry["stage"]))}</td>'
        rows.append(f"<tr>{name}{''.join(cells)}</tr>")
    return f'<table style="border-collapse:collapse">{"".join(rows)}</table>'
