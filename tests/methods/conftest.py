"""A run whose every stage is looked at when it has just been committed."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.methods.dcsvm import graph as dcsvm_graph
from dcsvm_dask.methods.dcsvm.graph import dcsvm
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Graph, Outcome, Stages
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import StopRun
from dcsvm_dask.runtime.carry import carry
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder
from tests.begun import begun

C = 8.0


@dataclass
class Seen:
    """What a stage had committed when it was committed."""

    record: Record
    arrays: dict[str, np.ndarray]


@dataclass
class Watched:
    """A run, its dense float64 problem in the run's order, and what its stages committed."""

    folder: RunFolder
    data: DataSet
    outcome: Outcome | None
    stages: dict[str, Seen]
    nodes: dict[tuple[str, str], Seen] = field(repr=False)
    X: np.ndarray
    y: np.ndarray
    C: np.ndarray
    K: np.ndarray

    def gradient(self, alpha: np.ndarray) -> np.ndarray:
        return np.asarray(self.y * (self.K @ (self.y * alpha)) - 1.0)

    def objective(self, alpha: np.ndarray) -> float:
        return float(0.5 * alpha @ (self.gradient(alpha) - 1.0))


@pytest.fixture(scope="module")
def data(request: pytest.FixtureRequest, demo_rows: Callable[..., Path]) -> DataSet:
    """Give the first rows of the demo's data, as many as the module's ROWS."""
    return DataSet.open(demo_rows(request.module.ROWS))


@pytest.fixture(scope="session")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Watched]:
    """Return a function that trains on rows of the demo's data, 100 of them twice."""
    csv = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    home = tmp_path_factory.mktemp("rows")
    once = ingest(str(csv), home / "once", label="lodgepole_pine", scale="minmax", rows=(0, 500))
    X, codes = once.rows.read(0, 500), once.read_codes(0, 500)
    twice = (np.concatenate([X, X[:100]]), np.concatenate([codes, codes[:100]]))
    data = ingest(twice, home / "d.zarr", test=(X[:200], codes[:200]))
    made: dict[str, Watched] = {}

    def call(**changes: Any) -> Watched:
        key = repr(sorted(changes.items()))
        if key not in made:
            made[key] = _run(data, tmp_path_factory.mktemp("run") / "run", **changes)
        return made[key]

    return call


@pytest.fixture(scope="session")
def watched(watch: Callable[..., Watched]) -> Watched:
    """Return a run whose rounds of conquer go on however slow they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dcsvm_graph, "SLOW", math.inf)
        return watch()


@pytest.fixture(scope="session")
def under_way(
    watched: Watched, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunFolder, dict[str, Seen]]:
    """Return a run that was left when its levels were committed, and its stages."""
    folder, settings, goals, shape = _begin(watched.data, tmp_path_factory.mktemp("way") / "run")
    stages: dict[str, Seen] = {}

    def look(graph: Graph, records: dict[str, Record]) -> None:
        for stage in graph:
            stages[stage.name] = Seen(records[stage.name], _arrays(folder, stage.name, "commit"))
        if "level-1" in records:
            raise StopRun

    with in_process(Announcer("", [])) as executor, pytest.raises(StopRun):
        carry(folder, lambda: _looked_at(dcsvm(settings, goals, shape), look), executor)
    return folder, stages


def _begin(data: DataSet, place: Path, **changes: Any) -> tuple[RunFolder, Settings, Goals, Shape]:
    """Commit the parameters of a run."""
    how: dict[str, Any] = {
        "gamma": 2.0,
        "clusters": (4, 2),
        "block_cap": 64,
        "tol": 1e-4,
        **changes,
    }
    training = Training(C=C, **how)
    settings, goals, shape = training.settle(data, holdout=True)
    return begun(place, data, settings, goals, shape), settings, goals, shape


def _run(data: DataSet, place: Path, **changes: Any) -> Watched:
    folder, settings, goals, shape = _begin(data, place, **changes)
    stages: dict[str, Seen] = {}
    nodes: dict[tuple[str, str], Seen] = {}

    def look(graph: Graph, records: dict[str, Record]) -> None:
        for stage in graph:
            stages[stage.name] = Seen(records[stage.name], _arrays(folder, stage.name, "commit"))
            for node in folder.nodes(stage.name):
                found = folder.find(stage.name, node)
                assert found is not None
                kept = {} if found.released else _arrays(folder, stage.name, node)
                nodes[stage.name, node] = Seen(found.record, kept)

    with in_process(Announcer("", [])) as executor:
        outcome = carry(folder, lambda: _looked_at(dcsvm(settings, goals, shape), look), executor)
    part = nodes["arrange", "part-0000"].arrays
    X = data.rows.read(0, data.n_rows)[part["rows"]].astype(np.float64)
    return Watched(
        folder,
        data,
        outcome,
        stages,
        nodes,
        X,
        part["targets"].astype(np.float64),
        C * part["weight"],
        np.exp(-settings.kernel.gamma * cdist(X, X, "sqeuclidean")),
    )


def _looked_at(
    method: Stages, look: Callable[[Graph, dict[str, Record]], None]
) -> Generator[Graph, dict[str, Record], Outcome]:
    graph = next(method)
    while True:
        records = yield graph
        look(graph, records)
        try:
            graph = method.send(records)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def _arrays(folder: RunFolder, stage: str, node: str) -> dict[str, np.ndarray]:
    """Return the arrays directly below a node's attempt."""
    found = folder.node(stage, node)
    names = {key.removesuffix("/zarr.json") for key in found.keys if key.endswith("/zarr.json")}
    folders = ("X", "rule", "model")
    own = (name for name in {*names, *found.small} if name.split("/")[0] not in folders)
    return {name: found.read(name) for name in own if "/" not in name}
