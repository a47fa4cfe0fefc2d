"""The topic of Dask's structured events in which a run reports."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import numpy as np

TOPIC = "dcsvm"
logger = logging.getLogger(__name__)
_subscribing = Lock()


def log_event(sender: Any, message: dict[str, Any]) -> None:
    """Send a message to all who follow the topic; one that cannot be sent is logged, not raised.

    Parameters
    ----------
    sender : distributed.Worker or distributed.Client
    message : dict
        NumPy scalars and arrays in it, which Dask refuses, are sent as numbers and lists.
    """
    try:
        sender.log_event(TOPIC, json.loads(json.dumps(message, default=plain)))
    except Exception as error:  # noqa: BLE001
        # Without a traceback: most often the scheduler is gone, which ends the run with a sentence.
        logger.warning("a message of kind %s was not sent: %s", message.get("kind"), error)


def plain(value: Any) -> Any:
    """Return what JSON takes for a value that it does not take."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a number, text, list or dict")


class _Hearers:
    """Who hears a topic by one client, which itself knows one handler of it."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.hear: list[Callable[[Any], None]] = []

    def __call__(self, event: Any) -> Any:
        for hear in list(self.hear):
            hear(event[1])
        return None if self.before is None else self.before(event)


@contextmanager
def subscribed(client: Any, topic: str, hear: Callable[[Any], None]) -> Iterator[None]:
    """Hear a topic, beside the client's own handler of it and other runs of the same client."""
    handlers = client._event_handlers
    with _subscribing:
        hearers = handlers.get(topic)
        if not isinstance(hearers, _Hearers):
            hearers = _Hearers(hearers)
            client.subscribe_topic(topic, hearers)
        hearers.hear.append(hear)
    try:
        yield
    finally:
        with _subscribing:
            hearers.hear.remove(hear)
            with suppress(Exception):  # the scheduler may be gone
                if hearers.hear or handlers.get(topic) is not hearers:
                    pass
                elif hearers.before is not None:
                    client.subscribe_topic(topic, hearers.before)
                else:
                    client.unsubscribe_topic(topic)
                    del handlers[topic]
