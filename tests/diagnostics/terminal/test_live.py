"""What a run looks like on a terminal."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.diagnostics.terminal import table as tree
from dcsvm_dask.diagnostics.terminal.live import (
    COLUMNS,
    Terminal,
    figures,
    headings,
    layout,
    line,
)
from dcsvm_dask.diagnostics.terminal.table import Row, row_line
from dcsvm_dask.runtime.events import Notice, RunEnds, StageDone, TaskFailed, WorkerLost
from tests.diagnostics.conftest import Recorder, Trained

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
WIDTHS = (60, 80, 100, 200)


def drawn(trained: Trained, width: int, **how: Any) -> str:
    """Return what the whole run leaves on a terminal."""
    file = io.StringIO()
    terminal = Terminal(Console(file=file, width=width, height=50, **how))
    trained.events.tell(terminal)
    return file.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_lines_fit_and_columns_stand_below_each_other(trained: Trained, width: int) -> None:
    lines = drawn(trained, width).splitlines()
    assert max(map(len, lines)) <= width
    head = next(i for i, text in enumerate(lines) if "objective" in text)
    foot = next(i for i in range(head, len(lines)) if not lines[i])
    points = lines[head + 1 : foot]
    reported = [name for name in trained.run.status()["stages"] if "-" in name]
    stages = [name for name in reported if name.split("-")[0] in ("level", "refine", "conquer")]
    assert [next(word for word in text.split() if "-" in word[1:]) for text in points] == stages
    # The point of the exact objectives stands in one column, the accuracies end in another.
    exact = [text for text in points if "~" not in text]
    found = [re.search(r"-[\d,]+(\.)\d{4}", text) for text in exact]
    assert len({one.start(1) for one in found if one is not None}) == 1
    scored = [text for text in points if re.search(r" 0\.\d{4}$", text)]
    assert len(scored) == 3
    assert len({len(text) for text in scored}) == 1


def test_the_tree_at_the_end_says_what_was_done(trained: Trained) -> None:
    text = drawn(trained, 100)
    rounds = [name for name in trained.run.status()["stages"] if name.startswith("conquer")]
    assert f"{len(rounds) - 1} rounds" in text
    assert re.search(r"level-2 +━+ +4 blocks +0:0\d", text)
    assert text.count("conquer ") == 1
    assert "left" not in text


def test_a_terminal_of_few_signs_gets_few(trained: Trained) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    trained.events.tell(Terminal(Console(file=file, width=90)))
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert "probe      ######" in text
    assert " | " in text


@pytest.mark.parametrize("no_color", [True, False])
def test_colours_are_left_out_where_nobody_wants_them(trained: Trained, no_color: bool) -> None:
    text = drawn(trained, 80, force_terminal=True, no_color=no_color, color_system="truecolor")
    codes = {c for found in re.findall(r"\x1b\[([\d;]+)m", text) for c in found.split(";")}
    assert (codes <= {"0", "1", "2"}) == no_color


def test_a_terminal_has_its_cursor_at_any_time(trained: Trained) -> None:
    text = drawn(trained, 80, force_terminal=True)
    assert text.rindex(SHOW) > text.rindex(HIDE)
    # Hidden for no longer than it takes to begin.
    assert text.index(SHOW) - text.index(HIDE) < 2000
    assert text.endswith(("\n", SHOW))


def test_what_is_interrupted_says_so(trained: Trained) -> None:
    file = io.StringIO()
    terminal = Terminal(Console(file=file, width=80))
    part = Recorder()
    stop = next(
        i
        for i, event in enumerate(trained.events.reported)
        if getattr(event, "stage", "") == "level-1"
    )
    part.reported = trained.events.reported[: stop + 3]
    now = part.reported[-1].time
    lost = WorkerLost("run", now, "tcp://1.2.3.4:5")
    part.reported += [lost, TaskFailed("run", now, "s", "n", "w", "odd")]
    part.reported.append(RunEnds("run", now, "interrupted", "", False))
    part.tell(terminal)
    text = file.getvalue()
    assert re.search(r"level-1 .* stopped", text)
    assert "1 worker lost · 1 step tried again" in text
    assert "worker tcp://1.2.3.4:5 was lost" in text


def test_before_workers_are_ready_it_says_what_it_waits_for() -> None:
    file = io.StringIO()
    terminal = Terminal(Console(file=file, width=80))
    terminal.on_notice(Notice("run", 0.0, "RUN is complete already: nothing to do"))
    assert file.getvalue() == "RUN is complete already: nothing to do\n"
    terminal.on_notice(Notice("run", 0.0, "compiling", doing=True))
    terminal._live.refresh()
    terminal.on_end(RunEnds("run", 0.0, "failed", "why", False))
    assert "Traceback" not in file.getvalue()


def test_a_level_that_is_left_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, str]] = []
    monkeypatch.setattr(Terminal, "_sentence", lambda _, __, *words: said.append(words))
    record = {"pays": False, "why": "kernel values are everywhere"}
    event = StageDone("run", 1.0, "partition-level-1", record, resumed=False)
    Terminal(Console(file=io.StringIO(), width=80)).on_commit(event)
    assert said == [("level-1", "kernel values are everywhere")]


def test_narrow_lines_leave_out_what_is_needed_least() -> None:
    assert [column.key for column in layout(60)[1]] == [
        "stage",
        "objective",
        "gap",
        "violation",
        "support",
        "accuracy",
    ]
    assert len(layout(100)[1]) == len(COLUMNS)
    assert "support vectors" in headings(120)
    assert "SVs" in headings(60)
    assert line({"stage": "level-1"}, 60).strip() == "level-1"


def test_a_level_whose_blocks_never_meet_is_known_exactly() -> None:
    about = {"support": 3, "gap_estimate": 2.5, "violation": 0.01}
    level = {**about, "objective_estimate": -50.0, "objective_error": 1e-12}
    assert figures(0.0, "level-1", level, None) == {
        "time": "0:00",
        "stage": "level-1",
        "objective": "-50.000000",
        "gap": "2.5",
        "support": "3",
    }
    level["objective_error"] = 4.0
    assert figures(0.0, "level-1", level, 0.5)["objective"].startswith("~-50 ")
    assert figures(0.0, "level-1", level, 0.5)["error"] == "+-4"


@pytest.mark.parametrize("width", [80, 140])
def test_bars_of_stages_with_long_names_stand_below_each_other(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("probe", "decomposition")
    shown = [Row(name, "done", 1.0, "1 task", 1.0, None) for name in names]
    monkeypatch.setattr(tree, "fitting", lambda *_: shown)
    monkeypatch.setattr(tree, "foot", lambda *_, **__: [])
    lines = tree.table(Progress(), 0.0, width, 40, ascii_only=True).plain.splitlines()[:2]
    assert len({text.index("##") for text in lines}) == 1
    assert len({text.index("1 task") for text in lines}) == 1
    assert max(map(len, lines)) <= width


def test_what_a_foreign_run_says_is_neither_markup_nor_a_command_to_the_terminal() -> None:
    evil = "[red]x[/nothing] \x1b]0;owned\x07\x1b[2J[link=file:///etc/passwd]y[/link]"
    file = io.StringIO()
    terminal = Terminal(Console(file=file, width=200))
    terminal.on_event(Notice("run", 1.0, evil))
    terminal.on_event(TaskFailed("run", 3.0, evil, "solve-0", "w", evil))
    terminal.on_event(RunEnds("run", 4.0, "failed", evil, converged=False))
    terminal._sentence(Notice("run", 5.0, ""), evil, evil)
    row = row_line(Row(evil, "done", 1.0, "", None, None), 200, ascii_only=False)
    terminal._console.print(row)
    plain = io.StringIO()
    lines = Lines(plain)
    lines.on_event(Notice("run", 1.0, evil))
    for text in (file.getvalue(), plain.getvalue()):
        assert "[red]x[/nothing]" in text
        assert r"\x1b]0;owned\x07\x1b[2J" in text
        assert "\x1b" not in text
        assert "\x07" not in text
