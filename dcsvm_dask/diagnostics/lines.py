"""Progress as plain lines, one for each committed stage."""

from __future__ import annotations

import sys
from typing import TextIO

from dcsvm_dask.diagnostics.numbers import counted
from dcsvm_dask.diagnostics.outline import in_brief
from dcsvm_dask.masking import printable
from dcsvm_dask.methods.regime import is_smooth, is_sparse_in_support
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import (
    THIS_PROCESS,
    Event,
    Fault,
    NoWorkers,
    OtherVersions,
    Planned,
    RunBegins,
    Said,
    StageDone,
    WorkerLost,
    WorkerSilent,
)
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import COMMITTEE, LEVEL, MODEL, PASS, SCORE, StageId


class Lines(Callback):
    """Print a line for each committed stage.

    Parameters
    ----------
    stream : TextIO, optional
        The stream to print to; standard error by default, which leaves standard output to results.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._begin: float | None = None

    def on_begin(self, event: RunBegins) -> None:
        """Print the cluster or process that runs the tasks."""
        self._print(event, f"running on {event.where}")

    def on_plan(self, event: Planned) -> None:
        """Print the estimated time, memory and work of the run."""
        self._print(event, f"{'plan':<13} {in_brief(event.plan)}")

    def on_commit(self, event: StageDone) -> None:
        """Print the result of a stage."""
        if not event.resumed:
            self._print(event, f"{event.stage:<13} {describe(event.stage, event.record)}")

    def on_fault(self, event: Fault) -> None:
        """Print a fault."""
        self._print(event, fault(event))

    def on_versions(self, event: OtherVersions) -> None:
        """Print the versions that differ."""
        self._print(event, other_versions(event))

    def on_say(self, event: Said) -> None:
        """Print a sentence."""
        self._print(event, event.text)

    def _print(self, event: Event, text: str) -> None:
        """Print one line with the seconds since the first."""
        if self._begin is None:
            self._begin = event.time
        elapsed = max(0.0, event.time - self._begin)
        print(f"{elapsed:7.1f} s  {printable(text)}", file=self._stream, flush=True)


def fault(event: Fault) -> str:
    """Return a sentence that describes a fault."""
    if isinstance(event, WorkerLost):
        why = f" ({event.why})" if event.why else ""
        return f"worker {event.worker} was lost{why}; its tasks run again"
    if isinstance(event, WorkerSilent):
        return (
            f"worker {event.worker} has been silent for {event.seconds:.0f} s: it is stopped, "
            "hangs or swaps; without a heartbeat the scheduler removes it, at most twice its "
            "worker-ttl after the last one, and its tasks run again"
        )
    if isinstance(event, NoWorkers):
        return f"no workers are left; waiting for one to join {event.where}"
    return f"{event.stage}: {event.node} failed on {event.worker}: {event.error}"


def other_versions(event: OtherVersions) -> str:
    """Return a sentence that names the differing versions and their consequence."""
    differing = ", ".join(
        f"{name.replace('_', ' ')} {found} (the run was begun with {recorded})"
        for name, (recorded, found) in event.differing.items()
    )
    if event.refused:
        return f"worker {event.worker} is excluded from the run: it has {differing}"
    who = event.worker if event.worker == THIS_PROCESS else f"worker {event.worker}"
    return (
        f"warning: {who} has {differing}; the model may differ by rounding from that of a run "
        "that was not interrupted"
    )


def describe(stage: str, record: Record) -> str:
    """Return the result of a committed stage in a few words."""
    if stage == "arrange":
        merged = record["rows"] - record["variables"]
        return (
            f"{record['variables']} rows"
            + (
                f" in {record['blocks']} blocks (largest {record['largest_block']})"
                if record["parts"]
                else ", in their stored order"
            )
            + (f", {merged} repeats merged" if merged else "")
        )
    if stage == "probe" and "kept_share" in record:
        return f"about {record['kept_share']:.0%} of the rows are expected to be kept"
    if stage == "probe" and is_sparse_in_support(record.get("support_share", 1.0)):
        share = f"{record['support_share']:.0%} of some rows are support vectors"
        return f"{share}: solving each SVM whole costs less than levels"
    if stage == "probe":
        between = record["probed_between"]
        expected = "levels are expected to save time"
        if record["smooth"]:
            expected = "working sets cost less than levels"
        elif is_smooth(between):
            expected = "levels are tried, too many support vectors are expected for working sets"
        return f"{between:.0%} of the kernel's mass lies between a few clusters: {expected}"
    if stage == "subset":
        sizes = ", ".join(map(str, record["sizes"]))
        return f"SVM on {sizes} random rows, support vectors {record['n_support']}"
    kind_of_stage = StageId(stage).kind
    if kind_of_stage == LEVEL:
        return (
            f"{record['blocks']} blocks solved, support vectors {record['support']}, objective "
            f"~ {record['objective_estimate']:.6g} +- {record['objective_error']:.2g}, "
            f"gap ~ {record['gap_estimate']:.3g}; {record['why']}"
        )
    if kind_of_stage == SCORE:
        kind = {"early": "early prediction"}.get(record["mode"], record["mode"])
        return f"{kind}: accuracy {record['accuracy']:.4f} on {record['rows']} held-out rows"
    if kind_of_stage == COMMITTEE:
        return f"{record['blocks']} SVMs calibrated on {record['rows']} rows of other blocks"
    if kind_of_stage == MODEL:
        if "outputs" in record:
            return f"weights of {record['outputs']} features, {record['passes']} passes"
        objective = record.get("objective")
        known = "" if objective is None else f", objective {objective:.6f}"
        return f"support vectors {record['support']}{known}"
    if stage == "split":
        if record["folds"]:
            return f"{record['variables']} rows in {record['folds']} folds"
        return f"{record['held_out']} rows held out"
    if stage == "exact" or kind_of_stage == "early":
        how = "exact" if stage == "exact" or record["whole"] else "by blocks"
        unsolved = f"; {record['unsolved']} not solved" if record["unsolved"] else ""
        count = counted(record["candidates"], "candidate")
        return f"{count} {how}, best accuracy {record['accuracy']:.4f}{unsolved}"
    if stage == "map":
        return f"{record['outputs']} features a row"
    if stage == "features":
        return f"features of {record['rows']} rows in {counted(record['parts'], 'part')}"
    if kind_of_stage in ("grow", "fit"):
        left = record["decrement"]
        known = "" if left is None else f", Newton decrement {left:.2g}"
        return f"basis {record['support']}, objective {record['objective']:.6g}{known}"
    if kind_of_stage == PASS:
        below = ", ".join(map(str, record["support_by_layer"]))
        return f"{record['nodes']} SVMs, support vectors {below} from the leaves up"
    text = (
        f"objective {record['objective']:.4f} gap {record['gap']:.3g} "
        f"violation {record['violation']:.2g} support vectors {record['support']}"
    )
    if "beta_min" in record:
        text += f" factors {record['beta_min']:.2f} to 1"
    if record.get("blocks"):
        text += f"; next {record['active']} rows in {counted(record['blocks'], 'block')}"
    return text
