"""Local clusters and running schedulers, prepared for the tasks of a run."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from dcsvm_dask import __version__
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.arrival import first_workers, in_words, wanted
from dcsvm_dask.runtime.begun_by import BegunBy
from dcsvm_dask.runtime.capacity import memory_of_slots
from dcsvm_dask.runtime.caretaker import Caretaker, plugin_name
from dcsvm_dask.runtime.clients import check_client
from dcsvm_dask.runtime.cluster.child import GUARD, refuse_in_child
from dcsvm_dask.runtime.cluster.forking import forked, load_package
from dcsvm_dask.runtime.compilation import DENSE
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.runtime.exits import report_exits
from dcsvm_dask.runtime.on_cluster import OnCluster
from dcsvm_dask.runtime.placement import workers_of
from dcsvm_dask.runtime.preload import allocation
from dcsvm_dask.runtime.topic import TOPIC, subscribed
from dcsvm_dask.runtime.watching import TOPICS, WorkerWatch
from dcsvm_dask.runtime.worker import PrepareWorker, installed
from dcsvm_dask.versions import RESULT_VERSION

Say = Callable[[str], None]
Workers = dict[str, dict[str, Any]]

CONNECT_SECONDS = 10
ENDING = (signal.SIGINT, signal.SIGTERM)
DASHBOARD_PORT = 8787
PREPARING_TRIES = 5
"""How often workers are prepared anew because one of them has gone away meanwhile."""
SPAWNED_WITH = "distributed.nanny.pre-spawn-environ"
QUIET_TRACKER = "ignore:resource_tracker"
OPEN_TO_ALL = (
    "the workers accept connections of every user of this machine, who can run code as you: "
    "`pip install cryptography`, or use --workers 0"
)


@contextmanager
def local_cluster(
    workers: int,
    memory_limit: int,
    announcer: Announcer,
    settings: Mapping[str, Any],
    run: BegunBy | None = None,
    meanwhile: Callable[[], None] = lambda: None,
    parts: Sequence[str] = DENSE,
) -> Iterator[Executor]:
    """Start a local cluster of processes with one thread each.

    Its connections need a certificate that is made for this cluster and kept in memory, so that no
    other user of the machine can connect; see `temporary_security`.

    Parameters
    ----------
    workers : int
        Number of processes, at least 1.
    memory_limit : int
        Bytes of each process.
    announcer : Announcer
    settings : mapping
        Dask's configuration with dotted names.
    run : BegunBy, optional
        The run that the workers are for.
    meanwhile : callable, optional
        Called while the process that workers are forked from loads the package.
    parts : sequence of str, optional
        As for `PrepareWorker`.

    Yields
    ------
    Executor

    Raises
    ------
    RunError
        If the processes do not start.
    """
    import dask

    refuse_in_child()
    with contextlib.ExitStack() as stack:
        how = {SPAWNED_WITH: allocation(memory_limit), **forked(), **settings}
        stack.enter_context(dask.config.set(how))
        environment = {name: str(v) for name, v in dask.config.get(SPAWNED_WITH).items()}
        with uninterrupted():
            load_package(environment)
        meanwhile()
        from distributed import Client, LocalCluster

        security = temporary_security()
        if security is None:
            announcer.say(OPEN_TO_ALL)
        try:
            with uninterrupted(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Port .* is already in use")
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=memory_limit,
                    # Of a fork it would be that of the fork server's start.
                    env={**os.environ, **environment},
                    security=security,
                    dashboard_address=f"127.0.0.1:{dashboard_port()}",
                    # Failures reach the user as errors; retried tasks need no traceback.
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(cluster)
                client = stack.enter_context(Client(cluster, set_as_default=False))
        except (RuntimeError, OSError, TimeoutError) as error:
            raise RunError(f"the local workers did not start ({error}); {GUARD}") from None
        description = f"{workers} local worker(s), dashboard {client.dashboard_link}"
        try:
            for nanny in cluster.workers.values():
                report_exits(nanny)
            plugin = PrepareWorker(shield=True, threads=workers, run=run, parts=parts)
            with prepared(client, announcer, plugin) as watch:
                yield OnCluster(client, announcer, description, None, watch)
        except KeyboardInterrupt:
            with uninterrupted():  # a second Ctrl-C would only delay it
                kill_workers(cluster)
                stack.close()
            raise


def temporary_security() -> Any:
    """Return certificates for one local cluster; None where `cryptography` is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        return None
    from distributed import Security

    return Security.temporary()


def kill_workers(cluster: Any) -> None:
    """Kill the workers of a local cluster; their uncommitted tasks run again after a resume.

    Closed in order, they would finish their steps, which takes several seconds.
    """
    # Connections notice it on their own thread, perhaps when logs are no longer silenced.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # so that it does not start another worker
        with contextlib.suppress(ProcessLookupError, TypeError):  # gone, or not there yet
            os.kill(nanny.pid, signal.SIGKILL)


def client_at(address: str) -> Any:
    """Open a client of a running scheduler.

    Raises
    ------
    InputError
        If no scheduler answers at the address.
    """
    from distributed import Client

    # It logs a lost connection with a traceback; the error of the run is enough.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({error}); "
            "start one by `dask scheduler` and give its address"
        ) from error
    except TypeError as error:  # what Dask raises without certificates
        raise InputError(
            f"the scheduler at {address} uses TLS: set a certificate in Dask's configuration "
            "(distributed.comm.tls)"
        ) from error


@contextmanager
def connected(where: Any, patience: float, say: Say) -> Iterator[tuple[Any, Workers]]:
    """Open a client of a running scheduler whose workers have this version of the package.

    Parameters
    ----------
    where : str or distributed.Client
        The scheduler's address, or a client of it, which stays open.
    patience : float
        Seconds to wait for a worker.
    say : callable
        Called with a sentence if a worker is waited for.

    Yields
    ------
    client : distributed.Client
    workers : dict
        The scheduler's description of the workers that tasks may use; they may leave again.

    Raises
    ------
    InputError
        If no scheduler answers at the address, the client cannot be used here, no worker comes in
        time, or one lacks the package.
    """
    if isinstance(where, str):
        address, opened = where, client_at(where)
    else:
        check_client(where)
        address, opened = where.scheduler.address, contextlib.nullcontext(where)
    with opened as client:
        limit, which = in_words(patience), wanted()
        waiting = f"the scheduler at {address} has no worker{which} yet; waiting, at most {limit}"
        workers = first_workers(client, patience, lambda: say(waiting))
        if not workers:
            raise InputError(
                f"the scheduler at {address} had no worker{which} for {limit}; start some by "
                f"`dask worker {address}`, or wait longer (--wait)"
            )
        check_versions(client, address)
        yield client, workers


@contextmanager
def remote_cluster(
    where: Any,
    announcer: Announcer,
    patience: float,
    run: BegunBy | None = None,
    parts: Sequence[str] = DENSE,
) -> Iterator[Executor]:
    """Attach to a running scheduler.

    Parameters
    ----------
    where : str or distributed.Client
        The scheduler's address, or a client of it.
    announcer : Announcer
    patience : float
        Seconds to wait for a worker.
    run : BegunBy, optional
        The run that the workers are for.
    parts : sequence of str, optional
        As for `PrepareWorker`.

    Yields
    ------
    Executor

    Raises
    ------
    InputError
        See `connected`.
    """
    with connected(where, patience, announcer.say) as (client, workers):
        announcer.say("preparing the workers, which compile at their first run", doing=True)
        address = client.scheduler.address
        description = f"scheduler {address}, dashboard {client.dashboard_link}"
        plugin = PrepareWorker(shield=False, run=run, parts=parts)
        with prepared(client, announcer, plugin) as watch:
            yield OnCluster(client, announcer, description, memory_of_slots(workers), watch)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the end of the block: a half-started cluster cannot be closed.

    Processes that start inside ignore SIGINT for good; this process ends them.
    """
    received: list[int] = []

    def note(number: int, _: object) -> None:
        received.append(number)

    try:
        before = {number: signal.signal(number, note) for number in ENDING}
    except ValueError:  # not the main thread, which is the one that is interrupted
        yield
        return
    # The resource tracker unblocks SIGINT when it starts, so it is started before. It is silenced:
    # it would report the semaphores of killed workers.
    sys.warnoptions.append(QUIET_TRACKER)
    resource_tracker.ensure_running()
    sys.warnoptions.remove(QUIET_TRACKER)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])


def dashboard_port() -> int:
    """Return Dask's usual dashboard port, or 0 (any port) if it is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", DASHBOARD_PORT))
        except OSError:
            return 0
    return DASHBOARD_PORT


def check_versions(client: Any, address: str) -> None:
    """Raise an error if workers have another version of the package or of its results.

    Raises
    ------
    InputError
        With the worker and its versions.
    """
    from distributed.comm import CommClosedError

    found, used = client.run(installed, on_error="return"), workers_of(client)
    for worker, package in sorted(found.items()):
        if package == (__version__, RESULT_VERSION):
            continue
        if isinstance(package, CommClosedError | ConnectionError | TimeoutError):
            continue  # it has gone meanwhile
        # A registered plugin is imported by every worker of a scheduler, also by unused ones.
        if worker not in used and not isinstance(package, ModuleNotFoundError):
            continue
        raise InputError(
            f"worker {worker} of the scheduler at {address} has {_found(package)}; install "
            f"dcsvm_dask {__version__}, whose results have the version {RESULT_VERSION}, on every "
            "worker"
        )


def _found(package: Any) -> str:
    """Return what a worker has for this package: its versions, or why there are none."""
    if isinstance(package, tuple):
        return f"dcsvm_dask {package[0]} with results of version {package[1]}"
    if isinstance(package, ModuleNotFoundError):
        missing = (package.name or __package__).partition(".")[0]
        if missing == __package__.partition(".")[0]:
            return "no dcsvm_dask"
    if isinstance(package, ImportError | OSError):  # the latter of a library that is not there
        return f"a dcsvm_dask that cannot be imported ({package})"
    return "another dcsvm_dask"


def _forward(message: Any, announcer: Announcer) -> None:
    """Forward a message of a worker; messages of this process come back, too, and are ignored."""
    if isinstance(message, dict) and "worker" in message and message.get("kind") != "silent":
        announcer.send(message)


@contextmanager
def prepared(client: Any, announcer: Announcer, plugin: PrepareWorker) -> Iterator[WorkerWatch]:
    """Prepare the workers of a cluster, and forward their messages and losses.

    Parameters
    ----------
    client : distributed.Client
    announcer : Announcer
    plugin : PrepareWorker

    Yields
    ------
    WorkerWatch
    """
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        watch = WorkerWatch(
            announcer,
            lambda worker: enter(subscribed(client, worker, partial(watch.lost, worker))),
        )
        # First, since workers send messages while they are prepared.
        enter(subscribed(client, TOPIC, lambda message: _forward(message, announcer)))
        for topic in TOPICS:
            enter(subscribed(client, topic, partial(watch.ended, topic)))
        watch.follow(workers_of(client))
        stack.callback(watch.flush)
        try:
            plugin.name = plugin_name(client.id)
            _register(client, plugin)
            with contextlib.suppress(Exception):  # the scheduler may lack dcsvm_dask
                client.register_plugin(Caretaker())
            announcer.attach(client)
            yield watch
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                client.unregister_worker_plugin(plugin.name)


def _register(client: Any, plugin: PrepareWorker) -> None:
    """Prepare the present workers of a client, and those to come.

    A worker that goes away meanwhile ends the call for all. Those that are prepared already are
    done at once when it is made again.

    Raises
    ------
    RunError
        If the scheduler, or one worker after the other, goes away.
    """
    for _ in range(PREPARING_TRIES):
        try:
            client.register_plugin(plugin)
        except OSError as error:
            lost = error
        else:
            return
    raise RunError(
        f"the scheduler, or one worker after the other, went away while workers were prepared "
        f"({lost}); once there are workers, continue with `dcsvm resume`"
    ) from lost
