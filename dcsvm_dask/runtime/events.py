"""What happens during a run, as those are told who follow it.

Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId

THIS_PROCESS = "this process"
"""What an event calls the process that carries the run where it has no address."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    run: str
    """URL of the run."""
    time: float
    """When."""


@dataclass(frozen=True, slots=True)
class RunBegins(Event):
    """A process begins to carry a run, from nothing or from what is committed."""

    where: str
    """Who computes: workers and their dashboard, or this process."""
    workers: int
    """Tasks that may run at a time."""
    memory: int | None
    """Bytes that each worker may use; None: no limit."""
    dashboard: str | None
    """Address of Dask's dashboard, if there is one."""
    about: Record
    """What is trained: ``data``, ``rows``, ``features``, ``kernel``, ``C``, ``tol``, ..."""


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """It is known what the run is likely to take, anew once the probe has measured."""

    plan: Record
    """See `dcsvm_dask.methods.plan.Plan.to_json`; with ``workers``."""


@dataclass(frozen=True, slots=True)
class StageBegins(Event):
    """The tasks of a stage are next; it ends in a `StageDone`."""

    stage: str
    """``arrange``, ``level-2``, ``conquer-001``, ..."""
    label: str
    """How Dask names its tasks: ``dcsvm_<label>_<layer>``."""
    layers: dict[str, int]
    """Tasks of each layer, in the order in which the layers run."""
    done: dict[str, int]
    """Those of them that were committed before this process began."""


@dataclass(frozen=True, slots=True)
class BlocksBegin(Event):
    """A task begins to solve some blocks of a level."""

    stage: str
    node: str
    worker: str
    blocks: list[int]


@dataclass(frozen=True, slots=True)
class BlockSolved(Event):
    """A block of a level is solved; told about once a second, at the latest with its task."""

    stage: str
    node: str
    worker: str
    block: int
    record: Record
    """``rows``, ``support``, ``bounded``, ``objective``, ``violation``, ``iterations``,
    ``kernel_values``, ``seconds``."""


@dataclass(frozen=True, slots=True)
class SetSolved(Event):
    """A working set of the whole problem is solved by a task that goes on with the next one.

    Told about once a second.
    """

    stage: str
    node: str
    worker: str
    number: int
    """How many sets the task has solved."""
    record: Record
    """``rows`` of the set; of the whole problem now ``objective``, ``violation``, ``support``;
    ``start``, the violation before the first set, and ``tol``, that after the last one."""


@dataclass(frozen=True, slots=True)
class Advanced(Event):
    """A task that is long by itself says how far it is; told about once a second."""

    stage: str
    node: str
    worker: str
    share: float
    """Of its work, in [0, 1]; about that of its time."""
    done: int
    total: int
    """Of what is counted; 0: nobody knows how many there will be."""
    unit: str
    """What is counted: ``rows``, ``basis vectors``, ..."""
    record: Record
    """Where it stands: ``support``, ``objective``, ``violation``, as far as it knows them."""


@dataclass(frozen=True, slots=True)
class TaskDone(Event):
    """A task is committed."""

    stage: str
    layer: str
    node: str
    worker: str
    record: Record
    """What the step says, with ``began``, ``seconds``, ``cpu_seconds``, ``host``, ``peak_bytes``
    and ``resident_bytes``."""


@dataclass(frozen=True, slots=True)
class StageDone(Event):
    """A stage is committed."""

    stage: str
    record: Record
    """What its commit says: objective, gap, violation, support vectors, ..."""
    resumed: bool
    """Whether that was before this process began."""

    @property
    def round(self) -> int | None:
        """The number of the round of refinement or conquer that it is; None: it is none."""
        return StageId(self.stage).round


@dataclass(frozen=True, slots=True)
class TaskFailed(Event):
    """A step raised; it is tried again unless it has been tried often enough."""

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
    """What is known of the reason: its memory and the limit of it, its exit status."""


@dataclass(frozen=True, slots=True)
class WorkerSilent(Event):
    """A worker has sent no heartbeat for a long time; the scheduler still counts on it."""

    worker: str
    seconds: float


@dataclass(frozen=True, slots=True)
class OtherVersions(Event):
    """A process has other versions than the run was begun with; told once for each set of them."""

    worker: str
    """Its address; "this process" for that which carries the run."""
    differing: dict[str, list[str]]
    """By name, of ``dcsvm_dask``, ``numpy``, ``scipy``, ``numba``, ``blas`` and ``cpu``, or
    ``result_version``: what the run was begun with, and what was found."""
    refused: bool = False
    """Whether it takes no part in the run, because its results would be others."""


@dataclass(frozen=True, slots=True)
class NoWorkers(Event):
    """No worker is left; the run waits for one."""

    where: str


Fault = TaskFailed | WorkerLost | WorkerSilent | NoWorkers
"""What goes wrong, and the run goes on after."""


@dataclass(frozen=True, slots=True)
class Said(Event):
    """The runtime has something to say."""

    text: str
    doing: bool = False
    """Whether it is what the process is at until something else is told."""


@dataclass(frozen=True, slots=True)
class RunEnds(Event):
    """The process leaves the run."""

    state: str
    """complete, interrupted or failed."""
    message: str
    """Why, where it is not complete."""
    converged: bool
    """Whether the exact model is reached, to the tolerance asked for."""
