"""Cascade SVM: a tree of random shares whose support vectors go up, and back (Graf et al. 2005)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dcsvm_dask.checks import check
from dcsvm_dask.methods.bagging.graph import Bagging, bag_of, plan_bag, votes_of
from dcsvm_dask.methods.cascade import nodes as steps
from dcsvm_dask.methods.conquer import check as checking
from dcsvm_dask.methods.conquer.graph import Reached, finish_with
from dcsvm_dask.methods.forecast import Forecast, largest
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import COMMIT, Keep, Layer, Node, Stage, Stages, many, single
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.options import Options
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import row_parts
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.methods.stage_plan import StagePlan, merging_plan, of_loads
from dcsvm_dask.methods.stages import merge_stage
from dcsvm_dask.methods.stall import Stall
from dcsvm_dask.models.model import VOTES
from dcsvm_dask.parameters import parameter
from dcsvm_dask.solvers.working_sets import INNER_FLOOR
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import CHECK, PASS, StageId
from dcsvm_dask.tasks import ONE_CLASS, SUPERVISED, Task

# Passes before a cascade gives up; each lowers the objective, and few are needed.
MOST_PASSES = 100
# Passes of a typical cascade; kernel values of a node, in squares of its rows, where they are too
# many for a matrix.
PASSES, ABOVE_CAP = 4, 2.0


@dataclass(frozen=True)
class Cascade(Options):
    """The tree, and how often it is passed."""

    leaves: int = parameter(8, "random shares of the rows; a power of the arity", least=1)
    arity: int = parameter(2, "nodes whose support vectors one node above them takes", least=2)
    passes: int = parameter(
        0, "passes of the tree; 0: until no row violates", least=0, most=MOST_PASSES
    )
    decide: str = parameter(
        "top", "the SVM at the top; or the leaves as a bag", choices=("top", *VOTES)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        power = f"a power of the arity {self.arity}, from 1 to 4096"
        check(self.leaves <= 4096, "leaves", self.leaves, power)
        check(self.arity**self.depth == self.leaves, "leaves", self.leaves, power)
        if self.decide != "top":
            check(self.passes == 0, "passes", self.passes, "0 where the leaves decide")
            check(self.leaves > 1, "leaves", self.leaves, "at least 2 where the leaves decide")

    def check_task(self, task: Task) -> None:
        """Refuse votes that only classes have, for a task without classes."""
        votes = ("top", *(VOTES if task.has_classes else votes_of(task)))
        check(self.decide in votes, "decide", self.decide, f"{' or '.join(votes)} for {task.name}")

    @property
    def depth(self) -> int:
        """Layers above the leaves."""
        return round(math.log(self.leaves, self.arity))

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to."""
        return self.passes > 0 or self.decide != "top"

    @property
    def bottom(self) -> Bagging:
        """The leaves of the first pass: SVMs of random shares, which may decide together."""
        return Bagging(members=self.leaves, vote=self.decide)

    @property
    def least_rows(self) -> int:
        """Distinct rows that there have to be."""
        return self.leaves


def cascade(settings: Settings, goals: Goals, shape: Shape) -> Stages:
    """Yield passes until no row violates, or as many as were asked for.

    After each pass f of all rows is computed from scratch. Leaves would take in the violators, so
    that a pass after one without violators changes nothing: this is the stopping rule of the proof,
    up to the tolerance. Passes also end where rounding lets none improve. A single pass is not
    checked.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    """
    options = Cascade(**settings.options)
    if options.decide != "top":
        return (yield from bag_of(options.bottom, goals, shape))
    before = [merge_stage()]
    if options.passes == 1:
        stage = pass_stage(settings, goals, 0, None)
        yield [*before, stage]
        return (yield from finish_with(Reached(stage.name, {}, False), shape))
    previous: str | None = None
    record: Record = {}
    stall = Stall()
    for number in range(options.passes or MOST_PASSES):
        stage = pass_stage(settings, goals, number, previous)
        checked = check_stage(settings, goals, shape, number)
        record = (yield [*before, stage, checked])[checked.name]
        before, previous = [], checked.name
        stall.see(record)
        # If the run went further before its tolerance was raised, this point is gone.
        if (record["violation"] <= goals.tol or stall.is_over) and not record["released"]:
            break
    converged = bool(record["violation"] <= goals.tol and record["tol"] <= goals.tol)
    message = "" if converged else stall.message(goals.tol)
    reached = Reached(StageId.numbered(CHECK, number), record, converged, message)
    return (yield from finish_with(reached, shape))


def pass_stage(settings: Settings, goals: Goals, number: int, previous: str | None) -> Stage:
    """Return the stage of one pass up the tree.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    number : int
        Number of the pass.
    previous : str or None
        The stage that has checked the pass before.
    """
    options, name = Cascade(**settings.options), StageId.numbered(PASS, number)
    tol = INNER_FLOOR * goals.tol
    leaves = many(
        "leaf",
        steps.solve_leaf,
        options.leaves,
        "leaf",
        leaves=options.leaves,
        previous=previous,
        tol=tol,
    )
    layers: list[Layer] = [leaves]
    for height in range(1, options.depth + 1):
        below = [node.name for node in layers[-1].nodes]
        nodes = tuple(
            Node(
                f"join{height}-{i:04d}",
                steps.join_nodes,
                {
                    "stage": name,
                    "children": below[i * options.arity : (i + 1) * options.arity],
                    "apart": previous is None,
                    "tol": tol,
                },
            )
            for i in range(len(below) // options.arity)
        )
        layers.append(Layer(f"join{height}", nodes, Keep.STAGE))
    commit = single(
        COMMIT,
        steps.commit_pass,
        stage=name,
        top=layers[-1].nodes[0].name,
        layers=[layer.name for layer in layers],
        nodes=[len(layer.nodes) for layer in layers],
    )
    return Stage(name, (*layers, commit), "cascade", supersedes=previous)


def check_stage(settings: Settings, goals: Goals, shape: Shape, number: int) -> Stage:
    """Return the stage that computes f of all rows from the solution of a pass.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    number : int
        Number of the pass.
    """
    name, source = StageId.numbered(CHECK, number), StageId.numbered(PASS, number)
    parts = row_parts(shape.n_variables, settings.chunk_rows)
    layers = (
        many(
            "recompute",
            checking.product_of_point,
            parts,
            "part",
            scope=None,
            source=source,
            node=COMMIT,
            parts=parts,
            tol=goals.tol,
            local=True,
        ),
        single(
            COMMIT,
            steps.check_pass,
            stage=name,
            source=source,
            layer="recompute",
            parts=parts,
            number=number,
        ),
    )
    return Stage(name, layers, "cascade_check", supersedes=source)


def plan_stages(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Return the stages with what they take; the passes after the first stand for one."""
    settings, options = sizes.settings, Cascade(**sizes.settings.options)
    if options.decide != "top":
        return plan_bag(sizes, goals, options.bottom)
    n, support = sizes.n, sizes.support
    leaf, top = n / options.leaves, min(float(n), 1.5 * support)
    need = largest(sizes.solving(leaf, leaf + support), sizes.solving(top, n))

    def loads(stage: Stage, each: list[float]) -> tuple[Load, ...]:
        """Return the work of nodes of so many rows each, by layer from the leaves up."""
        solving = (
            Load(layer.name, kernel_values=len(layer.nodes) * rows**2 * above)
            for layer, rows in zip(stage.layers, each, strict=False)
            for above in (1.0 if rows <= settings.block_cap else ABOVE_CAP,)
        )
        return (*solving, Load(COMMIT, written_bytes=8.0 * n))

    # Of all rows at the leaves, layer by layer fewer go up.
    up = [
        (n + (top - n) * height / max(1, options.depth)) / options.arity ** (options.depth - height)
        for height in range(options.depth + 1)
    ]
    stage, times = pass_stage(settings, goals, 0, None), options.passes or PASSES
    plans = [merging_plan(sizes), of_loads(stage, need, loads(stage, up))]
    if times > 1:
        # Every leaf takes the support vectors of the last top, and keeps most of them.
        again = [leaf + support, *[top] * options.depth]
        stage = pass_stage(settings, goals, 1, "check-000")
        plans.append(of_loads(stage, need, loads(stage, again), times=times - 1))
    if options.passes != 1:
        checked = check_stage(settings, goals, sizes.shape, 0)
        scratch = sizes.near_share(n) * n * support
        plans.append(
            StagePlan(checked, sizes.checking(n), scratch, sizes.point_bytes(), times=times)
        )
    return plans


def _describe_pass(record: Record) -> str:
    below = ", ".join(map(str, record["support_by_layer"]))
    return f"{record['nodes']} SVMs, support vectors {below} from the leaves up"


METHOD = Method(
    "cascade",
    "Cascade SVM (Graf et al. 2005): support vectors go up a tree of random shares, and back",
    cascade,
    plan_stages,
    Cascade,
    (StageKind(PASS, _describe_pass, measured_by=CHECK), StageKind(CHECK, measures=True)),
    whole_problem=True,
    tasks=(*SUPERVISED, ONE_CLASS),
)
