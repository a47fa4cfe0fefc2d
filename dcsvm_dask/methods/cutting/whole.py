"""A round over rows in one part: iterations in memory, one task for each SVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.methods.cutting.state import planes_of, write_planes
from dcsvm_dask.methods.linear.rows import checked_rows, dual_of
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.progress import pass_reporter
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.solvers.cutting import Step, Unit, size_of, solve_cutting
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

ITERATE = "iterate"
"""The layer."""


def name_of(machine: int) -> str:
    """Return the name of the node of an SVM."""
    return f"{ITERATE}-{machine:04d}"


def iterate(
    run: RunFolder,
    attempt: Attempt,
    *,
    machine: int,
    machines: int,
    previous: str | None,
    constant: float,
    changes: dict[str, Any],
    unit: Unit,
    tol: float,
    most_iterations: int,
) -> Record:
    """Iterate from where the round before has ended; writes the planes.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    machine, machines : int
        Number of the SVM, and how many there are.
    previous : str or None
        The stage of the round before; None: there is no plane.
    constant : float
        The constant feature; 0: none.
    changes : dict
        The changes of CPA that are made; see `solve_cutting`.
    unit : str
        Unit of the gap; see `solve_cutting`.
    tol : float
        The gap to stop at.
    most_iterations : int
        Iterations after which a commit is due.
    """
    problem = read_problem(run)
    state = None if previous is None else planes_of(run, previous, machine)
    report_pass = pass_reporter(tol)

    def report(step: Step, _: object) -> None:
        size = size_of(unit, at_zero, step.objective)
        gap = step.gap / size if size else 0.0  # nothing loses anything
        report_pass(step.iteration, gap)

    dual = dual_of(problem, machine, np.arange(problem.n))
    at_zero = float(dual.losses(dual.p).sum())
    found = solve_cutting(
        checked_rows(problem, 0, problem.n),
        dual,
        constant=constant,
        **changes,
        tol=tol,
        unit=unit,
        max_iter=most_iterations + (0 if state is None else state.iteration),
        threads=threads(alone=machines == 1),
        state=state,
        callback=report,
    )
    f = found.state.outputs + dual.p
    losing = dual.losses(f) > 0.0
    return {
        **write_planes(attempt, machine, found.state.planes),
        "rows": problem.n,
        "losing": int(np.count_nonzero(losing)),
        "phases": {
            name: sum(getattr(step, name) for step in found.history)
            for name in ("output", "line_search", "cut", "reduced")
        },
    }
