"""How the page looks: its template below Dask's navigation bar, in light and in dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).with_name("page.html")

# Bokeh's text lies in trees of its own, which the page's style does not reach; its variables do.
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
        Where Dask's lie.
    """
    return pages.from_string(TEMPLATE.read_text(encoding="utf-8"))
