"""Progress as plain lines: one a committed stage."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from dcsvm_dask.diagnostics.outline import brief
from dcsvm_dask.storage.run import Record


class Lines:
    """Print a line for each committed stage.

    Parameters
    ----------
    stream : TextIO
        Where to; standard error by default, so that standard output stays for results.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._begin = time.perf_counter()

    def __call__(self, event: dict[str, Any]) -> None:
        """Take one event of the runtime."""
        if "lost" in event:
            self.say(f"worker {event['lost']} is gone; what it was doing is done again")
        elif "alone" in event:
            self.say(f"no workers are left; waiting for one to join {event['alone']}")
        elif "plan" in event:
            self.say(f"{'plan':<13} {brief(event['plan'])}")
        elif event["node"] == "commit":
            self.say(f"{event['stage']:<13} {describe(event['stage'], event['record'])}")

    def say(self, text: str) -> None:
        """Print one line with the seconds since the start."""
        elapsed = time.perf_counter() - self._begin
        print(f"{elapsed:7.1f} s  {text}", file=self._stream, flush=True)


def describe(stage: str, record: Record) -> str:
    """Return what a stage's commit says, in a few words."""
    if stage == "arrange":
        merged = record["rows"] - record["variables"]
        return (
            f"{record['variables']} rows"
            + (
                f" in {record['blocks']} blocks (largest {record['largest_block']})"
                if record["parts"]
                else ", left where they are"
            )
            + (f", {merged} repeats merged" if merged else "")
        )
    if stage == "probe":
        return (
            f"{record['probed_between']:.0%} of the kernel's mass lies between a few clusters: "
            + ("working sets do more than levels" if record["smooth"] else "levels promise to pay")
        )
    if stage == "subset":
        sizes = ", ".join(map(str, record["sizes"]))
        return f"machine of {sizes} random rows, support vectors {record['n_support']}"
    if stage.startswith("level"):
        return (
            f"{record['blocks']} blocks solved, support vectors {record['support']}, objective "
            f"~ {record['objective_estimate']:.6g} +- {record['objective_error']:.2g}, "
            f"gap ~ {record['gap_estimate']:.3g}; {record['why']}"
        )
    if stage.startswith("score"):
        kind = "exact" if record["source"].startswith("model") else "early prediction"
        return f"{kind}: accuracy {record['accuracy']:.4f} on {record['rows']} held-out rows"
    if stage.startswith("model"):
        return f"support vectors {record['support']}, objective {record['objective']:.6f}"
    text = (
        f"objective {record['objective']:.4f} gap {record['gap']:.3g} "
        f"violation {record['violation']:.2g} support vectors {record['support']}"
    )
    if "beta_min" in record:
        text += f" factors {record['beta_min']:.2f} to 1"
    if record["blocks"]:
        text += f"; next {record['active']} rows in {record['blocks']} block(s)"
    return text
