"""The commit of a round: where all SVMs stand."""

from __future__ import annotations

from dcsvm_dask.methods.cutting import parts as steps
from dcsvm_dask.methods.cutting import whole
from dcsvm_dask.methods.cutting.state import planes_of, read_planes, write_planes
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.solvers.cutting import Unit, size_of
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def commit_round(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str | None,
    machines: list[int],
    parts: int,
    best: bool,
    reads: int,
    unit: Unit,
    tol: float,
) -> Record:
    """Commit the planes of all SVMs, their w, and how far they are.

    Writes what `write_planes` does, and ``sums_i`` for the model. The violation is the gap in its
    unit.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    stage, previous : str
        The stages of the round and of the one before.
    machines : list of int
        SVMs that have gone on; the others are as they were.
    parts : int
        Parts of the rows.
    best : bool
        Whether the best point so far is kept.
    reads : int
        How often an iteration meets each row.
    unit : str
        Unit of the gap.
    tol : float
        Tolerance of the run.
    """
    problem = read_problem(run)
    each: list[Record] = []
    for machine in range(len(problem.machines) if problem.has_several else 1):
        if machine not in machines:
            assert previous is not None
            losing = run.node(previous, "commit").record["of_svms"][machine]["losing"]
            planes = planes_of(run, previous, machine)
        elif parts == 1:
            node = run.node(stage, whole.name_of(machine))
            losing, planes = node.record["losing"], read_planes(node, machine, node.record)
        else:
            planes, losing = steps.advanced(
                run,
                stage=stage,
                previous=previous,
                machine=machine,
                machines=machines,
                parts=parts,
                best=best,
            )
        written = write_planes(attempt, machine, planes)
        each.append({**written, "planes": len(planes.offsets), "losing": losing})
        attempt.write(f"sums_{machine:04d}", planes.w[None, :])
    gaps = [one["objective"] - one["bound"] for one in each]
    sizes = [size_of(unit, one["at_zero"], one["objective"]) for one in each]
    violations = [gap / size if size else 0.0 for gap, size in zip(gaps, sizes, strict=True)]
    iterations = max(one["iteration"] for one in each)
    return {
        "rows": problem.n,
        "objective": -sum(one["bound"] for one in each),
        "primal_objective": sum(one["objective"] for one in each),
        "gap": sum(gaps),
        "violation": max(violations),
        "violations": violations,
        "support": max(one["losing"] for one in each),
        "bounded": sum(one["losing"] for one in each),
        "iterations": iterations,
        "passes": reads * iterations,
        "planes": max(one["planes"] for one in each),
        "svms": len(machines),
        "parts": parts,
        "tol": tol,
        "from_scratch": True,
        "of_svms": each,
    }
