"""The rows of the tree on a terminal."""

from __future__ import annotations

from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.diagnostics.terminal.table import rows, table
from dcsvm_dask.runtime.events import StageDone
from tests.diagnostics.conftest import Trained


def test_many_rounds_are_one_row(trained: Trained) -> None:
    progress = Progress()
    trained.events.tell(progress)
    end, progress.ending = progress.ending, None
    assert end is not None
    last = list(progress.stages)[-1]
    commit = progress.stages["conquer-000"]
    for stage in ("model", "score"):
        for name in [name for name in progress.stages if name.startswith(stage)]:
            del progress.stages[name]
    before = len(rows(progress, end.time))
    for number in range(20, 320):
        name = f"conquer-{number:03d}"
        progress.stages[name] = type(commit)(name, layers=dict(commit.layers))
        progress.stages[name].began = end.time
        progress.on_commit(StageDone("run", end.time, name, commit.record, False))
    found = rows(progress, end.time)
    assert len(found) == before, last
    assert any(row.count == "round 319" for row in found)
    assert len(table(progress, end.time, 80, 12, ascii_only=True).plain.splitlines()) < 12


def test_levels_and_the_model_show_their_scores(trained: Trained) -> None:
    progress = Progress()
    trained.events.tell(progress)
    shown = {row.name: row.score for row in rows(progress, 0.0)}
    assert shown["conquer"] == ""
    text = table(progress, 0.0, 90, 40, ascii_only=True).plain
    for stage in progress.stages.values():
        if stage.name.startswith("score-"):
            name = stage.name.removeprefix("score-")
            score = f"accuracy {stage.record['accuracy']:.4f}"
            assert shown["model" if name.startswith("model") else name] == score
            assert any(line.endswith(score) for line in text.splitlines())
    assert sum(map(bool, shown.values())) >= 2
