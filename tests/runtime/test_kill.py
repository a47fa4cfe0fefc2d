"""A run that dies at any commit goes on from what it had, to the same model bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.runtime import carry
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt
from dcsvm_dask.storage.run import RunFolder
from tests.left import KilledError, damaged
from tests.marks import long, soak

IN_PROCESS = Execution(workers=0)


WHERE: dict[str, tuple[Any, tuple[str, ...]]] = {
    "deletion": (Location, ("delete", "delete_objects")),
    "move": (RunFolder, ("_change_superseded",)),
}


@pytest.fixture(autouse=True)
def _records_move_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the records of a superseded round move at once."""
    monkeypatch.setattr(carry, "MOST_SUPERSEDED", 1)


@pytest.fixture
def die_at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that lets the process die at its n-th commit, deletion or move.

    What is deleted is half gone then, and of what is moved there is a copy already.
    """

    def arm(what: str, number: int) -> None:
        owner, names = WHERE.get(what, (Attempt, ("commit",)))
        whole = {name: getattr(owner, name) for name in names}
        count = 0

        def call(name: str, self: Any, *arguments: Any) -> Any:
            nonlocal count
            # The lock of a process that is gone is stale; this one only plays dead.
            count += not (what == "deletion" and self.parent.name == "lock")
            if count < number:
                return whole[name](self, *arguments)
            for other in names:
                monkeypatch.setattr(owner, other, whole[other])
            if what in ("after", "move"):
                whole[name](self, *arguments)
            elif name == "delete_objects":
                self.delete_objects(arguments[0][: len(arguments[0]) // 2])
            elif what == "deletion" and self.keys():
                (self / next(iter(self.keys()))).delete()
            raise KilledError

        for name in names:
            monkeypatch.setattr(owner, name, partialmethod(partial(call, name)))

    return arm


def check_resume(
    train: Callable[..., api.Run],
    place: Path,
    look: Any,
    undisturbed: api.Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(KilledError):
        train(run=place)
    before = look.attempts(RunFolder.open(Location.of(place)))
    committed: list[str] = []
    whole = Attempt.commit

    def count(self: Attempt, record: dict[str, Any]) -> bool:
        committed.append(self.place.url)
        return whole(self, record)

    monkeypatch.setattr(Attempt, "commit", count)
    run = api.resume(place, execution=IN_PROCESS, quiet=True)
    monkeypatch.setattr(Attempt, "commit", whole)
    after = look.attempts(run.folder)
    assert run.status()["state"] == "complete"
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    # What was committed was not done again, and everything else was done exactly once.
    assert {name: after[name] for name in before} == before
    assert after.keys() == look.attempts(undisturbed.folder).keys()
    assert len(committed) == len(after) - len(before)
    assert look.orphans(run.folder) == []
    assert damaged(run.folder) == []


def n_nodes(look: Any, run: api.Run) -> int:
    return len(look.attempts(run.folder))


@pytest.mark.parametrize(
    ("when", "share"), [long("before", 0.0), ("after", 0.2), ("before", 0.6), long("after", 1.0)]
)
def test_death_at_a_commit(
    when: str,
    share: float,
    die_at: Callable[..., None],
    train: Callable[..., api.Run],
    tmp_path: Path,
    look: Any,
    undisturbed: api.Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    die_at(when, max(1, round(share * n_nodes(look, undisturbed))))
    check_resume(train, tmp_path / "run", look, undisturbed, monkeypatch)


def test_death_in_the_middle_of_a_deletion(
    die_at: Callable[..., None],
    train: Callable[..., api.Run],
    tmp_path: Path,
    look: Any,
    undisturbed: api.Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    die_at("deletion", 9)
    check_resume(train, tmp_path / "run", look, undisturbed, monkeypatch)


@pytest.mark.parametrize("number", [1, long(2)])
def test_death_while_records_move(
    number: int,
    die_at: Callable[..., None],
    train: Callable[..., api.Run],
    tmp_path: Path,
    look: Any,
    undisturbed: api.Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    die_at("move", number)
    check_resume(train, tmp_path / "run", look, undisturbed, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("step", [3, soak(1)])
def test_death_at_every_commit(
    step: int,
    die_at: Callable[..., None],
    train: Callable[..., api.Run],
    tmp_path: Path,
    look: Any,
    undisturbed: api.Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Just after a commit nothing has happened since that deletions do not try by themselves.
    for number in range(1, n_nodes(look, undisturbed) + 1, step):
        die_at(("before", "after")[number % 2], number)
        check_resume(train, tmp_path / f"run{number}", look, undisturbed, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("step", [3, soak(1)])
def test_death_in_the_middle_of_every_deletion(
    step: int,
    die_at: Callable[..., None],
    train: Callable[..., api.Run],
    tmp_path: Path,
    look: Any,
    undisturbed: api.Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = 0
    while True:
        number += step
        place = tmp_path / f"run{number}"
        die_at("deletion", number)
        try:
            check_resume(train, place, look, undisturbed, monkeypatch)
        except pytest.fail.Exception:  # there are no more deletions than that
            break
        finally:
            monkeypatch.undo()
    assert number > 20
