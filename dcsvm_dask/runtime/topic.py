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
    """Log a message under the topic; one that cannot be sent is a warning, not an error.

    Parameters
    ----------
    sender : distributed.Worker or distributed.Client
    message : dict
        NumPy scalars and arrays in it are sent as numbers and lists.
    """
    try:
        sender.log_event(TOPIC, json.loads(json.dumps(message, default=plain)))
    except Exception as error:  # noqa: BLE001
        # Without a traceback: most often the scheduler is gone, which ends the run with a message.
        logger.warning("a message of kind %s was not sent: %s", message.get("kind"), error)


def plain(value: Any) -> Any:
    """Return NumPy scalars and arrays as values that JSON can express."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a number, text, list or dict")


class _Handlers:
    """The handlers of a topic of one client, which itself accepts one handler."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.functions: list[Callable[[Any], None]] = []

    def __call__(self, event: Any) -> Any:
        for function in list(self.functions):
            function(event[1])
        return None if self.before is None else self.before(event)


@contextmanager
def subscribed(client: Any, topic: str, function: Callable[[Any], None]) -> Iterator[None]:
    """Call a function for each event of a topic, beside the client's other handlers of it.

    Parameters
    ----------
    client : distributed.Client
    topic : str
    function : callable
        Called with the event's message, in the client's event loop.
    """
    handlers = client._event_handlers
    with _subscribing:
        handlers_of_topic = handlers.get(topic)
        if not isinstance(handlers_of_topic, _Handlers):
            handlers_of_topic = _Handlers(handlers_of_topic)
        if not handlers_of_topic.functions:
            client.subscribe_topic(topic, handlers_of_topic)
        handlers_of_topic.functions.append(function)
    try:
        yield
    finally:
        with _subscribing:
            handlers_of_topic.functions.remove(function)
            with suppress(Exception):  # the scheduler may be gone
                if handlers_of_topic.functions or handlers.get(topic) is not handlers_of_topic:
                    pass
                elif handlers_of_topic.before is not None:
                    client.subscribe_topic(topic, handlers_of_topic.before)
                else:
                    # The handler stays: without one, an event on its way is an error in the log.
                    client.unsubscribe_topic(topic)
