"""The events of a run that callbacks receive.

Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId

THIS_PROCESS = "this process"
"""Name of the process that carries the run in events, where it has no address."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run."""

    run: str
    """URL of the run."""
    time: float
    """Time of the event."""


@dataclass(frozen=True, slots=True)
class RunBegins(Event):
    """A process begins to carry a run, from its start or from its last commit."""

    where: str
    """Description of the workers and their dashboard, or of this process."""
    workers: int
    """Number of tasks that may run at a time."""
    memory: int | None
    """Bytes that each worker may use; None: no limit."""
    dashboard: str | None
    """Address of Dask's dashboard, if there is one."""
    about: Record
    """The problem: ``data``, ``rows``, ``features``, ``kernel``, ``C``, ``tol``, ..."""


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """The time, memory and work of the run are estimated, and again after the probe."""

    plan: Record
    """See `dcsvm_dask.methods.plan.Plan.to_json`; with ``workers``."""


@dataclass(frozen=True, slots=True)
class StageBegins(Event):
    """The tasks of a stage run next; a `StageDone` follows."""

    stage: str
    """``arrange``, ``level-2``, ``conquer-001``, ..."""
    label: str
    """Part of the names of its tasks in Dask: ``dcsvm_<label>_<layer>``."""
    layers: dict[str, int]
    """Number of tasks of each layer, in the order in which the layers run."""
    done: dict[str, int]
    """Number of tasks of each layer that were committed before this process began."""


@dataclass(frozen=True, slots=True)
class BlocksBegin(Event):
    """A task begins to solve some blocks of a level."""

    stage: str
    node: str
    worker: str
    blocks: list[int]


@dataclass(frozen=True, slots=True)
class BlockSolved(Event):
    """A block of a level is solved; reported about once a second, at the latest with its task."""

    stage: str
    node: str
    worker: str
    block: int
    record: Record
    """``rows``, ``support``, ``bounded``, ``objective``, ``violation``, ``iterations``,
    ``kernel_values``, ``seconds``."""


@dataclass(frozen=True, slots=True)
class SetSolved(Event):
    """A working set of the whole problem is solved by a task that continues with the next one.

    Reported about once a second. Of parallel decomposition, whose sets no single task solves, after
    some of them (in this process after each), with the node of the commit that follows.
    """

    stage: str
    node: str
    worker: str
    number: int
    """Number of sets that the task has solved; of parallel decomposition that of the run."""
    record: Record
    """``rows`` of the set; of the whole problem now ``objective``, ``violation``, ``support``;
    ``start``, the violation before the first set, and ``tol``, the tolerance. Parallel
    decomposition knows neither objective nor support vectors between commits."""


@dataclass(frozen=True, slots=True)
class Advanced(Event):
    """The progress of a long task; reported about once a second."""

    stage: str
    node: str
    worker: str
    share: float
    """Share of its work that is done, in [0, 1]; about that of its time."""
    done: int
    total: int
    """Number of units of the whole work; 0 if it is unknown."""
    unit: str
    """The unit: ``rows``, ``basis vectors``, ..."""
    record: Record
    """``support``, ``objective`` and ``violation``, as far as they are known."""


@dataclass(frozen=True, slots=True)
class TaskDone(Event):
    """A task is committed."""

    stage: str
    layer: str
    node: str
    worker: str
    record: Record
    """The step's result, with ``began``, ``seconds``, ``cpu_seconds``, ``host``, ``peak_bytes`` and
    ``resident_bytes``."""


@dataclass(frozen=True, slots=True)
class StageDone(Event):
    """A stage is committed."""

    stage: str
    record: Record
    """The commit's result: objective, gap, violation, support vectors, ..."""
    resumed: bool
    """Whether it was committed before this process began."""

    @property
    def round(self) -> int | None:
        """Number of the round over support vectors or all rows; None if the stage is no round."""
        return StageId(self.stage).round


@dataclass(frozen=True, slots=True)
class TaskFailed(Event):
    """A step raised an error; it runs again unless it has run often enough."""

    stage: str
    node: str
    worker: str
    error: str


@dataclass(frozen=True, slots=True)
class WorkerLost(Event):
    """A worker was lost unexpectedly; its tasks run again."""

    worker: str
    tasks: list[str] = field(default_factory=list)
    why: str = ""
    """The known reason: its memory and the limit of it, or its exit status."""


@dataclass(frozen=True, slots=True)
class WorkerSilent(Event):
    """A worker has sent no heartbeat for a long time; the scheduler has not removed it."""

    worker: str
    seconds: float


@dataclass(frozen=True, slots=True)
class OtherVersions(Event):
    """A process has other versions than the run was begun with.

    Reported once for each set of versions.
    """

    worker: str
    """Its address; "this process" for the process that carries the run."""
    differing: dict[str, list[str]]
    """By name, of ``dcsvm_dask``, ``numpy``, ``scipy``, ``numba``, ``blas`` and ``cpu``, or
    ``result_version``: the version that the run was begun with, and that of the process."""
    refused: bool = False
    """Whether it is excluded from the run, because its results would differ."""


@dataclass(frozen=True, slots=True)
class NoWorkers(Event):
    """No worker is left; the run waits for one."""

    where: str


Fault = TaskFailed | WorkerLost | WorkerSilent | NoWorkers
"""Faults after which a run continues."""


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A sentence of the runtime."""

    text: str
    doing: bool = False
    """Whether it describes the present activity of the process, until the next event."""


@dataclass(frozen=True, slots=True)
class RunEnds(Event):
    """The process leaves the run."""

    state: str
    """complete, interrupted or failed."""
    message: str
    """The reason, where it is not complete."""
    converged: bool
    """Whether the exact model is reached, to its tolerance."""
