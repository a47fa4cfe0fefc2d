"""The head of the page: what is trained, how far it is, what went wrong."""

from __future__ import annotations

from dcsvm_dask.diagnostics.dashboard import header
from dcsvm_dask.diagnostics.dashboard.runs import CARRIER
from tests.diagnostics.teller import (
    ABOUT,
    BEGIN,
    LEVEL,
    Teller,
)


def test_the_head_says_what_is_trained_and_how_far_it_is(tell: Teller) -> None:
    text = header.head(tell.run, 2, tell.now)
    for said in ("Running", "cov.zarr/train, 1,000 rows", "rbf, gamma = 32, C = 32", "level-1"):
        assert said in text
    tell.commit("level-1", **LEVEL)
    assert "-900 ± 20" in header.head(tell.run, 2, tell.now)
    tell(kind="end", state="complete", message="", converged=True)
    assert "Complete: the exact model is reached" in header.head(tell.run, 2, tell.now)
    assert "No run is active." in header.no_run("tcp://h:1")


def test_what_users_name_is_no_markup() -> None:
    tell = Teller("/runs/<b>")
    tell(**BEGIN | {"about": ABOUT | {"data": "/<script>.zarr/<i>"}})
    tell(kind="failed", stage="level-1", node="n", worker="w", error="<img>")
    text = header.head(tell.run, 2, tell.now) + header.faults(tell.run.progress)
    for markup in ("<script>", "<i>", "<b>", "<img>"):
        assert markup not in text


def test_a_run_whose_process_has_gone_is_not_shown_as_running(tell: Teller) -> None:
    tell(kind=CARRIER, client="Client-1")
    tell.runs.take("all", {"action": "remove-client", "client": "Client-2"})
    assert tell.run.is_on
    tell.runs.take("all", {"action": "remove-client", "client": "Client-1"})
    assert not tell.run.is_on
    assert "Its process has left" in header.head(tell.run, 2, tell.now)
