"""Running tasks on the partitions of a Dask collection."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from dask._task_spec import Task
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

from dcsvm_dask.errors import AccessError, DcsvmError, InputError, RunError
from dcsvm_dask.runtime.arrival import WAIT_SECONDS
from dcsvm_dask.runtime.clients import default_client
from dcsvm_dask.runtime.cluster.connect import connected
from dcsvm_dask.runtime.failures import tasks_failed
from dcsvm_dask.runtime.placement import workers_of
from dcsvm_dask.runtime.tasks import RETRIES
from dcsvm_dask.storage.claims import claim_names
from dcsvm_dask.storage.location import Location

Key = tuple[str, int]
Tasks = dict[Key, Task]


class Computing(Protocol):
    """Runs tasks on the partitions of collections."""

    def refuse_blind(self, place: Location) -> None:
        """Raise an `InputError` if a worker does not see a folder that this process owns."""

    def results(
        self,
        tasks: Tasks,
        keys: Sequence[Key],
        collections: Sequence[Any],
        named: Callable[[int], str],
    ) -> Generator[Any]:
        """Yield the results of some of the tasks, in order.

        Parameters
        ----------
        tasks : mapping
        keys : sequence
            Keys of the tasks whose results are yielded.
        collections : sequence
            Collections that tasks depend on.
        named : callable
            Returns the name of a result in messages, by its position.
        """


class InThreads:
    """Runs tasks on threads of this process, as Dask does without a client."""

    def refuse_blind(self, place: Location) -> None:
        """Do nothing: this process owns the folder."""

    def results(
        self,
        tasks: Tasks,
        keys: Sequence[Key],
        collections: Sequence[Any],
        named: Callable[[int], str],
    ) -> Generator[Any]:
        """Yield results after all tasks; see `Computing` for the parameters.

        Parameters
        ----------
        tasks, keys, collections, named
            See `Computing`.
        """
        del named  # Dask does not say here which task has failed
        import dask.threaded

        try:
            yield from dask.threaded.get(_graph(tasks, collections), list(keys))
        except DcsvmError:
            raise
        except Exception as error:
            raise tasks_failed(error) from error


class OnWorkers:
    """Runs tasks on the workers of a client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def refuse_blind(self, place: Location) -> None:
        """Raise an `InputError` if one of the present workers does not see a folder."""
        own = set(claim_names(place))
        workers = list(workers_of(self._client))
        for worker, seen in sorted(self._client.run(_claims, place.url, workers=workers).items()):
            if not own <= set(seen):
                raise InputError(
                    f"worker {worker}: does not see {place}; put the data set where every worker "
                    "sees it, as in a shared folder or an object store"
                )

    def results(
        self,
        tasks: Tasks,
        keys: Sequence[Key],
        collections: Sequence[Any],
        named: Callable[[int], str],
    ) -> Generator[Any]:
        """Yield results as they arrive.

        Parameters
        ----------
        tasks, keys, collections, named
            See `Computing`.
        """
        import dask

        giving_back = {
            key: Task(key, _given_back, task.func, *task.args) for key, task in tasks.items()
        }
        futures = self._client.get(
            _graph(giving_back, collections),
            list(keys),
            sync=False,
            retries=None if "retries" in dask.get_annotations() else RETRIES,
        )
        try:
            for k, future in enumerate(futures):
                try:
                    found = future.result()
                except CancelledError as lost:
                    raise RunError(
                        f"{named(k)}: the Dask scheduler is gone or has dropped the tasks"
                    ) from lost
                except DcsvmError:
                    raise
                except Exception as error:
                    raise RunError(f"{named(k)}: {tasks_failed(error)}") from error
                if isinstance(found, Refusal):
                    raise found.error
                yield found
                future.release()
        finally:
            self._client.cancel([future for future in futures if not future.done()], force=True)
            for future in futures:  # those of failed tasks, too, of which an error may tell
                future.release()


@dataclass(frozen=True)
class Refusal:
    """The result of a task that cannot use its rows."""

    error: InputError


def _given_back(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function whose refusal is its result: Dask would try again, and log a traceback.

    A store that does not answer now may do so later.
    """
    for one in args:
        if isinstance(one, Refusal):
            return one
    try:
        return function(*args)
    except AccessError:
        raise
    except InputError as error:
        return Refusal(error)


@contextmanager
def computing(where: Any, place: Location, say: Callable[[str], None]) -> Iterator[Computing]:
    """Open the executor of tasks on Dask collections.

    Parameters
    ----------
    where : distributed.Client, str or None
        A client or the address of a scheduler; None: Dask's default client, or threads of this
        process where there is none.
    place : Location
        The folder that the tasks write to.
    say : callable
        Called with a sentence if workers are waited for.

    Yields
    ------
    Computing

    Raises
    ------
    InputError
        If the client cannot be used, or only this process sees the place.
    """
    where = default_client() if where is None else where
    if where is None:
        yield InThreads()
        return
    if place.is_process_local:
        raise InputError(
            f"{place}: only this process sees memory://; name a folder or an object store"
        )
    with connected(where, WAIT_SECONDS, say) as (client, _):
        yield OnWorkers(client)


def tasks_of(
    name: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
) -> Tasks:
    """Return a task for each of some calls of a function.

    Their keys are new: files that a collection reads may have changed.

    Parameters
    ----------
    name : str
        Name of the tasks in the dashboard.
    function : callable
    arguments : sequence of tuple
        Arguments of each call.

    Returns
    -------
    dict of key to Task
    """
    group = f"dcsvm_{name}-{uuid.uuid4().hex[:12]}"
    return {(group, k): Task((group, k), function, *args) for k, args in enumerate(arguments)}


def _graph(tasks: Tasks, collections: Sequence[Any]) -> HighLevelGraph:
    layer = MaterializedLayer(tasks)
    name = f"dcsvm_ingest-{uuid.uuid4().hex[:12]}"
    return HighLevelGraph.from_collections(name, layer, dependencies=list(collections))


def _claims(place: str) -> list[str]:
    """Return the claims on a folder that this worker sees."""
    return claim_names(Location(place))
