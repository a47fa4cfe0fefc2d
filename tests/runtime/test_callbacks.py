"""What callbacks raise, and when: the run ends as it says, and every callback receives the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dcsvm_dask.api as dcsvm
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.journal import Journal, read_journal
from dcsvm_dask.storage.lock import FolderLock

HERE = dcsvm.Execution(workers=0)
HOW: dict[str, Any] = {"gamma": 4.0, "C": 8.0, "clusters": (6, 2), "quiet": True, "report": False}
EVENTS = ("begin", "plan", "stage", "blocks", "block", "task", "commit", "round", "notice")


class Raises(dcsvm.Callback):
    """Raises something at the first event of one kind."""

    def __init__(self, when: str, error: BaseException) -> None:
        self.raised = False

        def tell(event: Any) -> None:
            del event
            if not self.raised:
                self.raised = True
                raise error

        setattr(self, f"on_{when}", tell)


class Last(dcsvm.Callback):
    """Keeps how the run ended."""

    def __init__(self) -> None:
        self.ends: list[Any] = []

    def on_end(self, event: Any) -> None:
        self.ends.append(event)


@pytest.mark.parametrize("when", EVENTS)
@pytest.mark.long
def test_a_run_can_be_stopped_wherever_it_is(when: str, small: Path, tmp_path: Path) -> None:
    raises, last = Raises(when, dcsvm.StopRun("that is\nenough")), Last()
    run = dcsvm.train(small, tmp_path / "run", execution=HERE, callbacks=[raises, last], **HOW)
    assert raises.raised
    status = run.status()
    assert status["state"] == "interrupted"
    assert status["message"].startswith("stopped: that is enough; ")
    assert [event.state for event in last.ends] == ["interrupted"]
    entries = read_journal(run.folder)[-1]
    assert entries[-1]["event"] == "RunEnds"
    assert not any(entry["event"] == "TaskFailed" for entry in entries)
    resumed = dcsvm.resume(tmp_path / "run", execution=HERE, quiet=True, report=False)
    assert resumed.status()["converged"]


@pytest.mark.parametrize(
    ("when", "error"),
    [
        ("begin", ZeroDivisionError("mine")),
        ("block", ZeroDivisionError("mine")),
        ("commit", SystemExit("mine")),
    ],
)
def test_what_else_a_callback_raises_fails_the_run_as_it_is(
    when: str, error: BaseException, small: Path, tmp_path: Path
) -> None:
    raises, last = Raises(when, error), Last()
    with pytest.raises(type(error), match="mine"):
        dcsvm.train(small, tmp_path / "run", execution=HERE, callbacks=[raises, last], **HOW)
    assert dcsvm.open_run(tmp_path / "run").status()["state"] == "failed"
    assert [event.state for event in last.ends] == ["failed"]


def test_one_that_fails_at_the_end_hides_it_from_nobody(small: Path, tmp_path: Path) -> None:
    raises, last = Raises("end", ZeroDivisionError("mine")), Last()
    with pytest.warns(UserWarning, match=r"Raises.on_end: ZeroDivisionError\('mine'\)"):
        run = dcsvm.train(small, tmp_path / "run", execution=HERE, callbacks=[raises, last], **HOW)
    assert run.status()["converged"]
    assert [event.state for event in last.ends] == ["complete"]


@pytest.mark.parametrize("wrong", [dcsvm.Callback, 1, print])
def test_what_is_no_callback_is_refused_before_anything_is_written(
    wrong: Any, small: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"callbacks must be instances of .*, got"):
        dcsvm.train(small, tmp_path / "run", execution=HERE, callbacks=[wrong], **HOW)
    assert not (tmp_path / "run").exists()


def test_a_journal_that_lost_an_entry_keeps_the_others(small: Path, tmp_path: Path) -> None:
    run = dcsvm.train(small, tmp_path / "run", execution=HERE, stop_at=1, **HOW)
    dcsvm.resume(tmp_path / "run", execution=HERE, stop_at=0, quiet=True, report=False)
    assert len(read_journal(run.folder)) == 2
    (run.folder.place / "journal" / (run.folder.place / "journal").list()[0]).delete()
    kept = read_journal(run.folder)
    with FolderLock(run.folder.place) as lock:
        announcer = Announcer(run.url, [Journal(run.folder.owned(lock.ownership))])
        announcer.end("complete", converged=True)
    assert read_journal(run.folder)[:1] == kept
    assert len(read_journal(run.folder)) == 2


def test_rounds_of_refinement_claim_nothing_of_the_whole_problem(
    small: Path, tmp_path: Path
) -> None:
    run = dcsvm.train(small, tmp_path / "run", execution=HERE, **HOW)
    refined = [point for point in run.history() if point["stage"].startswith("refine")]
    assert refined
    for point in refined:
        assert point["gap"] is point["violation"] is None
        assert point["objective"] is not None
