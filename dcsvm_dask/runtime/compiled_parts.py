"""The parts of the package that a run needs compiled."""

from __future__ import annotations

from dcsvm_dask.kernels.kinds import L1_DISTANCE
from dcsvm_dask.methods.registry import BEGUN, options_of
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.runtime.compilation import ANY_ROWS, parts_of_run, steps_of
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.header import read_header
from dcsvm_dask.storage.run import RunFolder

# Keys of `compilation.PARTS`.
LINEAR_SOLVER = "linear_svm"
SIGNED_LINEAR_SOLVER = "signed"
CUTTING_PLANES = "cutting"


def compiled_for(run: RunFolder, execution: Execution) -> tuple[str, ...]:
    """Return what a run needs compiled: parts, as `warm_up` takes them."""
    settings, _, shape = read_header(run)
    task, (name, options) = settings.make_task(), options_of(run.header["settings"])
    bias, kinks = settings.fit_intercept, task.has_kinks
    if execution.is_local and not execution.n_workers() and BEGUN[name].is_one_set(settings, shape):
        rows = "sparse" if shape.sparse else "matrix"
        is_scored = run.header.get("holdout") is not None and not shape.sparse
        scores = ("prediction",) if is_scored else ()
        return (rows, steps_of(bias=bias, kinks=kinks), *scores)
    own = (*BEGUN[name].compiles, *options.compiles)
    if LINEAR_SOLVER in own and not task.has_classes:
        own = (*own, SIGNED_LINEAR_SOLVER)
    if {LINEAR_SOLVER, SIGNED_LINEAR_SOLVER, CUTTING_PLANES} & {*own}:
        return ("sparse" if shape.sparse else "dense", *own)
    if shape.sparse:
        own = tuple("parallel_sparse" if part == "parallel" else part for part in own)
    if not execution.is_local:  # workers of other hosts are not to compile inside of their tasks
        own = (*ANY_ROWS, *own, *(("on_demand",) if bias else ()))
    l1 = settings.kernel.kind.argument == L1_DISTANCE
    return (*parts_of_run(sparse=shape.sparse, bias=bias, kinks=kinks, l1=l1), *own)


def compiled_for_search(settings: Settings, shape: Shape) -> tuple[str, ...]:
    """Return what trainings in this process need compiled, as a search for parameters begins them.

    Parameters
    ----------
    settings : Settings
        Those of one of the trainings.
    shape : Shape
        That of their data.
    """
    method, kinks = BEGUN[settings.method], settings.make_task().has_kinks
    parts = parts_of_run(sparse=shape.sparse, bias=settings.fit_intercept, kinks=kinks)
    return parts if method.is_one_set(settings, shape) else (*parts, *method.compiles)
