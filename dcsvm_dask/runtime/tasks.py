"""What a task of a run does: a node, where a message of it goes, and how often it is tried."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.errors import DcsvmError, InfeasibleError, OutOfTimeError, OwnershipLostError
from dcsvm_dask.methods.node import Step, run_node
from dcsvm_dask.methods.progress import reporting_to
from dcsvm_dask.runtime.failures import step_failed
from dcsvm_dask.runtime.topic import log_event
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.node import Record

HERE = "in-process"
RETRIES = 2
"""Number of times a failed step is run again."""
Send = Callable[[dict[str, Any]], None]
"""Function that sends a message; see `dcsvm_dask.runtime.announcer`."""


def perform(
    run_url: str,
    owner: Ownership | None,
    stage: str,
    layer: str,
    node: str,
    step: Step,
    arguments: Record,
    *after: str | InfeasibleError,
) -> str | InfeasibleError:
    """Run one node in this process and report on it.

    Parameters
    ----------
    run_url : str
    owner : Ownership or None
        The owner of the run, for whom the node is committed.
    stage, layer, node : str
    step : Step
        The function of the node.
    arguments : dict
    after : str or InfeasibleError
        Results of earlier tasks.

    Returns
    -------
    str or InfeasibleError
        The name of the node. On a scheduler, which would run what raises again, the error of what
        has no solution, of the node or of an earlier task.

    Raises
    ------
    DcsvmError
        If the step fails.
    """
    about = {"run": run_url, "stage": stage, "node": node}

    def report(facts: Record) -> None:
        _send({**about, **facts})

    here = _here.get()
    if (refused := refusal(*after)) is not None:
        return refused
    if here is not None and here.before is not None:
        here.before()
    begin = time.time()
    for left in reversed(range(1 if here is None else 1 + RETRIES)):
        try:
            with reporting_to(report):
                record = run_node(run_url, stage, node, step, arguments, owner)
            break
        except (OwnershipLostError, OutOfTimeError):  # retrying would not help
            raise
        except InfeasibleError as error:
            if here is not None:
                raise
            _send({**about, "kind": "refused", "error": str(error)})
            return error
        except DcsvmError as error:
            _send({**about, "kind": "failed", "error": str(error)})
            if not left:
                raise
        except Exception as error:
            _send({**about, "kind": "failed", "error": f"{type(error).__name__}: {error}"})
            if not left:
                raise step_failed(run_url, stage, node, error) from error
    if record["began"] < begin:  # it was committed before
        return node
    _send({**about, "kind": "task", "layer": layer, "record": record})
    return node


def refusal(*after: object) -> InfeasibleError | None:
    """Return the first error among the results of tasks; None: all have done their work."""
    return next((one for one in after if isinstance(one, InfeasibleError)), None)


@dataclass(frozen=True, slots=True)
class _Here:
    """The receiver of messages of nodes that run in this process."""

    send: Send
    before: Callable[[], None] | None


# Several threads may train, each its own run.
_here: ContextVar[_Here | None] = ContextVar("here", default=None)


def listen(send: Send | None, before: Callable[[], None] | None = None) -> None:
    """Set the receiver of messages of nodes in this thread, and a function called before each node.

    With a receiver there is no scheduler that runs failed steps again, so `perform` does.
    """
    _here.set(None if send is None else _Here(send, before))


def _send(message: dict[str, Any]) -> None:
    here = _here.get()
    if here is not None:
        here.send({**message, "worker": HERE})
        return
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return
    log_event(worker, {**message, "time": time.time(), "worker": worker.address})
