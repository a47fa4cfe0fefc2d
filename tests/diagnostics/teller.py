"""What a run tells its scheduler, message by message."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun, Runs
from dcsvm_dask.runtime.topic import TOPIC

RUN, WORKER = "/runs/one", "tcp://10.0.0.1:4000"
ROWS = [600, 300, 100]
KERNEL = {"name": "rbf", "gamma": 32.0, "degree": 3, "coef0": 0.0}
ABOUT = {"data": "/data/cov.zarr/train", "rows": 1000, "kernel": KERNEL, "C": 32.0, "tol": 1e-3}
BEGIN: dict[str, Any] = {
    "kind": "begin",
    "where": "a scheduler",
    "workers": 2,
    "memory": None,
    "dashboard": None,
    "about": ABOUT,
}
LEVEL = {
    "support": 300,
    "bounded": 50,
    "objective_estimate": -900.0,
    "objective_error": 20.0,
    "gap_estimate": 500.0,
    "gap_error": 600.0,
    "blocks": 3,
}


def point(objective: float, **more: Any) -> dict[str, Any]:
    found = {"objective": objective, "gap": 5.0, "violation": 0.5, "support": 250, "bounded": 40}
    return {**found, **more}


def solved(block: int, rows: int, support: int) -> dict[str, Any]:
    of_it = {"objective": -1234.5, "violation": 9e-3, "iterations": 700, "kernel_values": 40_000}
    return {"block": block, "rows": rows, "support": support, "bounded": 7, "seconds": 2.0, **of_it}


class Teller:
    """Tells a scheduler's runs what a run would, each message a second after the last."""

    def __init__(self, run: str = RUN, runs: Runs | None = None) -> None:
        self.url, self.runs, self.now = run, runs or Runs(), 1000.0

    def __call__(self, **message: Any) -> None:
        self.now += 1.0
        self.runs.take(TOPIC, {"run": self.url, "time": self.now, **message})

    def stages(self, *names: str, layers: dict[str, int] | None = None) -> None:
        about = {"label": "x", "layers": layers or {"commit": 1}, "done": {}}
        self(kind="graph", stages=[{"stage": name, **about} for name in names])

    def task(self, stage: str, layer: str, node: str, **record: Any) -> None:
        about = {"stage": stage, "layer": layer, "node": node, "worker": WORKER}
        self(kind="task", **about, record=record)

    def commit(self, stage: str, **record: Any) -> None:
        self.task(stage, "commit", "commit", **record)

    @property
    def run(self) -> FollowedRun:
        return self.runs.followed[self.url]


def arranged() -> Teller:
    """Return a run that has arranged its rows into three blocks and is about to solve them."""
    teller = Teller()
    teller(**BEGIN)
    teller.stages("probe")
    teller.commit("probe", value_seconds=5e-9)
    teller.stages("arrange")
    teller.commit("arrange", blocks=3, block_rows=ROWS)
    teller.stages("level-1", layers={"solve": 2, "commit": 1})
    return teller
