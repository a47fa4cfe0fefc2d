"""An iteration over rows in several parts: sums of a fixed size go between the tasks.

The reduced problem gives w_t; each part finds the outputs of its rows at w_b and w_t and the slopes
at the edges of bins between them, then those inside of the bin in which their sum changes its sign,
which settles where w_b goes; each part finds its cut. Outputs of w_b are computed again, so that
nothing of the rows' number is committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.cutting.state import planes_of
from dcsvm_dask.methods.linear.rows import checked_rows, dual_of
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.methods.sizes import share as share_of
from dcsvm_dask.solvers.cutting import (
    Events,
    Losses,
    Planes,
    Products,
    bracket,
    edges_between,
    edges_to,
    mix,
)
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

REDUCE, OUTPUT, NARROW, SLOPES = "reduce", "output", "narrow", "slopes"
SEARCH, CUT = "search", "cut"
"""The layers."""

Vector = NDArray[np.float64]


def name_of(layer: str, part: int) -> str:
    """Return the name of the node of a part."""
    return f"{layer}-{part:04d}"


def reduce(
    run: RunFolder, attempt: Attempt, *, previous: str | None, machines: list[int]
) -> Record:
    """Solve the reduced problem of each SVM.

    Writes ``alpha_i``, ``w_t_i`` and ``w_b_i``; the record has, of the line between the latter two,
    slope and curvature of the regularizer and how far the best point is at most.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str or None
        The stage of the iteration before; None: there is no plane.
    machines : list of int
        SVMs that are not within the tolerance.
    """
    problem = read_problem(run)
    each = []
    for machine in machines:
        planes = _planes(run, problem, previous, machine)
        alpha, w, bound = planes.reduced()
        attempt.write(f"alpha_{machine:04d}", alpha)
        attempt.write(f"w_t_{machine:04d}", w)
        attempt.write(f"w_b_{machine:04d}", planes.w)
        direction = w - planes.w
        bend = float(direction @ direction)
        reach = np.linalg.norm(planes.w) + np.sqrt(2.0 * planes.objective)
        each.append(
            {
                "bound": bound,
                "slope": float(planes.w @ direction),
                "bend": bend,
                "farthest": float(reach / np.sqrt(bend)) if bend > 0.0 else 0.0,
            }
        )
    return {"of_svms": each}


def output(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machines: list[int],
    part: int,
    parts: int,
    constant: float,
    histogram: bool,
) -> Record:
    """Find the outputs of a part's rows at w_b and w_t.

    Writes them as ``start_i`` and ``end_i``, and ``slopes_i`` at the edges of bins between.

    Parameters
    ----------
    stage : str
        The stage of the iteration.
    part, parts : int
        The part and the number of parts.
    constant : float
        The constant feature; 0: none.
    histogram : bool
        Whether the line is searched.
    run, attempt, machines
        As for `reduce`.
    """
    problem, lines = read_problem(run), run.node(stage, REDUCE)
    rows = _Rows(problem, part, parts, constant)
    first, last = (
        [lines.read(f"{name}_{machine:04d}") for machine in machines] for name in ("w_b", "w_t")
    )
    found = np.zeros((2, len(machines), len(rows)))
    weights = [
        (out, w)
        for end, ws in zip(found, (first, last), strict=True)
        for out, w in zip(end, ws, strict=True)
        if w.any()
    ]
    if weights:
        for piece, products in rows:
            for out, w in weights:
                out[piece] = products.outputs(w)
    risks: list[float] = []
    for i, machine in enumerate(machines):
        losses, (start, end) = rows.losses(machine), found[:, i]
        attempt.write(f"start_{machine:04d}", start)
        attempt.write(f"end_{machine:04d}", end)
        farthest = lines.record["of_svms"][i]["farthest"]
        if not histogram:
            risks.append(losses.risk(end))
        elif farthest > 0.0:
            events = Events.of(losses, start, end, 0.0, farthest)
            attempt.write(f"slopes_{machine:04d}", events.histogram(edges_to(farthest)))
    return {"rows": len(rows), "risks": risks, "reading": rows.reading, "bytes": rows.n_bytes}


def narrow(
    run: RunFolder, attempt: Attempt, *, stage: str, machines: list[int], parts: int
) -> Record:
    """Find the bin in which the slope along each line changes its sign.

    Parameters
    ----------
    run, attempt, stage, machines, parts
        As for `output`.
    """
    del attempt
    lines = run.node(stage, REDUCE).record["of_svms"]
    edges = [edges_to(line["farthest"]) for line in lines]
    return {"bins": _brackets(run, stage, OUTPUT, machines, parts, edges)}


def slopes(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machines: list[int],
    part: int,
    parts: int,
    constant: float,
) -> Record:
    """Find the slopes of a part's rows inside of the bin, ``slopes_i``.

    Parameters
    ----------
    run, attempt, stage, machines, part, parts, constant
        As for `output`.
    """
    outputs, bins = run.node(stage, name_of(OUTPUT, part)), run.node(stage, NARROW).record["bins"]
    rows = _Rows(read_problem(run), part, parts, constant)
    for machine, (low, high, _) in zip(machines, bins, strict=True):
        if high > 0.0:
            start, end = (outputs.read(f"{name}_{machine:04d}") for name in ("start", "end"))
            events = Events.of(rows.losses(machine), start, end, low, high)
            found = events.histogram(edges_between(low, high) - low)
            attempt.write(f"slopes_{machine:04d}", found)
    return {"rows": len(rows)}


def search(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    previous: str | None,
    machines: list[int],
    parts: int,
    line_search: bool,
) -> Record:
    """Settle where each SVM's w_b goes on its line: ``k``, in units of the way to w_t.

    Parameters
    ----------
    line_search : bool
        Whether to the best point of the line; else to the better one of its ends.
    run, attempt, stage, previous, machines, parts
        As for `output` and `reduce`.
    """
    del attempt
    if line_search:
        bins = run.node(stage, NARROW).record["bins"]
        edges = [edges_between(low, high) for low, high, _ in bins]
        return {"k": [k for *_, k in _brackets(run, stage, SLOPES, machines, parts, edges)]}
    lines, found = run.node(stage, REDUCE), list[float]()
    nodes = [run.node(stage, name_of(OUTPUT, part)) for part in range(parts)]
    for i, machine in enumerate(machines):
        w = lines.read(f"w_t_{machine:04d}")
        end = 0.5 * float(w @ w) + sum(node.record["risks"][i] for node in nodes)
        start = np.inf if previous is None else planes_of(run, previous, machine).objective
        found.append(1.0 if end < start else 0.0)
    return {"k": found}


def _brackets(
    run: RunFolder,
    stage: str,
    layer: str,
    machines: list[int],
    parts: int,
    edges: list[Vector],
) -> list[tuple[float, float, float]]:
    """Return what `bracket` finds for each SVM, by the slopes that the parts have written."""
    lines = run.node(stage, REDUCE).record["of_svms"]
    nodes = [run.node(stage, name_of(layer, part)) for part in range(parts)]
    found = []
    for machine, line, of_line in zip(machines, lines, edges, strict=True):
        if of_line[-1] == 0.0:
            found.append((0.0, 0.0, 0.0))
            continue
        histogram = np.sum([node.read(f"slopes_{machine:04d}") for node in nodes], axis=0)
        found.append(bracket(histogram, of_line, line["slope"], line["bend"]))
    return found


def cut(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machines: list[int],
    part: int,
    parts: int,
    constant: float,
    best: bool,
    share: float,
) -> Record:
    """Find what a part adds to the new planes, and to the risk at the new w_b.

    Writes ``plane_i``.

    Parameters
    ----------
    best : bool
        Whether w_b is a point of the line; else it is w_t, whose outputs are not known yet.
    share : float
        lambda of (8), the share of w_t in the point at which planes touch the risk.
    run, attempt, stage, machines, part, parts, constant
        As for `output`.
    """
    rows = _Rows(read_problem(run), part, parts, constant)
    lines = run.node(stage, REDUCE)
    ends = [lines.read(f"w_t_{machine:04d}") for machine in machines]
    known: list[tuple[Vector, Vector]] = []
    ks = [1.0] * len(machines)
    if best:
        outputs, ks = run.node(stage, name_of(OUTPUT, part)), run.node(stage, SEARCH).record["k"]
        for machine in machines:
            start, end = (outputs.read(f"{name}_{machine:04d}") for name in ("start", "end"))
            known.append((start, end))
    planes = np.zeros((len(machines), rows.width))
    risks, offsets, losing = (np.zeros(len(machines)) for _ in range(3))
    for piece, products in rows:
        for i, w in enumerate(ends):
            if known:
                start, end = (one[piece] for one in known[i])
            else:
                start = end = products.outputs(w)
            _, subgradient = both = np.empty((2, len(end)))
            risk, offset, lost = rows.losses(machines[i], piece).advance(
                start, end, ks[i], share, *both
            )
            planes[i] += products.sum(subgradient)
            risks[i] += risk
            offsets[i] += offset
            losing[i] += lost
    for machine, plane in zip(machines, planes, strict=True):
        attempt.write(f"plane_{machine:04d}", plane)
    return {
        "rows": len(rows),
        "risks": risks.tolist(),
        "offsets": offsets.tolist(),
        "losing": losing.tolist(),
        "reading": rows.reading,
        "bytes": rows.n_bytes,
    }


def advanced(
    run: RunFolder,
    *,
    stage: str,
    previous: str | None,
    machine: int,
    machines: list[int],
    parts: int,
    best: bool,
) -> tuple[Planes, int]:
    """Return the planes of an SVM after the iteration, and how many rows have a loss at w_b.

    Parameters
    ----------
    machine : int
        The SVM.
    run, stage, previous, machines, parts, best
        As for `cut` and `reduce`.
    """
    i, lines = machines.index(machine), run.node(stage, REDUCE)
    nodes = [run.node(stage, name_of(CUT, part)) for part in range(parts)]
    w = lines.read(f"w_t_{machine:04d}")
    if best:
        k = run.node(stage, SEARCH).record["k"][i]
        w = mix(lines.read(f"w_b_{machine:04d}"), w, k)
    risk, offset, losing = (
        sum(node.record[key][i] for node in nodes) for key in ("risks", "offsets", "losing")
    )
    plane = np.sum([node.read(f"plane_{machine:04d}") for node in nodes], axis=0)
    before = _planes(run, read_problem(run), previous, machine)
    objective = 0.5 * float(w @ w) + risk
    if best and previous is not None and objective > before.objective:  # by rounding
        w, objective = before.w, before.objective
    now = before.advanced(
        lines.read(f"alpha_{machine:04d}"),
        w,
        objective,
        lines.record["of_svms"][i]["bound"],
        plane,
        offset,
    )
    return now, int(losing)


def _planes(run: RunFolder, problem: Problem, previous: str | None, machine: int) -> Planes:
    """Return the planes where an iteration begins; before the first, F(0) is not known yet."""
    if previous is not None:
        return planes_of(run, previous, machine)
    return Planes.none(problem.X.n_features + 1, 0.0)


class _Rows:
    """The rows of a part, a chunk of the data set at a time, with products.

    Parts begin and end at chunks where there are enough of them, so that none is read twice.
    """

    def __init__(self, problem: Problem, part: int, parts: int, constant: float) -> None:
        borders = np.asarray(problem.X.borders(), dtype=np.int64)
        if len(borders) - 1 < parts:
            borders = np.array([share_of(problem.n, i, parts)[0] for i in range(parts + 1)])
            borders[-1] = problem.n
        low, high = share_of(len(borders) - 1, part, parts)
        self._borders, self._problem = borders[low : high + 1], problem
        self._index = np.arange(self._borders[0], self._borders[-1])
        self._constant, self.width = constant, problem.X.n_features + 1
        self.reading, self.n_bytes = 0.0, 0

    def __len__(self) -> int:
        return len(self._index)

    def losses(self, machine: int, rows: slice = slice(None)) -> Losses:
        """Return the losses of an SVM on these rows, or some of them."""
        dual = dual_of(self._problem, machine, self._index[rows])
        return Losses(SignedProblem.of(dual, self._constant, None))

    def __iter__(self) -> Iterator[tuple[slice, Products]]:
        tell: Callable[..., bool] = advance_reporter()
        first = int(self._borders[0])
        for start, stop in pairwise(self._borders.tolist()):
            clock = time.perf_counter()
            X = checked_rows(self._problem, start, stop)
            self.reading += time.perf_counter() - clock
            self.n_bytes += self._problem.X.nbytes_of(start, stop)
            yield slice(start - first, stop - first), Products(X, self._constant, 1)
            tell(stop - first, len(self), "rows", {})
