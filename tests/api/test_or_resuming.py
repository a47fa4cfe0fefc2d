"""Training that goes on where a run is there already: jobs that a queue starts again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.events import StageDone
from dcsvm_dask.runtime.execution import Execution

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)


class StopAtLevel(Callback):
    """Ends a run after its first level."""

    def on_commit(self, event: StageDone) -> None:
        if event.stage == "level-2":
            raise StopRun("enough")


def test_the_same_command_trains_goes_on_and_does_nothing(
    small: Path,
    tmp_path: Path,
    settings: dict[str, Any],
    undisturbed: api.Run,
    look: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place, whole = tmp_path / "run", api.train_or_resume

    def queued(*places: Any, **words: Any) -> api.Run:
        ends = [] if (place / "run.json").exists() else [StopAtLevel()]
        return whole(*places, **{**words, "callbacks": ends})

    monkeypatch.setattr(api, "train_or_resume", queued)
    words = ["train", small, "--run", place, "--or-resume", "--workers", 0, "--quiet"]
    words += ["--gamma", 8, "-C", 8, "--clusters", "4,2", "--block-cap", 128, "--tol", 1e-4]
    states = []
    for _ in range(3):
        found = CliRunner().invoke(main, list(map(str, words)))
        assert found.exit_code == 0, found.output
        states.append(api.open_run(place).status()["state"])
    assert states == ["interrupted", "complete", "complete"]
    np.testing.assert_array_equal(look.alpha(api.open_run(place)), look.alpha(undisturbed))


def test_a_run_that_was_begun_otherwise_is_refused_with_what_differs(
    small: Path,
    tmp_path: Path,
    settings: dict[str, Any],
    train: Callable[..., api.Run],
    demo_rows: Callable[..., Path],
) -> None:
    run = train(stop_at=2)

    def again(data: Path = small, **changes: Any) -> api.Run:
        words = {"execution": HERE, "quiet": True, **settings, "stop_at": 2, **changes}
        return api.train_or_resume(data, run.url, **words)

    cases: list[tuple[dict[str, Any], str]] = [
        ({"gamma": 4.0, "seed": 3}, r"begun otherwise \(gamma 8.0, now 4.0; seed 0, now 3\)"),
        ({"kernel": "linear"}, "kernel rbf, now linear"),
        ({"clusters": (8, 2)}, r"clusters \[4, 2\], now \[8, 2\]"),
        ({"holdout": small}, f"holdout none, now {small}"),
        ({"data": demo_rows(500)}, f"data {small}/train, now {demo_rows(500)}/train"),
    ]
    for changes, said in cases:
        with pytest.raises(InputError, match=said):
            again(**changes)
    with pytest.raises(InputError, match="method dcsvm, now cascade"):
        api.train_or_resume(small, run.url, execution=HERE, quiet=True, method="cascade")
    # Goals are no difference, nor sizes that memory has chosen.
    found = again(stop_at=1, tol=1e-3, level_tol=1e-2)
    assert found.status()["stage"] == "level-1"
