"""The probe: how local the kernel is on the data set, and measurements for the plan.

The measurements of the worker (time of a kernel value, memory) serve the plan alone.
"""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np
import psutil
from numpy.typing import NDArray

from dcsvm_dask.clustering import choose_partition
from dcsvm_dask.kernels import (
    Rows,
    is_sparse,
    kernel_matrix,
    kernel_product,
    solved_rows,
)
from dcsvm_dask.methods.multipliers import sampled_multipliers
from dcsvm_dask.methods.partition import drawn_rows, sample_size
from dcsvm_dask.methods.regime import is_smooth, share_between
from dcsvm_dask.methods.run_data import data_of, data_rows, settings_of
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.random_streams import PROBE, generator
from dcsvm_dask.solvers import (
    bias,
    brought_to_size,
    brought_to_sums,
    machines_of,
    size_multiplier,
    solve_inner,
    solve_machines,
)
from dcsvm_dask.solvers.online.slots import BATCH, OnlineExpansion
from dcsvm_dask.solvers.set_choice import NEAR_MARGIN, reach
from dcsvm_dask.solvers.subsets import SUBSET_TOL
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.rows.read import RowReader
from dcsvm_dask.storage.rows.selected import SelectedRows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Classification, Dual, members_of

TIMED_ROWS = 1024
TIMES = 5
SOLVING = 2.0
"""Time of a kernel value in a solver, with its steps, over that in a product."""
SUBSET_ROWS = 1500
LEARNED_ROWS = 4096
NEAR, BOXES = 1e-8, 4.0
"""Kernel value from which on a pair is near; how much further tiles reach than single rows."""
FLATTER = 0.05
"""Decrease of the power by which the expansion grows, from a sample to all rows."""
NEARLY_ALL = 0.999
"""A share of all rows is written as this one: 1 stands for a share that is not known."""
SLOWING = 0.75
"""Power by which free support vectors grow from a sample to all rows, over that from half of it."""


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    return int(psutil.Process().memory_info().rss)


def time_of_value(settings: Settings, X: Rows) -> float:
    """Return the seconds of a core for a kernel value of a sample's rows in a solver."""
    rows = X[:TIMED_ROWS]
    coef = np.ones(rows.shape[0])
    took = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        kernel_product(settings.kernel, rows, rows, coef)
        took.append(time.perf_counter() - begin)
    return SOLVING * float(np.median(took)) / int(rows.shape[0]) ** 2


def near_share(settings: Settings, X: Rows) -> float:
    """Estimate the share of pairs of rows whose kernel values are computed.

    Pairs of tiles are left out by their bounding boxes, which reach further than their rows: by a
    factor of 2.7 to 4.7 on covtype and on rows of constant density.

    Parameters
    ----------
    settings : Settings
    X : ndarray or CSR, shape (m, d), float32
        The sample.

    Returns
    -------
    float
        In (0, 1]; 1 where no pairs are left out.
    """
    if is_sparse(X) or not settings.kernel.is_shift_invariant:
        return 1.0
    near = np.triu(kernel_matrix(settings.kernel, X[:TIMED_ROWS]) >= NEAR, k=1)
    pairs = max(1, len(near) * (len(near) - 1) // 2)
    return min(1.0, BOXES * (1 + int(near.sum())) / pairs)


def kept_share(settings: Settings, X: Rows, y: NDArray[np.float64], n_variables: int) -> float:
    """Estimate the share of all rows that LaSVM keeps from the growth of its expansion.

    The expansion grows as a power of the number of rows; the power falls slowly.

    Parameters
    ----------
    settings : Settings
    X : ndarray or CSR, shape (m, d), float32
        The sample.
    y : ndarray, shape (m,)
        Labels, -1 or +1.
    n_variables : int
        Number of all rows.

    Returns
    -------
    float
        In [0, 1].
    """
    m = int(X.shape[0])
    C = np.full(m, settings.C)
    some = OnlineExpansion(
        settings.kernel,
        X,
        y,
        C,
        np.zeros(m),
        equality=settings.fit_intercept,
        tol=settings.level_tol,
        cache_bytes=8 * m**2,
    )
    kept = []
    for part in np.array_split(np.arange(m), 2):
        for at in range(0, len(part), BATCH):
            some.learn(part[at : at + BATCH], 1)
        kept.append(max(1, len(some.live)))
    power = math.log2(kept[-1] / kept[0]) - FLATTER
    more = max(n_variables, m) / m
    return float(kept[-1] / m * more ** (min(max(power, 0.4), 1.0) - 1.0))


def expected_working_set(
    settings: Settings, X: Rows, y: NDArray[np.float64], n_variables: int
) -> tuple[float, float]:
    """Estimate by an SVM trained on a sample what the first working set of all rows needs.

    Parameters
    ----------
    settings : Settings
    X : ndarray or CSR, shape (m, d), float32
        The sample: one half trains, the other is decided.
    y : ndarray, shape (m,)
        Targets.
    n_variables : int
        Number of all rows.

    Returns
    -------
    share : float
        Share of all rows in it, in [0, 1].
    free : float
        Number of support vectors below their bound that all rows have in the end; 0: not known.
    """
    m = min(SUBSET_ROWS, X.shape[0] // 2)
    if m < 2:
        return 1.0, 0.0
    members = members_of(settings.make_task())  # of several outputs one stands for all
    task, C = members[len(members) // 2], np.full(len(y), settings.C * n_variables / m)
    dual, start = task.dual(y, C), None
    size = task.size(C[:m])
    if size is not None:
        # Random rows, or one class of many against the rest, may not allow all of nu.
        size = min(size, 2.0 * float(min(dual[:m].upper.sum(), -dual[:m].lower.sum())))
        start = brought_to_size(np.zeros(m), dual[:m], size, dual.p[:m])
    elif task.has_sum:
        start = brought_to_sums(np.zeros(m), dual[:m], [task.total(C[:m])], dual.p[:m])
    K = kernel_matrix(settings.kernel, X[:m])
    solve = partial(
        solve_inner, inner="smo", equality=settings.fit_intercept, tol=SUBSET_TOL * dual.unit
    )
    found = solve(K, dual[:m], beta=start)
    free, half = 0.0, m // 2
    if start is None:
        fewer = task.dual(y[:half], np.full(half, settings.C * n_variables / half))
        before = solve(np.ascontiguousarray(K[:half, :half]), fewer)
        counts = [_free_support(one.beta, of) for one, of in ((before, fewer), (found, dual[:m]))]
        power = SLOWING * min(max(math.log2(counts[1] / counts[0]), 0.0), 1.0)
        free = counts[1] * (n_variables / m) ** power
    offset = 0.0
    if settings.fit_intercept:
        offset = bias(found.gradient, found.beta, dual[:m])
        dual = dual.eased(size_multiplier(found.gradient, found.beta, dual[:m]))
    f, _ = kernel_product(settings.kernel, X[m:], X[:m], found.beta)
    others = dual[m:]
    far = reach((f + offset) + others.p, np.zeros(len(others)), others)
    margin = abs(offset) if task.total(C) else others.margin
    return float(np.mean(far >= -NEAR_MARGIN * margin)), free


def _free_support(beta: NDArray[np.float64], dual: Dual) -> int:
    """Return the number of support vectors below their bound, at least 1."""
    return max(1, int(np.count_nonzero(dual.is_free(beta))))


PROBE_CLUSTERS = 16
# Rows and tolerance of the SVMs by which the share of support vectors is estimated.
CLASS_ROWS, CLASS_TOL = 2000, 0.1


def probe_kernel(
    run: RunFolder, attempt: Attempt, *, learning: bool = False, one_set: bool = False
) -> Record:
    """Estimate the share of the kernel's mass between clusters, small for a local kernel.

    The record also has the measurements of this worker and of these rows for the plan.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    learning : bool, default False
        Whether the method is online: then the record has the share of rows that it will keep
        instead.
    one_set : bool, default False
        Whether working sets solve the rows, however local the kernel is: then the record has what
        the plan needs alone.
    """
    del attempt
    settings, data = settings_of(run), data_of(run)
    return probe_rows(settings, data, data_rows(run), learning=learning, one_set=one_set)


def probe_rows(
    settings: Settings,
    data: Data,
    rows: RowReader | SelectedRows,
    *,
    learning: bool = False,
    one_set: bool = False,
) -> Record:
    """Return the record of a probe of a data set's rows; see `probe_kernel`."""
    process_bytes = resident_bytes()  # before it keeps rows
    if learning:
        return _learning(settings, data, rows, process_bytes)
    if one_set:
        return _of_one_set(settings, data, rows, process_bytes)
    sample = drawn_rows(settings, rows.n_rows, sample_size(settings, PROBE_CLUSTERS))
    X = rows.take(sample)
    _, choice = choose_partition(
        settings.kernel,
        X,
        n_clusters=min(PROBE_CLUSTERS, data.n_distinct),
        n_rows=data.n_distinct,
        cap=data.n_distinct,
        seed=settings.seed,
        more_starts=0,  # a better partition would not change the answer
    )
    between = share_between(choice)
    smooth, share, free = is_smooth(between), 1.0, 0.0
    if smooth:
        share, free = _working_set(settings, data, sample, X)
        sets = share * data.n_distinct / settings.set_cap if settings.clusters else 1.0
        smooth = is_smooth(between, sets)
    of_classes = {}
    if len(data.counts) > 2 and not smooth:
        of_classes["support_share"] = _support_share(settings, data, rows)
    return {
        "probed_between": between,
        "smooth": smooth,
        "set_share": share if smooth else 1.0,
        "free_support": free if smooth else 0.0,
        "near_share": near_share(settings, X),
        **of_classes,
        "levels_given": settings.levels_forced and bool(settings.clusters),
        "value_seconds": time_of_value(settings, solved_rows(settings.kernel, X) if smooth else X),
        "process_bytes": process_bytes,
    }


def _working_set(
    settings: Settings, data: Data, sample: NDArray[np.int64], X: Rows
) -> tuple[float, float]:
    """Return what `expected_working_set` does, by a sample of rows in random order."""
    y = targets_of(settings, data, sample)
    drawn = generator(settings.seed, PROBE).permutation(len(sample))
    return expected_working_set(settings, X[drawn], y[drawn], data.n_distinct)


def _of_one_set(
    settings: Settings, data: Data, rows: RowReader | SelectedRows, process_bytes: int
) -> Record:
    """Return the record of a probe of rows that working sets solve: how large these will be."""
    sample = drawn_rows(settings, rows.n_rows, 2 * SUBSET_ROWS)
    X = rows.take(sample)
    before = resident_bytes()
    share, free = _working_set(settings, data, sample, X)
    # What stays of that is compiled code, which other tasks need as well.
    process_bytes += max(0, resident_bytes() - before)
    return {
        "set_share": min(share, NEARLY_ALL),
        "free_support": free,
        "value_seconds": time_of_value(settings, solved_rows(settings.kernel, X)),
        "process_bytes": process_bytes,
    }


def _support_share(settings: Settings, data: Data, rows: RowReader | SelectedRows) -> float:
    """Return the share of a sample's rows that are support vectors of any of several SVMs."""
    if settings.make_task().has_sum:
        return float(sampled_multipliers(settings, data, rows)["support_share"])
    sample = drawn_rows(settings, rows.n_rows, CLASS_ROWS)
    codes, task = data.take_codes(sample), settings.make_task()
    assert isinstance(task, Classification)
    solved = solve_machines(
        settings.kernel,
        rows.take(sample),
        codes,
        settings.bound_of(codes),
        machines_of(len(data.counts), settings.multiclass),
        equality=settings.fit_intercept,
        tol=CLASS_TOL,
        task=task,
    )
    support = np.zeros(len(sample), dtype=np.bool_)
    for machine in solved:
        support[machine.rows[machine.solution.beta != 0.0]] = True
    return float(support.mean())


def targets_of(settings: Settings, data: Data, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the targets of some rows of a data set."""
    return settings.make_task().targets(data.take_y(rows)).astype(np.float64)


def _learning(
    settings: Settings, data: Data, rows: RowReader | SelectedRows, process_bytes: int
) -> Record:
    """Return the record of a probe for LaSVM: the share of all rows that it will keep."""
    sample = drawn_rows(settings, rows.n_rows, min(LEARNED_ROWS, rows.n_rows))
    sample = generator(settings.seed, PROBE).permutation(sample)
    X = rows.take(sample)
    y = targets_of(settings, data, sample)
    return {
        "probed_rows": len(sample),
        "kept_share": kept_share(settings, X, y, data.n_distinct),
        "value_seconds": time_of_value(settings, X),
        "process_bytes": process_bytes,
    }
