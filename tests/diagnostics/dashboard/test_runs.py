"""The runs that the page knows, and what it hears of them."""

from __future__ import annotations

from dcsvm_dask.diagnostics.dashboard.runs import MOST_RUNS, Runs
from dcsvm_dask.runtime.topic import TOPIC
from tests.diagnostics.teller import (
    BEGIN,
    RUN,
    WORKER,
    Teller,
    solved,
)


def test_runs_side_by_side_are_kept_apart_and_the_oldest_forgotten() -> None:
    runs = Runs()
    for number in range(MOST_RUNS + 3):
        one = Teller(f"/runs/{number}", runs)
        one(**BEGIN)
        if number:  # the first goes on
            one(kind="end", state="complete", message="", converged=True)
    assert len(runs.followed) == MOST_RUNS
    assert "/runs/0" in runs.followed
    newest = runs.newest()
    assert newest is not None
    assert newest.url == f"/runs/{MOST_RUNS + 2}"
    # What comes of a run whose beginning was not heard is left out.
    Teller("/runs/unknown", runs)(kind="blocks", stage="s", node="n", worker="w", blocks=[0])
    assert "/runs/unknown" not in runs.followed


def test_messages_are_left_as_they_are(tell: Teller) -> None:
    # The scheduler sends them on to the run's own process.
    message = {
        "kind": "solve",
        "run": RUN,
        "time": tell.now,
        "stage": "level-1",
        "node": "solve-0000",
        "worker": WORKER,
        "solved": [solved(0, 600, 150)],
    }
    tell.runs.take(TOPIC, message)
    assert message["solved"] == [solved(0, 600, 150)]
    assert message["kind"] == "solve"
