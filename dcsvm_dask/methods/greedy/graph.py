"""The graph and plan of SpSVM: a basis that grows in rounds, weights by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

from dcsvm_dask.checks import check
from dcsvm_dask.kernels import KERNELS
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import (
    COMMIT,
    Graph,
    Keep,
    Layer,
    Outcome,
    Stage,
    Stages,
    many,
    single,
)
from dcsvm_dask.methods.greedy import basis as steps
from dcsvm_dask.methods.greedy import weights as greedy_weights
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan
from dcsvm_dask.methods.stages import merge_stage, scored
from dcsvm_dask.parameters import parameter
from dcsvm_dask.solvers.greedy.candidates import STOCK
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.tasks import Task, squared_loss

GROW, FIT = "grow", "fit"
MODEL = StageId.about("model", "greedy")
# Basis vectors of the first round, at most; each round after it has twice as many.
FIRST = 128
# Newton decrement relative to the objective that ends a round, and the last one; steps of each.
NEAR, EXACT, MOST_STEPS = 1e-3, 1e-9, 50
# Kernel columns of a task, and values of a tile of rows.
PART_BYTES, TILE_VALUES = 64 << 20, 1 << 21


@dataclass(frozen=True)
class Greedy(Options):
    """The basis, and how it is chosen."""

    losses = ("squared_hinge", "squared_epsilon_insensitive")

    basis: int = parameter(500, "basis vectors, at most", least=1)
    pool: int = parameter(59, "candidates at a time, drawn at random", least=1)
    least: float = parameter(
        1e-4, "least share of the objective that a basis vector must gain", least=0
    )

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return True

    def check_kernel(self, name: str) -> None:
        """Refuse a kernel that is not positive semi-definite."""
        check(KERNELS[name].can_be_psd, "kernel", name, "positive semi-definite here")

    def check_task(self, task: Task) -> None:
        """Refuse a loss that Newton's method cannot minimise."""
        squared_loss(task)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the basis grows, and how rows are shared."""

    sizes: tuple[int, ...]
    """Basis vectors after each round."""
    parts: int
    """Shares of the rows."""
    tile: int
    """Rows that a share works on at a time."""

    @classmethod
    def of(cls, settings: Settings, shape: Shape) -> Layout:
        """Return the layout of a run."""
        n = shape.n_variables
        sizes = [min(Greedy(**settings.options).basis, n)]
        while sizes[0] > FIRST:
            sizes.insert(0, math.ceil(sizes[0] / 2))
        # A share's sums are of the square of the basis: it has several times as many rows.
        rows = max(PART_BYTES // (4 * sizes[-1]), 8 * sizes[-1])
        tile = min(max(TILE_VALUES // sizes[-1], 512), 8192)
        return cls(tuple(sizes), math.ceil(n / rows), tile)


def greedy(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield rounds until the basis is large enough, or no candidate gains enough.

    The weights of a round are the warm start of the next one.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    del goals
    layout = Layout.of(settings, shape)
    before, rounds = [merge_stage()], list[str]()
    stage: str | None = None
    optimal = False
    for number, size in enumerate(layout.sizes):
        grown = grow_stage(settings, layout, number, stage, rounds)
        record = (yield [*before, grown])[grown.name]
        before, rounds = [], [*rounds, grown.name]
        last = record["ended"] or size == layout.sizes[-1]
        precision = EXACT if last else NEAR
        stage, optimal = yield from fit(layout, grown.name, record, rounds, precision)
        if last:
            break
    assert stage is not None
    yield scored(model_stage(stage, optimal), shape)
    return Outcome(MODEL, optimal)


def fit(
    layout: Layout, stage: str, record: Record, rounds: list[str], precision: float
) -> Generator[Graph, dict[str, Record], tuple[str, bool]]:
    """Yield Newton steps over all rows until the weights are optimal.

    Parameters
    ----------
    layout : Layout
    stage : str
        The stage with the weights and the first step.
    record : dict
        Its record.
    rounds : list of str
        The stages that have added basis vectors.
    precision : float
        Newton decrement relative to the objective at which weights are optimal.

    Returns
    -------
    stage : str
        The stage of the last step.
    is_optimal : bool
    """
    number = len(rounds) - 1
    for step in range(MOST_STEPS):
        if is_optimal(record, precision):
            return stage, True
        after = fit_stage(layout, number, step, stage, rounds)
        record = (yield [after])[after.name]
        stage = after.name
    return stage, is_optimal(record, precision)


def is_optimal(record: Record, precision: float) -> bool:
    """Return whether a commit says that the weights are optimal."""
    decrement = record["decrement"]
    return decrement is not None and decrement <= precision * record["objective"]


def grow_stage(
    settings: Settings, layout: Layout, number: int, previous: str | None, rounds: list[str]
) -> Stage:
    """Return the stage in which the basis grows.

    Parameters
    ----------
    previous : str or None
        Where the round before ended.
    rounds : list of str
        The rounds before.
    """
    name, options = StageId.numbered(GROW, number, digits=2), Greedy(**settings.options)
    choose = single(
        "choose",
        steps.choose_basis,
        keep=Keep.STAGE,
        previous=previous,
        number=number,
        size=layout.sizes[number],
        pool=options.pool,
        least=options.least,
    )
    columns = many(
        steps.COLUMNS,
        steps.make_columns,
        layout.parts,
        "part",
        keep=Keep.RUN,
        stage=name,
        parts=layout.parts,
        tile=layout.tile,
    )
    evaluate = evaluation(layout, name, [name, "choose"], previous, [*rounds, name])
    return Stage(name, (choose, columns, *evaluate), GROW, supersedes=previous)


def fit_stage(layout: Layout, number: int, step: int, previous: str, rounds: list[str]) -> Stage:
    """Return the stage of one Newton step over all rows.

    Parameters
    ----------
    layout : Layout
    number, step : int
        Numbers of the round and of the step.
    previous : str
        The stage of the step before.
    rounds : list of str
        The stages that have added basis vectors.
    """
    name = f"fit-{number:02d}-{step:02d}"
    layers = evaluation(layout, name, [previous, COMMIT], previous, rounds)
    return Stage(name, layers, FIT, supersedes=previous)


def evaluation(
    layout: Layout, stage: str, source: list[str], previous: str | None, rounds: list[str]
) -> tuple[Layer, ...]:
    """Return the layers that evaluate a step: sums over shares of the rows, and the next step.

    Parameters
    ----------
    layout : Layout
    stage : str
        The stage of the layers.
    source : list of str
        Stage and node of the weights with their step.
    previous : str or None
        The stage of the step before.
    rounds : list of str
        The stages that have added basis vectors.
    """
    sums = many(
        greedy_weights.SUMS,
        greedy_weights.sum_share,
        layout.parts,
        "part",
        source=source,
        previous=previous,
        rounds=rounds,
        parts=layout.parts,
        tile=layout.tile,
    )
    commit = single(
        COMMIT,
        greedy_weights.take_step,
        stage=stage,
        source=source,
        previous=previous,
        parts=layout.parts,
    )
    return sums, commit


def model_stage(source: str, solved: bool) -> Stage:
    """Return the stage that writes the model."""
    layers = (single(COMMIT, steps.commit_greedy, source=source, solved=solved),)
    return Stage(MODEL, layers, "greedy", supersedes=source)


# Steps that are typical of a round and of the last one, after that to the sample's weights; where
# the sample is all rows there is hardly any.
STEPS, LAST_STEPS = 2, 7
# Seconds of a core in a choice, for each row: the score of a candidate, and a basis vector.
SCORE_SECONDS, SEARCH_SECONDS = 1e-9, 1e-7
# Seconds of a core for each row: a product of two columns; a value of a column in float64, beside
# what a kernel value takes otherwise; and a value of a column in every Newton step.
PRODUCT_SECONDS, EXACT_SECONDS, COLUMN_SECONDS = 5e-11, 9e-9, 5e-9


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take."""
    del goals
    settings, n = sizes.settings, sizes.n
    layout, pool = Layout.of(settings, sizes.shape), Greedy(**settings.options).pool
    sample = min(n, steps.SAMPLE_ROWS)
    few, many = (0, 1) if sample == n else (STEPS, LAST_STEPS)
    remedy, plans = "lower -P basis", [merging_plan(sizes)]
    before, rounds, known = None, list[str](), 0
    for number, size in enumerate(layout.sizes):
        grown, new = grow_stage(settings, layout, number, before, rounds), size - known
        rounds = [*rounds, grown.name]
        matrices = 48.0 * size**2 + 10.0 * n
        choosing = sample * (4.0 * (size + pool + STOCK + 1) + 3.0 * sizes.row + 150.0)
        choosing += 16.0 * STOCK * min(sample, steps.CHUNK_ROWS)  # columns while they are made
        summing = layout.tile * 24.0 * size + 32.0 * size**2
        making = layout.tile * (16.0 * new + 2.0 * sizes.row) + new * sizes.row
        need = largest(*map(sizes.fixed, (choosing + matrices, summing, making)))
        candidates = pool + 0.5 * pool * new
        passing = n * size * COLUMN_SECONDS
        busy = sample * new * (pool * SCORE_SECONDS + SEARCH_SECONDS)
        busy += (n + sample) * new * size * PRODUCT_SECONDS + n * new * EXACT_SECONDS
        values = float(n) * new + sample * (candidates + known)
        written = 4.0 * n * new + 8.0 * layout.parts * size**2
        busy += passing
        plans.append(StagePlan(grown, need, values, written, core_seconds=busy, remedy=remedy))
        before = grown.name
        for step in range(many if size == layout.sizes[-1] else few):
            stepped = fit_stage(layout, number, step, before, rounds)
            before = stepped.name
            held, summed = sizes.fixed(max(matrices, summing)), 8.0 * layout.parts * size**2
            plans.append(StagePlan(stepped, held, 0.0, summed, core_seconds=passing, remedy=remedy))
        known = size
    assert before is not None
    model = sizes.fixed(2.0 * known * sizes.row)
    plans.append(StagePlan(model_stage(before, True), model, 0.0, known * (sizes.row + 8.0)))
    return plans


def _describe_basis(record: Record) -> str:
    left = record["decrement"]
    known = "" if left is None else f", Newton decrement {left:.2g}"
    return f"basis {record['support']}, objective {record['objective']:.6g}{known}"


METHOD = Method(
    "greedy",
    "SpSVM (Keerthi, Chapelle, DeCoste 2006): a greedy choice of basis vectors, squared losses",
    greedy,
    plan_stages,
    Greedy,
    tuple(StageKind(name, _describe_basis, measures=True) for name in (GROW, FIT)),
    tasks=("classification", "regression"),
)
