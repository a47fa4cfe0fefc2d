"""Pages of the commands for Sphinx, from what click says of them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import click

from dcsvm_dask.cli import COMMANDS, main

FOLDER = "generated/commands"


def write_pages(app: Any) -> None:
    """Write a page for each command, before Sphinx looks for pages."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    top = click.Context(main, info_name="dcsvm")
    items = [
        f"[dcsvm {name}](/{FOLDER}/{name}.md)\n: {plain(text)}\n" for name, text in COMMANDS.items()
    ]
    pages = [f"/{FOLDER}/{name}" for name in COMMANDS]
    tree = ["```{toctree}", ":hidden:", ":titlesonly:", "", *pages, "```", ""]
    (folder / "list.txt").write_text("\n".join([*items, *tree]))
    for name in COMMANDS:
        command = main.get_command(top, name)
        assert command is not None
        (folder / f"{name}.md").write_text(page(command, click.Context(command, top, name)))


def page(command: click.Command, context: click.Context) -> str:
    """Return the Markdown of a command: usage, text, options."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    records = [
        one.get_help_record(context)
        for one in command.get_params(context)
        if isinstance(one, click.Option)
    ]
    parts = [f"# {context.command_path}", f"```\n{usage}\n```"]
    parts += map(paragraph, inspect.cleandoc(command.help or "").split("\n\n"))
    parts += ["## Options"]
    parts += [f"`{record[0]}`\n: {plain(record[1])}" for record in records if record]
    return "\n\n".join(parts) + "\n"


def paragraph(text: str) -> str:
    """Return a paragraph of click's; one that begins with its mark for it keeps its lines."""
    kept = text.removeprefix("\b\n")
    return plain(text) if kept == text else f"```\n{kept}\n```"


def plain(text: str) -> str:
    """Return a text as one line, in which only backticks mean to Markdown what they mean here."""
    pieces = " ".join(text.split()).split("`")
    for k in range(0, len(pieces), 2):
        pieces[k] = re.sub(r"([\\*_<>\[\]|#$~^])", r"\\\1", pieces[k])
    return "`".join(pieces)
