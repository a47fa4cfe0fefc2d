"""A run of parallel decomposition as it is shown: working sets, their speed, what is left."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dcsvm_dask import api
from dcsvm_dask.diagnostics.dashboard.curves import fall_columns
from dcsvm_dask.diagnostics.dashboard.header import head
from dcsvm_dask.diagnostics.dashboard.page import Page
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun, Runs
from dcsvm_dask.diagnostics.progress.estimate import fall_left
from dcsvm_dask.diagnostics.progress.progress import DONE, Progress
from dcsvm_dask.diagnostics.progress.replay import Replay
from dcsvm_dask.diagnostics.progress.stage import MOST_FALLS, StageProgress
from dcsvm_dask.diagnostics.report.report import report
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.diagnostics.sets import described, of_sets, stretches
from dcsvm_dask.diagnostics.terminal.live import Terminal
from dcsvm_dask.diagnostics.terminal.table import rows
from dcsvm_dask.methods.decomposition import steps
from dcsvm_dask.runtime import loop_tasks
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Planned, RunBegins, SetSolved, StageBegins, StageDone
from dcsvm_dask.runtime.execution import Execution
from tests.summary import summary

SETS = "decomposition-001"
TOL = 1e-4


class Seen(Callback):
    """Keeps events, and how the run stood at each."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.left: list[float] = []
        self.counts: list[str] = []
        self._progress = Progress()

    def on_event(self, event: Any) -> None:
        self._progress.on_event(event)
        self.events.append(event)
        if isinstance(event, SetSolved):
            left = self._progress.left(event.time)
            assert left is not None
            self.left.append(left)
            self.counts += [row.count for row in rows(self._progress, event.time)]


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


@pytest.fixture(scope="module")
def run(seen: Seen, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Give a run with several commits of working sets."""
    draw = np.random.default_rng(0)
    X = draw.random((1500, 4), dtype=np.float32)
    y = np.where(X[:, 0] + 0.3 * np.sin(9 * X[:, 1]) + draw.normal(0, 0.1, 1500) > 0.6, 1, -1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.05)
        patch.setattr("dcsvm_dask.solvers.parallel.solve.SHARE_ROWS", 500)
        return api.train(
            X,
            y,
            tmp_path_factory.mktemp("sets") / "run",
            method="decomposition",
            size=48,
            gamma=4.0,
            C=8.0,
            tol=TOL,
            fit_intercept=True,
            execution=Execution(workers=0),
            callbacks=[seen],
            quiet=True,
            report=False,
        )


def commits(run: api.Run) -> list[dict[str, Any]]:
    return [one for one in run.status()["stages"].values() if "share_seconds" in one]


def test_commits_count_what_was_done_since_the_one_before(run: api.Run) -> None:
    found = commits(run)
    assert len(found) > 2
    last = found[-1]["set"]
    solved = last["kernel_values"] + last["moved"] * 1500
    assert sum(one["kernel_values"] for one in found) == solved
    assert sum(one["set_seconds"] for one in found) == pytest.approx(last["seconds"])
    status = run.status()
    for stage, one in status["stages"].items():
        if one not in found:
            continue
        assert status["stage_seconds"][stage] == pytest.approx(one["seconds"], abs=0.01)
        assert one["cpu_seconds"] >= one["set_seconds"] + sum(one["share_seconds"])
    # Commits follow each other; the loop's time is in them.
    begins = [one["began"] for one in found]
    ends = [one["began"] + one["seconds"] for one in found]
    assert all(end <= begin + 0.01 for end, begin in zip(ends, begins[1:], strict=False))


def test_traces_tell_of_sets_between_commits(run: api.Run) -> None:
    found = commits(run)
    for before, one in zip([None, *found], found, strict=False):
        trace, first = one["trace"], before["sets"] if before else 0
        assert trace["tol"] == steps.STOP * TOL
        if one["sets"] == first:  # the commit before came due just at the end
            assert one is found[-1]
            assert trace["sets"] == []
            continue
        assert trace["sets"] == sorted(set(trace["sets"]))
        assert first < trace["sets"][0] <= trace["sets"][-1] <= one["sets"]
        assert trace["seconds"] == sorted(trace["seconds"])
        assert 0.0 <= trace["seconds"][0] <= trace["seconds"][-1] <= one["seconds"]
    assert found[0]["trace"]["violation"][0] == pytest.approx(2.0)


def test_live_progress_counts_sets_and_what_is_left(run: api.Run, seen: Seen) -> None:
    reported = [event for event in seen.events if isinstance(event, SetSolved)]
    numbers = list(dict.fromkeys(event.number for event in reported))  # the end is reported, too
    assert numbers == list(range(1, commits(run)[-1]["sets"] + 1))
    assert any(count.startswith("set 2, violation ") for count in seen.counts)
    assert all(left >= 0.0 for left in seen.left)
    end = reported[-1].time
    later = [(left, end - event.time) for left, event in zip(seen.left, reported, strict=True)]
    for left, actual in later[len(later) // 2 :]:
        assert left <= 3.0 * actual + 1.0
    progress = Progress()
    for event in seen.events:
        progress.on_event(event)
    assert progress.sets == commits(run)[-1]["sets"]
    assert [row.count for row in rows(progress, end) if row.name == "decomposition"] == [
        f"{progress.sets} working sets"
    ]


def test_a_folder_tells_the_same(run: api.Run) -> None:
    progress = Progress()
    Replay(run.folder, [progress], tasks=False).look()
    assert progress.sets == commits(run)[-1]["sets"]
    assert progress.is_of_sets
    violations = [violation for _, _, violation in progress.falls]
    wanted = [violation for one in commits(run) for violation in one["trace"]["violation"]]
    assert violations == wanted
    times = [at for at, _, _ in progress.falls]
    assert times == sorted(times)
    columns = fall_columns(progress)
    assert columns["violation"] == wanted
    assert columns["seconds"][0] >= 0.0


def test_status_and_notebook_say_how_fast_and_how_even(run: api.Run) -> None:
    status = run.status()
    sets = status["sets"]
    last = commits(run)[-1]
    assert sets["sets"] == last["sets"]
    assert (sets["iterations"], sets["moved"]) == (last["iterations"], last["set"]["moved"])
    assert 0.0 < sets["serial_share"] < 1.0
    assert 1.0 <= sets["balance"] <= 3.0
    assert f"sets       {last['sets']} working sets, " in summary(status)
    assert f"{last['sets']} working sets" in run._repr_html_()
    assert "x the mean" in described(sets)


def test_other_runs_have_no_sets(trained: Any) -> None:
    status = trained.run.status()
    assert status["sets"] is None
    assert "working sets," not in summary(status)


def test_the_report_has_sets_in_place_of_blocks(run: api.Run) -> None:
    html, tables = report(run.folder)
    found = list(rows_of(tables["sets"]))
    assert [row["stage"] for row in found] == [
        f"decomposition-{i + 1:03d}" for i in range(len(found))
    ]
    assert sum(row["sets"] for row in found) == commits(run)[-1]["sets"]
    assert all(row["balance"] >= 1.0 for row in found if row["sets"])
    assert all(row["balance"] is None for row in found if not row["sets"])
    violations = [row["violation"] for row in rows_of(tables["falls"])]
    assert violations[0] == pytest.approx(2.0)
    assert min(violations) > 0.0
    assert "Working sets" in html
    assert "largest share / mean" in html
    assert "blocks" not in tables or not tables["blocks"]["level"]


def test_the_terminal_shows_the_speed(seen: Seen, run: api.Run) -> None:
    shown = io.StringIO()
    terminal = Terminal(Console(file=shown, width=150, force_terminal=False))
    for event in seen.events:
        terminal.on_event(event)
        if isinstance(event, SetSolved) and event.number == 20:
            break
    terminal._console.print(terminal._render())
    terminal.close()
    assert "set 20, violation " in shown.getvalue()
    assert "working sets/s" in shown.getvalue()


def test_the_page_shows_sets_and_hides_rounds(run: api.Run) -> None:
    followed, runs = FollowedRun(run.folder.place.url), Runs()
    Replay(run.folder, [followed.progress]).look()
    runs.followed[followed.url] = followed
    page = Page(runs, SimpleNamespace(workers={}, address="tcp://h:1"))
    page.update()
    assert page.head.css_classes == ["of-sets"]
    names = {root.name: root for root in page.roots}
    assert not names["falls"].title.text
    assert not names["speed"].title.text
    reported = head(followed, 1, followed.progress.ending.time)  # type: ignore[union-attr]
    assert f"<dt>working sets</dt><dd>{followed.progress.sets}" in reported


def begun(*planned: float) -> Progress:
    """Return a run of which sets, as many seconds, and f from scratch are planned."""
    progress = Progress()
    progress.on_begin(RunBegins("r", 0.0, "here", 1, None, None, {}))
    each, check = planned
    stages = {
        SETS: {"seconds": each, "times": 4, "layers": {"step": 3, "commit": 1}},
        "decomposition-002": {
            "seconds": check,
            "times": 1,
            "layers": {"recompute": 2, "commit": 1},
        },
    }
    progress.on_plan(Planned("r", 0.0, {"stages": stages}))
    return progress


def solved(progress: Progress, at: float, number: int, violation: float) -> None:
    record = {"start": 1.0, "violation": violation, "tol": 1e-4, "rows": 9}
    progress.on_set(SetSolved("r", at, SETS, "commit", "w", number, record))


def test_what_is_left_follows_the_plan_and_then_the_violation() -> None:
    progress = begun(5.0, 3.0)
    assert progress.left(0.0) == pytest.approx(23.0)
    progress.on_stage(StageBegins("r", 0.0, SETS, "d", {"commit": 1}, {}))
    assert progress.left(1.0) == pytest.approx(22.0)
    for k in range(1, 31):  # a decade in ten seconds: 40 s in all
        solved(progress, float(k), k, 10.0 ** (-k / 10.0))
        left = progress.left(float(k))
        assert left is not None
        assert left == pytest.approx(40 - k + 3, abs=21)
    assert progress.left(30.0) == pytest.approx(13.0)
    assert progress.left(36.0) == pytest.approx(7.0)
    assert progress.sets_per_second == pytest.approx(1.0)
    progress.on_commit(StageDone("r", 40.0, SETS, {"sets": 40, "violation": 1e-4}, False))
    progress.on_stage(
        StageBegins("r", 40.0, "decomposition-002", "d", {"recompute": 2, "commit": 1}, {})
    )
    assert progress.left(41.0) == pytest.approx(3.0)
    done = {"violation": 1e-4, "tol": 1e-3}
    progress.on_commit(StageDone("r", 43.0, "decomposition-002", done, False))
    assert progress.left(43.0) == 0.0
    assert progress.stages[SETS].state == DONE


def test_a_violation_that_rises_says_nothing_of_the_end() -> None:
    assert fall_left([(0.0, 1, 2.0), (1.0, 2, 4.0)], 1e-3, 1.0) is None
    assert fall_left([(0.0, 1, 2.0)], 1e-3, 1.0) is None
    assert fall_left([(0.0, 1, 2.0), (1.0, 2, 1e-4)], 1e-3, 1.0) == 0.0


def test_a_curve_of_many_sets_is_thinned_and_ends_at_the_last() -> None:
    stage = StageProgress(SETS)
    for k in range(1, 5000):
        stage.solve_set(k, {"start": 1.0, "violation": 1.0 / k, "tol": 1e-9}, float(k))
        assert stage.falls[-1] == (float(k), k, 1.0 / k)
    assert MOST_FALLS / 3 < len(stage.falls) <= MOST_FALLS
    assert [point[1] for point in stage.falls] == sorted(point[1] for point in stage.falls)


def test_counts_go_on_where_steps_begin_anew() -> None:
    def one(number: int, seconds: float) -> dict[str, Any]:
        known = {"steps": number, "iterations": 10 * number, "moved": number, "entering": 4}
        times = {"seconds": seconds, "set_seconds": 1.0, "share_seconds": [1.0, 3.0]}
        return {"set": known, **times}

    records = [one(5, 2.0), one(8, 1.0), {"from_scratch": True}, one(2, 0.0)]
    assert [each["sets"] for each in stretches(records)] == [5, 3, 2]
    whole = of_sets(records)
    assert whole is not None
    assert (whole["sets"], whole["iterations"]) == (10, 100)
    assert whole["sets_per_second"] == pytest.approx(10 / 3)
    assert whole["serial_share"] == pytest.approx(0.2)
    assert whole["balance"] == pytest.approx(1.5)
    assert of_sets([{"from_scratch": True}]) is None
