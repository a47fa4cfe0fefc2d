"""How commands that carry a run show it, and how they end."""

from __future__ import annotations

import sys
import time
from typing import Any

from dcsvm_dask.cli.options import echo

NOT_CONVERGED = 3


def finish(run: Any, quiet: bool, log_json: bool = False, *, verbose: bool = False) -> None:
    """Print what came of a run; leave with status 3 where it ended without convergence."""
    from dcsvm_dask.diagnostics.search import is_search
    from dcsvm_dask.diagnostics.summary import is_exact

    if is_search(run.folder) and not log_json:
        echo("" if quiet else summary_of_search(run), nl=not quiet)
        return

    status = run.status()
    if log_json:
        from dcsvm_dask.diagnostics.json_lines import json_line

        echo(json_line("Status", time.time(), {"status": status}))
    elif not quiet:
        text = summary_of(run, status, verbose=verbose)
        echo("\n" + text if sys.stdout.isatty() else text)
    if status["state"] == "complete" and is_exact(status) and not status["converged"]:
        sys.exit(NOT_CONVERGED)


def summary_of(run: Any, status: dict[str, Any], *, verbose: bool = False) -> str:
    """Return the summary of a run that has ended, with the commands that may follow."""
    from dcsvm_dask.diagnostics.search import is_search
    from dcsvm_dask.diagnostics.terminal.closing import closing

    if is_search(run.folder):
        return summary_of_search(run)
    # Warnings were shown when the run ended.
    return closing(run.folder, status | {"warnings": []}, verbose=verbose)


def summary_of_search(run: Any) -> str:
    """Return the summary of a search: its grid, the best candidate, the run trained with it."""
    from dcsvm_dask.diagnostics.search import described, grid, largest_class, scored_by
    from dcsvm_dask.diagnostics.search_doubts import doubts
    from dcsvm_dask.diagnostics.summary import state_of
    from dcsvm_dask.tasks.scores import SEARCH_SCORES, SHARES

    rows, largest = run.results(), largest_class(run.folder)
    lines = [f"search     {run.url}", f"state      {state_of(run.status())}"]
    best = min(rows, key=lambda row: row["rank"])
    main = scored_by(best)
    if best[main] is not None:
        lines.append(f"best       {described(best)}")
        if largest is not None and "accuracy" in best:
            lines.append(f"classes    the largest has {largest:.4f} of the rows")
    if run.best is not None:
        lines.append(f"trained    {run.best.url}")
    lines += [f"warning    {text}" for text in doubts(rows, largest)]
    shown = SEARCH_SCORES[main] + (" in %" if main in SHARES else "")
    marks = f"{shown}; ~ by blocks, ! an SVM is not solved, * the best"
    return "\n".join([*lines, "", grid(rows), marks])


def progress_of(log_json: bool) -> str:
    """Return how progress is shown."""
    return "json" if log_json else "auto"
