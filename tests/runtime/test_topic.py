"""What a run reports through Dask: plain values, and never an error of the task that reports."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from distributed import Client, LocalCluster

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.topic import TOPIC, log_event, subscribed


class Sender:
    """Takes what msgpack takes, as Dask's workers and clients do."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def log_event(self, topic: str, message: Any) -> None:
        self.sent.append((topic, msgpack.unpackb(msgpack.packb(message))))


def test_numpy_scalars_are_sent_as_numbers() -> None:
    sender = Sender()
    record = {"gap": np.float64(0.5), "n": np.int64(3), "ok": np.bool_(True), "at": np.arange(2)}
    log_event(sender, {"kind": "task", "record": record})
    plain = {"gap": 0.5, "n": 3, "ok": True, "at": [0, 1]}
    assert sender.sent == [(TOPIC, {"kind": "task", "record": plain})]


def test_a_message_that_cannot_be_sent_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        log_event(Sender(), {"kind": "task", "record": object()})
        log_event(None, {"kind": "task"})  # as if the connection were gone
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "a message of kind task was not sent: object is not a number" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as found:
        yield found


def test_an_event_that_comes_after_the_last_subscription_is_no_error() -> None:
    heard: list[Any] = []
    here = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**here) as alone, Client(alone) as client:
        for number in range(2):
            with subscribed(client, "mine", heard.append):
                end = time.monotonic() + 10.0
                while number not in heard and time.monotonic() < end:
                    client.log_event("mine", number)  # it may overtake the subscription
                    time.sleep(0.01)
            client.sync(client._handle_event, "mine", (0.0, "late"))
    assert set(heard) == {0, 1}


@pytest.mark.long
def test_no_task_of_a_run_fails(cluster: LocalCluster, train: Callable[..., api.Run]) -> None:
    train(execution=Execution(scheduler=cluster.scheduler_address))
    with Client(cluster) as client:
        logs = client.get_worker_logs()
        events = [event for _, event in client.get_events(TOPIC)]
    said = "\n".join(text for lines in logs.values() for _, text in lines)
    assert "Compute Failed" not in said
    reported = {event["stage"] for event in events if event.get("node") == "commit"}
    assert {"level-2", "level-1"} <= reported
