"""A search over C, kernel, epsilon and nu: blocks rank candidates, the best are solved exactly."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import NamedTuple

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.choice import SEARCH
from dcsvm_dask.methods.dcsvm.stages import arrange_stage
from dcsvm_dask.methods.forecast import VECTOR, Forecast, Need
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Layer, Node, Outcome, Stage, Stages, single
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.partition import largest_block
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.methods.search import blocks as search_blocks
from dcsvm_dask.methods.search import exact as search_exact
from dcsvm_dask.methods.search.held_out import SPLIT, part_rows
from dcsvm_dask.methods.search.split import split_rows
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan, of_loads
from dcsvm_dask.methods.stages import merge_stage
from dcsvm_dask.models import weighted_sample
from dcsvm_dask.numbers import counted
from dcsvm_dask.parameters import parameter
from dcsvm_dask.solvers import coefficient_rows, machines_of
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.tasks import ACCURACY, SCORINGS, check_nu, main_score
from dcsvm_dask.tasks.scores import SEARCH_SCORES

METHOD = SEARCH
EARLY, EXACT = "early", "exact"
BLOCK_ROWS = 4096
"""Rows of a block, at most, about, unless another number is given."""
# Rows of all blocks of a task, about, and most tasks, for each kernel.
SLOT_ROWS, MOST_SLOTS = 8192, 128
# A rung keeps one candidate of so many; the next rung scores them on so many times the blocks.
HALVING = 3
MOST_CANDIDATES, MOST_FOLDS = 10_000, 1000
# Kernel values of an exact candidate, for its rows times its support vectors.
WORK = 3.0
# Kernel matrices that a block takes while it is solved.
COPIES = 2.2
# Vectors of all variables in a process, those for drawing a sample among them.
VECTORS = 10
REMEDY = "lower --block-rows"
"""What makes tasks smaller."""


class Candidate(NamedTuple):
    """What an SVM is trained with."""

    kernel: Kernel
    C: float
    epsilon: float | None = None
    """Of regression, where it is searched over."""
    nu: float | None = None
    """Of nu-SVMs and one-class SVMs, where it is searched over."""

    @property
    def of_task(self) -> dict[str, float]:
        """The parameters of the task that are its own: epsilon or nu, where searched over."""
        every = {"epsilon": self.epsilon, "nu": self.nu}
        return {name: value for name, value in every.items() if value is not None}


@dataclass(frozen=True)
class Search(Options):
    """What is searched, and how."""

    C: Sequence[float] = parameter((1.0,), "upper bounds, ascending")
    gamma: Sequence[float] = parameter((1.0,), "of the kernel")
    degree: Sequence[int] = parameter((3,), "of the polynomial kernel")
    coef0: Sequence[float] = parameter((0.0,), "of the polynomial and the sigmoid kernel")
    epsilon: Sequence[float] = parameter((), "of regression; none: that of the task")
    nu: Sequence[float] = parameter((), "of nu-SVMs; none: that of the task")
    folds: int = parameter(5, "of cross-validation; 0: rows are held out for all", name="cv")
    exact: int = parameter(3, "candidates that are solved as a whole, the best ones", least=0)
    halving: bool = parameter(False, "rank on few blocks first, and the better third on more")
    budget: int = parameter(1000, "steps of an SVM, at most, for each training row", least=1)
    held_out: int = parameter(0, "rows that are held out for all")
    refit: bool = parameter(True, "train the best candidate on all rows")
    scoring: str = parameter(ACCURACY, "score of classes that ranks candidates", choices=SCORINGS)

    def __post_init__(self) -> None:
        for name, kind in (("C", "above 0"), ("gamma", "above 0"), ("coef0", "finite")):
            values = getattr(self, name)
            known = len(values) > 0 and all(is_a(one, numbers.Real) for one in values)
            fits = known and all(is_finite(one) and (one > 0 or name == "coef0") for one in values)
            check(fits, name, values, f"numbers, {kind}")
        known = all(is_a(one, numbers.Real) and is_finite(one) for one in self.epsilon)
        fits = known and all(one >= 0 for one in self.epsilon)
        check(fits, "epsilon", self.epsilon, "numbers, 0 or more")
        for one in self.nu:
            check_nu(one)
        fits = len(self.degree) > 0 and all(is_a(one, numbers.Integral) for one in self.degree)
        check(fits and min(self.degree) >= 1, "degree", self.degree, "whole numbers from 1")
        super().__post_init__()
        none = self.folds == 0 and self.held_out > 0
        check(none or self.folds >= 2, "cv", self.folds, "2 folds or more")
        check(self.folds <= MOST_FOLDS, "cv", self.folds, f"{MOST_FOLDS} folds at most")
        many = len(self.C) * len(self.gamma) * len(self.degree) * len(self.coef0)
        many *= max(1, len(self.epsilon)) * max(1, len(self.nu))
        check(many <= MOST_CANDIDATES, "C and gamma", many, f"{MOST_CANDIDATES} candidates at most")

    @property
    def least_rows(self) -> int:
        """Distinct rows that there have to be."""
        return max(2, self.folds)

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one: in none."""
        return True

    def kernels(self, name: str) -> list[Kernel]:
        """Return all kernels of a name."""
        every = product(self.gamma, self.degree, self.coef0)
        return [Kernel(name, gamma, degree, coef0) for gamma, degree, coef0 in every]

    def candidates(self, name: str) -> list[Candidate]:
        """Return all candidates: kernel by kernel, of each epsilon (or nu) by it, C ascending."""
        every = product(self.kernels(name), self.epsilon or (None,), self.nu or (None,), self.C)
        return [Candidate(kernel, C, epsilon, nu) for kernel, epsilon, nu, C in every]


def search(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield the graphs of a search.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    options = Search(**settings.options)
    candidates = options.candidates(settings.kernel.name)
    records = yield [*before(settings, shape, options)]
    blocks: int = records[ARRANGE].get("blocks", 1)
    if options.exact >= len(candidates) and blocks > 1:  # nothing to rank
        found = yield [exact_stage(settings, goals, list(range(len(candidates))))]
        return Outcome(EXACT, found[EXACT]["unsolved"] == 0)
    left, stage, above = list(range(len(candidates))), "", None
    # Of rows that are held out of all, some blocks may have none to decide.
    deciding: int = records[SPLIT].get("deciding", blocks)
    for rung, (first, last) in enumerate(rungs(options, deciding, len(candidates)), start=1):
        stage = StageId.numbered(EARLY, rung, digits=1)
        found = yield [early_stage(settings, goals, shape, (rung, first, last), left, above)]
        ranked = found[stage]["ranked"]
        kept = max(options.exact, math.ceil(len(ranked) / HALVING))
        above, left = stage, sorted(ranked[:kept])
        if last == deciding:
            break
    solved = found[stage]["unsolved"] == 0
    chosen = sorted(ranked[: options.exact])
    if blocks == 1 or not chosen:  # one block is the whole problem
        return Outcome(stage, solved)
    found = yield [exact_stage(settings, goals, chosen)]
    return Outcome(EXACT, found[EXACT]["unsolved"] == 0)


def before(settings: Settings, shape: Shape, options: Search) -> list[Stage]:
    """Return the stages before the first score: rows in block order, and held-out rows.

    Parameters
    ----------
    settings : Settings
    shape : Shape
    options : Search
    """
    ordered = arrange_stage(settings, shape) if settings.clusters else merge_stage()
    split = single(COMMIT, split_rows, folds=options.folds)
    return [ordered, Stage(SPLIT, (split,), SPLIT)]


def rungs(options: Search, blocks: int, candidates: int) -> list[tuple[int, int]]:
    """Return the blocks that each rung adds, in a random order of those with held-out rows.

    Parameters
    ----------
    options : Search
    blocks : int
        Number of blocks with held-out rows.
    candidates : int
        Number of candidates.

    Returns
    -------
    list of (int, int)
        First block of each rung, and the one after its last.
    """
    borders = [blocks]
    while options.halving and borders[0] >= HALVING and candidates > HALVING ** len(borders):
        borders.insert(0, borders[0] // HALVING)
    return list(zip([0, *borders[:-1]], borders, strict=True))


def early_stage(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    rung: tuple[int, int, int],
    left: list[int],
    above: str | None,
) -> Stage:
    """Return the stage that scores some candidates by some blocks.

    Parameters
    ----------
    rung : (number, first, last)
        Of the blocks that have held-out rows, in their random order.
    left : list of int
        The candidates.
    above : str or None
        The stage of the rung before.
    """
    options, (number, first, last) = Search(**settings.options), rung
    candidates = options.candidates(settings.kernel.name)
    clusters = max(1, *settings.clusters) if settings.clusters else 1
    rows = shape.n_variables * (last - first) / clusters
    slots = min(last - first, MOST_SLOTS, max(1, math.ceil(rows / SLOT_ROWS)))
    name, scored = StageId.numbered(EARLY, number, digits=1), []
    nodes: list[Node] = []
    kernels = by_kernel(candidates, left)
    for kernel, places in kernels.items():
        for slot in range(slots):
            arguments = {
                "kernel": asdict(kernel),
                "costs": [candidates[place].C for place in places],
                "candidates": places,
                "first": first,
                "last": last,
                "slot": slot,
                "slots": slots,
                "alone": slots * len(kernels) == 1,
                "tol": goals.tol,
                "budget": options.budget,
                "of_task": [candidates[place].of_task for place in places],
            }
            nodes.append(
                Node(
                    f"{search_blocks.SOLVE}-{len(nodes):04d}", search_blocks.score_blocks, arguments
                )
            )
            scored.append(places)
    commit = single(
        COMMIT,
        search_blocks.commit_scores,
        stage=name,
        nodes=scored,
        candidates=len(candidates),
        before=above,
    )
    return Stage(name, (Layer(search_blocks.SOLVE, tuple(nodes)), commit), f"early{number}")


def exact_stage(settings: Settings, goals: Goals, chosen: list[int]) -> Stage:
    """Return the stage that solves some candidates on all rows.

    Candidates of the same kernel and epsilon follow each other with ascending C: the n-th of each
    are a layer.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    chosen : list of int
        Numbers of the candidates.
    """
    options = Search(**settings.options)
    candidates = options.candidates(settings.kernel.name)
    chains = chains_of(candidates, chosen)
    folds, layers = range(max(1, options.folds)), []
    nodes: list[tuple[str, int, int]] = []
    for depth in range(max(map(len, chains))):
        layer, made = f"C{depth + 1}", []
        at = [(chain, fold) for chain in chains if depth < len(chain) for fold in folds]
        for chain, fold in at:
            candidate = chain[depth]
            below = None if depth == 0 else _node(f"C{depth}", chain[depth - 1], fold, len(folds))
            one = candidates[candidate]
            arguments = {
                "stage": EXACT,
                "candidate": candidate,
                "kernel": asdict(one.kernel),
                "C": one.C,
                "of_task": one.of_task,
                "fold": fold,
                "before": below,
                "alone": len(at) == 1,
                "tol": goals.tol,
                "budget": options.budget,
            }
            name = _node(layer, candidate, fold, len(folds))
            made.append(Node(name, search_exact.solve_candidate, arguments))
            nodes.append((name, candidate, fold))
        layers.append(Layer(layer, tuple(made)))
    commit = single(
        COMMIT, search_exact.commit_candidates, stage=EXACT, nodes=nodes, of=len(candidates)
    )
    return Stage(EXACT, (*layers, commit), EXACT)


def _node(layer: str, candidate: int, fold: int, folds: int) -> str:
    return f"{layer}-{candidate * folds + fold:05d}"


def by_kernel(candidates: list[Candidate], places: list[int]) -> dict[Kernel, list[int]]:
    """Return some candidates by their kernel, in the order of all."""
    found: dict[Kernel, list[int]] = {}
    for place in sorted(places):
        found.setdefault(candidates[place].kernel, []).append(place)
    return found


def chains_of(candidates: list[Candidate], places: list[int]) -> list[list[int]]:
    """Return some candidates that follow each other: of a kernel and a task, C ascending."""
    found: dict[tuple[Kernel, float | None, float | None], list[int]] = {}
    for place in sorted(places):
        one = candidates[place]
        found.setdefault((one.kernel, one.epsilon, one.nu), []).append(place)
    return list(found.values())


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take, about."""
    settings, shape = sizes.settings, sizes.shape
    options = Search(**settings.options)
    candidates = options.candidates(settings.kernel.name)
    kernels, folds = len(options.kernels(settings.kernel.name)), max(1, options.folds)
    arranged, split = before(settings, shape, options)
    n, clusters = sizes.n, max(1, *settings.clusters) if settings.clusters else 1
    stages = [merging_plan(sizes)]
    if settings.clusters:
        stages = [
            of_loads(
                arranged,
                sizes.arranging(),
                sizes.arranging_loads(),
                passing_bytes=sizes.shuffled_bytes(),
                remedy=REMEDY,
            )
        ]
    # Folds; or held-out rows with their classes and weights, block after block.
    written = 8.0 * shape.n_rows + options.held_out * (sizes.row + 16)
    stages.append(StagePlan(split, sizes.fixed(64 * shape.n_rows), 0.0, written, remedy=None))
    block, every = n / clusters, list(range(len(candidates)))
    # Each C costs about as many kernel values again in steps.
    beside = block + (weighted_sample.MOST if settings.clusters else 0)
    values = kernels * n * beside + 0.5 * len(candidates) * folds * n * beside
    early = early_stage(settings, goals, shape, (1, 0, clusters), every, None)
    ranked = clusters == 1 or options.exact < len(candidates)
    if ranked:
        usual, most = (
            _of_block(sizes, side) for side in (min(2 * block, n), _largest_block(sizes, clusters))
        )
        values += kernels * options.held_out * block
        written = 40.0 * len(candidates) * folds
        stages.append(StagePlan(early, Need(usual, most), values, written, remedy=REMEDY))
    if clusters > 1 and options.exact:
        chosen = every[: options.exact]
        exact = exact_stage(settings, goals, chosen)
        work = WORK * len(chosen) * folds * n * sizes.support
        written = 16.0 * n * _coefficients(sizes) * folds * len(chosen)
        # Of a kernel the candidates follow each other.
        loads = tuple(
            Load(layer.name, kernel_values=work * len(layer.nodes) / (len(chosen) * folds))
            for layer in exact.layers[:-1]
        )
        planned = StagePlan(exact, _of_whole(sizes), work, written, remedy=REMEDY, loads=loads)
        stages.append(planned)
    return stages


def _of_block(sizes: Forecast, side: float) -> int:
    """Return the bytes of a task that scores candidates by a block of so many rows."""
    options = Search(**sizes.settings.options)
    if sizes.settings.clusters:  # with those that stand for other blocks
        side += min(weighted_sample.MOST, side // 2)
    # A block's matrix, what a fold trains on and what the solver copies of that.
    matrices = COPIES * (8 if side <= SMALL else 4) * side**2
    vectors = 0.0
    if sizes.settings.clusters:  # how far a kernel reaches is seen on a sample of all variables
        matrices = max(matrices, 8 * min(weighted_sample.SAMPLE, sizes.n) ** 2)
        vectors = VECTORS * VECTOR * sizes.n
    trained = len(options.C) * max(1, len(options.epsilon)) * max(1, len(options.nu))
    coefficients = 8 * trained * _coefficients(sizes) * side
    machines = len(machines_of(_classes(sizes), sizes.settings.multiclass))
    width = search_blocks.values_of_row(side, len(options.C), machines)
    many = part_rows(width)
    if options.held_out:
        many = min(many, options.held_out)
    rows = 2 * side + many + weighted_sample.SAMPLE
    return int(matrices + vectors + coefficients + 8 * many * width + rows * sizes.row)


def _of_whole(sizes: Forecast) -> Need:
    """Return the need of solving a candidate as a whole."""
    n, height = sizes.n, _coefficients(sizes)
    width = search_exact.values_of_row(len(machines_of(_classes(sizes), sizes.settings.multiclass)))
    # Alpha and gradient of each SVM, where it starts and as they are written; coefficients.
    beside = 8 * (height - 1) * (5 * n + sizes.support)
    beside += part_rows(width) * (8 * width + sizes.row)
    return sizes.fixed(sizes.working_set().most + 2 * sizes.shape.n_bytes + beside)


def _classes(sizes: Forecast) -> int:
    return max(2, len(sizes.shape.class_rows))


def _coefficients(sizes: Forecast) -> int:
    """Return how many dual coefficients a row has."""
    return coefficient_rows(_classes(sizes), sizes.settings.multiclass)


def _largest_block(sizes: Forecast, clusters: int) -> float:
    """Return the rows of the largest block."""
    if clusters == 1:
        return float(sizes.n)
    return float(min(sizes.n, largest_block(sizes.settings, sizes.n, clusters)))


def _describe_split(record: Record) -> str:
    if record["folds"]:
        return f"{record['variables']} rows in {record['folds']} folds"
    return f"{record['held_out']} rows held out"


def _describe_exact(record: Record) -> str:
    return _describe_candidates(record, "exact")


def _describe_early(record: Record) -> str:
    return _describe_candidates(record, "exact" if record["whole"] else "by blocks")


def _describe_candidates(record: Record, solved: str) -> str:
    unsolved = f"; {record['unsolved']} not solved" if record["unsolved"] else ""
    count = counted(record["candidates"], "candidate")
    return f"{count} {solved}, best {main_score(record, SEARCH_SCORES)}{unsolved}"


STAGES = (
    StageKind(SPLIT, _describe_split),
    StageKind(EARLY, _describe_early),
    StageKind(EXACT, _describe_exact),
)
