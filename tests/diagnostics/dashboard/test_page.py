"""What an update of the page sends to a browser: what has changed, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent

from dcsvm_dask.diagnostics.dashboard import page as page_module
from dcsvm_dask.diagnostics.dashboard.page import Page
from tests.diagnostics.teller import LEVEL, WORKER, Teller, point, solved

TASK = {"stage": "level-1", "node": "solve-0000", "worker": WORKER}


@pytest.fixture
def update(tell: Teller, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Give an update of a page that is open, which returns what it sent."""
    scheduler = SimpleNamespace(workers={}, address="tcp://h:1")
    page, document, sent = Page(tell.runs, scheduler), Document(), list[str]()
    for root in page.roots:
        document.add_root(root)

    def note(event: Any) -> None:
        if isinstance(event, DocumentPatchedEvent):
            sent.append(type(event).__name__)

    document.on_change(note)
    clock = SimpleNamespace(time=lambda: tell.now)
    monkeypatch.setattr(page_module, "time", clock)

    def once() -> list[str]:
        before, n = set(document.models), len(sent)
        page.update()
        # Another model would have Bokeh go through all of the document, which takes long.
        assert set(document.models) == before
        return sent[n:]

    return once


def test_while_nothing_happens_nothing_is_sent_but_the_time(
    tell: Teller, update: Callable[[], list[str]]
) -> None:
    assert update()
    assert update() == []
    tell.now += 1.0
    assert update() == ["ModelChangedEvent"]  # the seconds in the head


def test_of_blocks_only_those_that_changed_are_sent(
    tell: Teller, update: Callable[[], list[str]]
) -> None:
    tell(kind="blocks", blocks=[0, 1], **TASK)
    assert "ColumnsStreamedEvent" in update()
    tell(kind="solve", solved=[solved(0, 600, 150)], **TASK)
    sent = update()
    assert "ColumnsPatchedEvent" in sent
    assert "ColumnsStreamedEvent" not in sent


def test_a_whole_run_replaces_no_model(tell: Teller, update: Callable[[], list[str]]) -> None:
    update()
    tell.commit("level-1", **LEVEL)
    update()
    for number in range(30):
        tell.stages(f"conquer-{number:03d}")
        tell.commit(f"conquer-{number:03d}", **point(-950.0 - number, moved=100 - number))
        update()
    tell(kind="end", state="complete", message="", converged=True)
    assert update()
