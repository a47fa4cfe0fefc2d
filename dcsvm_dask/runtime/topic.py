"""The topic of Dask's structured events in which a run reports."""

from __future__ import annotations

import json
import logging
from typing import Any

import numpy as np

TOPIC = "dcsvm"
logger = logging.getLogger(__name__)


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
