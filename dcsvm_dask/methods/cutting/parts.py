"""An iteration over rows in several parts: sums of a fixed size go between the tasks.

The reduced problem gives w_t; each part finds the outputs of its rows at w_b and w_t and a
histogram of the slope between them; the events of one bin settle where w_b goes; each part finds
its cut. Outputs of w_b are computed again, so that nothing of the rows' number is committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.cutting.state import planes_of
from dcsvm_dask.methods.linear.rows import dual_of
from dcsvm_dask.methods.problem import Problem, read_problem
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.methods.sizes import share as share_of
from dcsvm_dask.solvers.cutting import (
    Events,
    Losses,
    Planes,
    Products,
    bracket,
    edges_to,
    mix,
    search_between,
)
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

REDUCE, OUTPUT, NARROW, FEW, SEARCH, CUT = "reduce", "output", "narrow", "few", "search", "cut"
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
    risks = []
    for i, machine in enumerate(machines):
        losses, (start, end) = rows.losses(machine), found[:, i]
        attempt.write(f"start_{machine:04d}", start)
        attempt.write(f"end_{machine:04d}", end)
        # Those of 0 are what F(0) is made of.
        risks.append([float(losses.values(one).sum()) for one in (start, end)])
        farthest = lines.record["of_svms"][i]["farthest"]
        if histogram and farthest > 0.0:
            slopes = Events.of(losses, start, end).histogram(edges_to(farthest))
            attempt.write(f"slopes_{machine:04d}", slopes)
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
    nodes = [run.node(stage, name_of(OUTPUT, part)) for part in range(parts)]
    bins = []
    for machine, line in zip(machines, lines, strict=True):
        if line["farthest"] == 0.0:
            bins.append([0.0, 0.0])
            continue
        histogram = np.sum([node.read(f"slopes_{machine:04d}") for node in nodes], axis=0)
        edges = edges_to(line["farthest"])
        bins.append(list(bracket(histogram, edges, line["slope"], line["bend"])))
    return {"bins": bins}


def few(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    machines: list[int],
    part: int,
    parts: int,
    constant: float,
) -> Record:
    """Find the events of a part's rows within the bin: ``at_i``, ``jump_i`` and ``bent_i``.

    Parameters
    ----------
    run, attempt, stage, machines, part, parts, constant
        As for `output`.
    """
    outputs, bins = run.node(stage, name_of(OUTPUT, part)), run.node(stage, NARROW).record["bins"]
    rows = _Rows(read_problem(run), part, parts, constant)
    each = []
    for machine, (low, high) in zip(machines, bins, strict=True):
        if high == 0.0:
            each.append([0.0, 0.0])
            continue
        start, end = (outputs.read(f"{name}_{machine:04d}") for name in ("start", "end"))
        events = Events.of(rows.losses(machine), start, end).between(low, high).joined()
        for name in ("at", "jump", "bent"):
            attempt.write(f"{name}_{machine:04d}", getattr(events, name))
        each.append([events.slope, events.bend])
    return {"rows": len(rows), "of_svms": each}


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
    lines = run.node(stage, REDUCE)
    layer = FEW if line_search else OUTPUT
    nodes = [run.node(stage, name_of(layer, part)) for part in range(parts)]
    found: list[float] = []
    for i, (machine, line) in enumerate(zip(machines, lines.record["of_svms"], strict=True)):
        if not line_search:
            w = lines.read(f"w_t_{machine:04d}")
            end = 0.5 * float(w @ w) + sum(node.record["risks"][i][1] for node in nodes)
            start = np.inf if previous is None else planes_of(run, previous, machine).objective
            found.append(1.0 if end < start else 0.0)
            continue
        low, high = run.node(stage, NARROW).record["bins"][i]
        events = (
            []
            if high == 0.0
            else [
                Events(
                    *node.record["of_svms"][i],
                    *(node.read(f"{name}_{machine:04d}") for name in ("at", "jump", "bent")),
                )
                for node in nodes
            ]
        )
        found.append(search_between(events, line["slope"], line["bend"], low, high))
    return {"k": found}


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
    problems = [rows.problem(machine) for machine in machines]
    lines = run.node(stage, REDUCE)
    ends = [lines.read(f"w_t_{machine:04d}") for machine in machines]
    known: list[tuple[Vector, Vector]] = []
    if best:
        outputs, ks = run.node(stage, name_of(OUTPUT, part)), run.node(stage, SEARCH).record["k"]
        for machine, k in zip(machines, ks, strict=True):
            start, end = (outputs.read(f"{name}_{machine:04d}") for name in ("start", "end"))
            known.append((mix(start, end, k), end))
    planes = np.zeros((len(machines), rows.width))
    risks, offsets, losing = (np.zeros(len(machines)) for _ in range(3))
    for piece, products in rows:
        for i, w in enumerate(ends):
            if known:
                at_best, end = (one[piece] for one in known[i])
            else:
                at_best = end = products.outputs(w)
            losses = Losses(problems[i], piece)
            values = losses.values(at_best)
            slopes, offset = losses.cut(mix(at_best, end, share))
            planes[i] += products.sum(slopes)
            risks[i] += values.sum()
            offsets[i] += offset
            losing[i] += np.count_nonzero(values > 0.0)
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
    now = before.advanced(
        lines.read(f"alpha_{machine:04d}"),
        w,
        0.5 * float(w @ w) + risk,
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

    def problem(self, machine: int) -> SignedProblem:
        """Return the problem of an SVM on these rows."""
        return SignedProblem.of(dual_of(self._problem, machine, self._index), self._constant, None)

    def losses(self, machine: int) -> Losses:
        """Return the losses of an SVM on these rows."""
        return Losses(self.problem(machine))

    def __iter__(self) -> Iterator[tuple[slice, Products]]:
        tell: Callable[..., None] = advance_reporter()
        first = int(self._borders[0])
        for start, stop in pairwise(self._borders.tolist()):
            clock = time.perf_counter()
            X = self._problem.X.read(start, stop)
            self.reading += time.perf_counter() - clock
            self.n_bytes += self._problem.X.nbytes_of(start, stop)
            yield slice(start - first, stop - first), Products(X, self._constant, 1)
            tell(stop - first, len(self), "rows", {})
