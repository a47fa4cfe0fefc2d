"""Stages as a Dask graph: names that the dashboard groups by, order, and small arguments."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from dask.core import get_dependencies
from dask.utils import key_split
from distributed.utils import key_split_group

from dcsvm_dask.methods.graph import COMMIT, Stage, many, single
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import TaskDone
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.executors import in_process
from dcsvm_dask.runtime.submitting import in_turn, to_dask
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from tests.run_folder import HEADER

done: list[str] = []


def note(run: RunFolder, attempt: Attempt, **arguments: Any) -> Record:
    """A step that does nothing but be noticed."""
    done.append("/".join(attempt.place.url.split("/")[-2:]).split(".")[0])
    return dict(arguments)


def stage(name: str, label: str, width: int) -> Stage:
    layers = (
        single("cluster", note),
        many("solve", note, width, "slot"),
        single(COMMIT, note),
    )
    return Stage(name, layers, label)


STAGES = [stage("level-2", "l2", 3), stage("level-1", "l1", 2)]


def test_tasks_are_named_so_that_the_dashboard_groups_them() -> None:
    graph, last = to_dask("run", "0123abcd", STAGES)
    groups = {key_split(key) for key in graph.to_dict()}
    assert groups == {
        f"dcsvm_{label}_{layer}"
        for label in ("l2", "l1")
        for layer in ("cluster", "solve", "commit")
    }
    # The scheduler's groups are the layers of one run: spans name groups.
    assert {key_split_group(key) for key in graph.to_dict()} == set(graph.layers)
    assert key_split(last) == "dcsvm_l1_commit"
    # The same run, parameters and data have the same keys; others have others.
    assert set(to_dask("run", "0123abcd", STAGES)[0].to_dict()) == set(graph.to_dict())
    assert not set(to_dask("run", "0123abce", STAGES)[0].to_dict()) & set(graph.to_dict())
    assert not set(to_dask("run2", "0123abcd", STAGES)[0].to_dict()) & set(graph.to_dict())


def test_a_layer_waits_for_the_whole_layer_before() -> None:
    graph, last = to_dask("run", "0123abcd", STAGES)
    tasks = graph.to_dict()
    waits = {key: len(get_dependencies(tasks, key)) for key in tasks}
    by_group: dict[str, set[int]] = {}
    for key, number in waits.items():
        by_group.setdefault(key_split(key), set()).add(number)
    assert by_group == {
        "dcsvm_l2_cluster": {0},
        "dcsvm_l2_solve": {1},
        "dcsvm_l2_commit": {3},
        "dcsvm_l1_cluster": {1},
        "dcsvm_l1_solve": {1},
        "dcsvm_l1_commit": {2},
    }
    assert waits[last] == 2


def test_no_task_is_tied_to_a_worker_that_may_die() -> None:
    graph, _ = to_dask("run", "0123abcd", STAGES)
    assert not any(layer.annotations for layer in graph.layers.values())


def test_earlier_stages_go_first_and_the_nodes_of_a_layer_in_their_order() -> None:
    graph, _ = to_dask("run", "0123abcd", STAGES)
    turns = in_turn(graph)
    assert [turns[key] for layer in graph.layers.values() for key in layer] == list(range(9))


def test_a_graph_stays_small_however_much_data_there_is() -> None:
    graph, _ = to_dask("s3://bucket/run", "d", [stage("level-4", "l4", 256)])
    assert len(pickle.dumps(graph.to_dict())) < 200_000


def test_edges_grow_with_the_nodes_of_wide_layers_not_with_their_product() -> None:
    parts = 6104  # of 100 million rows
    wide = (many("improve", note, 64, "block"), many("product", note, parts, "part"))
    stages = [Stage("conquer-001", (*wide, many("join", note, parts, "part")), "conquer")]
    tasks = to_dask("s3://bucket/run", "d", stages)[0].to_dict()
    assert sum(len(get_dependencies(tasks, key)) for key in tasks) <= 64 + 3 * parts
    assert len(pickle.dumps(tasks)) < 10 << 20


class Tasks(Callback):
    def __init__(self) -> None:
        self.events: list[TaskDone] = []

    def on_task(self, event: TaskDone) -> None:
        self.events.append(event)


def test_in_process_nodes_run_once_in_order_and_are_reported(tmp_path: Any) -> None:
    done.clear()
    reported = Tasks()
    run = RunFolder.create(Location.of(tmp_path / "run"), HEADER)
    with in_process(Announcer(run.place.url, [reported])) as executor:
        executor.run(run, STAGES, lambda: None)
        executor.run(run, STAGES, lambda: None)
    order = [name.split("-00")[0] for name in done]
    assert order == [
        "level-2/cluster",
        *("level-2/solve",) * 3,
        "level-2/commit",
        "level-1/cluster",
        *("level-1/solve",) * 2,
        "level-1/commit",
    ]
    heard = [f"{event.stage}/{event.node}" for event in reported.events]
    assert [name.split("-00")[0] for name in heard] == order
    assert sorted(heard) == sorted(done)  # nodes of a layer may end in any order
    assert all(event.worker == "in-process" for event in reported.events)


def test_executions_that_cannot_be_are_refused() -> None:
    for words, message in (
        ({"workers": -1}, "workers must be 0 or more, got -1"),
        ({"workers": 2, "scheduler": "a"}, "not both"),
        ({"scheduler": "a", "memory_limit": "1GB"}, "memory-limit"),
        ({"time_budget": 0}, "time-budget must be a positive number of seconds, got 0"),
        ({"wait": 0}, "wait must be a positive number of seconds, got 0"),
        (
            {"time_budget": float("nan")},
            "time-budget must be a positive number of seconds, got nan",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            Execution(**words)
