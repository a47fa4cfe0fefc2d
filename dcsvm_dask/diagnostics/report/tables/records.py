"""The records of a run, read once for all tables, and the time axis of the run."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dcsvm_dask.diagnostics.status import LONGEST_PAUSE, read_nodes, status
from dcsvm_dask.diagnostics.summary import is_exact
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.registry import options_of
from dcsvm_dask.runtime.journal import read_journal
from dcsvm_dask.runtime.plan_file import PLAN
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import MODEL, StageId
from dcsvm_dask.tasks import Task, make_task, members_of

Span = tuple[float, float]


class Clock:
    """Converts times (since 1970) to seconds of the run; times without a process are cut out.

    Parameters
    ----------
    spans : list of (float, float)
        Begin and end of work on the run; pauses of a few seconds between them count as work.
    """

    def __init__(self, spans: list[Span]) -> None:
        self._spans: list[Span] = []
        for begin, end in sorted(spans):
            if self._spans and begin <= self._spans[-1][1] + LONGEST_PAUSE:
                self._spans[-1] = (self._spans[-1][0], max(end, self._spans[-1][1]))
            else:
                self._spans.append((begin, end))
        self._before, total = [], 0.0
        for begin, end in self._spans:
            self._before.append(total)
            total += end - begin
        self.total = total
        """Seconds of work from begin to end."""

    @classmethod
    def of(cls, nodes: dict[str, dict[str, Record]], journal: list[list[dict[str, Any]]]) -> Clock:
        """Return the clock of a run, from its nodes and the processes that carried it."""
        spans = [
            (record["began"], record["began"] + record["seconds"])
            for found in nodes.values()
            for record in found.values()
        ]
        spans += [
            (entries[0]["time"], max(entry["time"] for entry in entries))
            for entries in journal
            if entries
        ]
        return cls(spans)

    @property
    def breaks(self) -> list[float]:
        """Seconds of the run at which it was resumed after a pause."""
        return self._before[1:]

    @property
    def pauses(self) -> float:
        """Seconds that are cut out."""
        return self._spans[-1][1] - self._spans[0][0] - self.total if self._spans else 0.0

    def __call__(self, time: float) -> float:
        """Return the seconds of the run at a time."""
        if not self._spans:
            return 0.0
        at = max(bisect_right(self._spans, (time, float("inf"))) - 1, 0)
        begin, end = self._spans[at]
        return self._before[at] + min(max(time - begin, 0.0), end - begin)


@dataclass(frozen=True)
class Records:
    """All small records of a run; see `read_records`.

    Attributes
    ----------
    status : dict
        See `dcsvm_dask.diagnostics.status.status`; its ``stages`` are the commits in their order.
    nodes : dict
        Records of all committed nodes by stage and name.
    journal : list
        See `dcsvm_dask.runtime.journal.read_journal`; empty where it is damaged.
    plan : dict or None
        The plan of the run; None where it is damaged or missing.
    data : DataSet or None
        The training data; None where they are missing or have changed.
    notes : list of str
        Messages about data that could not be read.
    clock : Clock
        Converts times to seconds of the run.
    """

    run: RunFolder
    status: dict[str, Any]
    nodes: dict[str, dict[str, Record]]
    journal: list[list[dict[str, Any]]]
    plan: Record | None
    data: DataSet | None
    notes: list[str]
    clock: Clock

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters that shaped the run, from run.json."""
        found: dict[str, Any] = self.run.header["settings"]
        return found

    @property
    def options(self) -> Options:
        """The parameters of the run's method."""
        return options_of(self.settings)[1]

    @property
    def task(self) -> Task:
        """The task of the run."""
        settings = self.settings
        return make_task(settings.get("task", "classification"), settings.get("task_options", {}))

    @property
    def commits(self) -> dict[str, Record]:
        """Records of the commits by stage, in their order."""
        found: dict[str, Record] = self.status["stages"]
        return found

    @property
    def levels(self) -> list[str]:
        """Stages of the committed levels, the bottom one first."""
        return levels_of(self.commits)

    @property
    def best(self) -> Record | None:
        """The commit of the exact model of one SVM; None where there is none, or are several."""
        model = str(self.status["model"])
        found = self.commits.get(model) if is_exact(self.status) else None
        return None if self.has_several else found

    @property
    def has_several(self) -> bool:
        """Whether the run has several SVMs: of more than two classes, or of several quantiles."""
        many = self.run.header.get("shape", {}).get("class_rows")
        return bool(many) or len(members_of(self.task)) > 1

    @property
    def objective(self) -> float | None:
        """Objective of the whole problem at the model; None where it was not measured on all rows.

        Objectives of all methods are comparable: none of a feasible point is below the best.
        """
        model = str(self.status["model"])
        record = self.commits.get(model, {}) if StageId(model).kind == MODEL else {}
        return None if record.get("sampled") else record.get("objective")

    def committed_at(self, stage: str) -> float:
        """Return when a stage was committed, in seconds of the run."""
        record = self.commits[stage]
        return self.clock(record["began"] + record["seconds"])


def read_records(run: RunFolder) -> Records:
    """Read the records of a run.

    Raises
    ------
    InputError
        If a commit or the state is damaged; a damaged journal or plan is a note.
    """
    notes: list[str] = []
    nodes = read_nodes(run)
    found = status(run, nodes, lambda error: notes.append(str(error)))
    try:
        journal = read_journal(run)
    except InputError as error:
        journal, note = [], str(error)
        notes.append(note)
    try:
        plan = (run.place / PLAN).read_json(sealed=True)
    except (FileNotFoundError, InputError):  # the status has noted the damage
        plan = None
    data = None
    try:
        data = DataSet.open(run.header["data"]["url"])
        if data.fingerprint != run.header["data"]["fingerprint"]:
            notes.append(f"{data.url}: the data have changed since the run began")
            data = None
    except (InputError, OSError) as error:
        notes.append(f"the training data cannot be read: {error}")
    notes += found["warnings"]
    return Records(run, found, nodes, journal, plan, data, notes, Clock.of(nodes, journal))


def levels_of(stages: Iterable[str]) -> list[str]:
    """Return the levels among some stages, the bottom one first."""
    levels = (stage for stage in stages if StageId(stage).is_level)
    return sorted(levels, key=lambda stage: StageId(stage).height, reverse=True)


def layer_of(node: str) -> str:
    """Return the layer of a node: its name without its number."""
    return re.sub(r"-\d+$", "", node)
