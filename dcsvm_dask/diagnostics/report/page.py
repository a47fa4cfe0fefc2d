"""The HTML file of a report, which needs no network."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

from dcsvm_dask import __version__
from dcsvm_dask.diagnostics.report.parts import Picture, Section
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows
from dcsvm_dask.errors import InputError

NEEDED = "a report needs bokeh and jinja2: pip install bokeh jinja2"
GENERATOR = "dcsvm_dask report"
"""Mark of files that are reports and may be overwritten."""
MOST_EMBEDDED = 20_000
"""Largest number of rows of a table in the page; --csv saves all."""


def available() -> bool:
    """Return whether the packages that a report needs are installed."""
    from importlib.util import find_spec

    return find_spec("bokeh") is not None and find_spec("jinja2") is not None


def require() -> None:
    """Raise an error if the packages that a report needs are missing.

    Raises
    ------
    InputError
        With the command that installs them.
    """
    if not available():
        raise InputError(NEEDED)


def page(
    title: str,
    subtitle: str,
    state: str,
    headlines: list[tuple[str, str, str]],
    notes: list[str],
    sections: Iterable[Section],
    tables: dict[str, Table],
) -> str:
    """Return a report as HTML text.

    Parameters
    ----------
    title, subtitle : str
    state : str
        A word that is shown as a badge; empty for none.
    headlines : list of (str, str, str)
        Label, value and explanation of each figure at the top.
    notes : list of str
        Messages about data that could not be read.
    sections : iterable of Section
    tables : dict of str to Table
        Tables that the page can save as CSV.

    Returns
    -------
    str
    """
    from bokeh.resources import Resources

    listed = list(sections)
    pictures = [part for one in listed for part in one.parts if isinstance(part, Picture)]
    used = {getattr(part, "table", None) for one in listed for part in one.parts}
    embedded = {name: _cut(columns) for name, columns in tables.items() if name in used}
    made: str = _template().render(
        title=title,
        subtitle=subtitle,
        state=state,
        headlines=headlines,
        notes=notes,
        sections=listed,
        figures=_embedded(pictures) if pictures else "",
        bokeh=Resources(mode="inline", components=["bokeh"]).render_js() if pictures else "",
        style=_file("style.css"),
        own_script=_file("script.js"),
        tables=_safe(json.dumps(embedded, allow_nan=False)),
        cut={name for name in embedded if n_rows(tables[name]) > MOST_EMBEDDED},
        generator=f"{GENERATOR} {__version__}",
        made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )
    return made


def _embedded(pictures: list[Picture]) -> str:
    """Return the figures in JSON for `Bokeh.embed.embed_items`.

    `bokeh.embed.components` gives the same, but visits every model some hundred times.
    """
    from bokeh.core.json_encoder import serialize_json
    from bokeh.document import Document

    document = Document()
    with document.models.freeze():
        for picture in pictures:
            document.add_root(picture.figure)
    roots = {picture.figure.id: f"figure-{picture.figure.id}" for picture in pictures}
    item = {"docid": "report", "roots": roots, "root_ids": list(roots)}
    return _safe(serialize_json({"document": document.to_json(deferred=False), "item": item}))


def _safe(text: str) -> str:
    """Return JSON text that cannot end a script element."""
    return text.replace("<", "\\u003c")


def _cut(columns: Table) -> Table:
    return {name: values[:MOST_EMBEDDED] for name, values in columns.items()}


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(_file("page.html.j2"))


@cache
def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
