"""Scores of candidates that are fitted to every split, those of a kernel one after another."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.chain import Chain
from dcsvm_dask.estimators.expansion import solver_words
from dcsvm_dask.estimators.known_kernel import PRECOMPUTED
from dcsvm_dask.estimators.search_known import KnownKernels, values_between
from dcsvm_dask.estimators.search_results import Scores
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.machines import at_a_time, matrix_bytes

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def fit_scores(
    base: Any,
    candidates: list[dict[str, Any]],
    X: Rows,
    y: NDArray[Any],
    weight: NDArray[np.float64] | None,
    splits: list[Split],
    scorer: Any,
    *,
    most_rows: int,
    threads: int,
    known: KnownKernels,
) -> Scores:
    """Return the scores of candidates, all of them exact.

    Candidates of the same kernel share its matrix. Each starts from the solution of the one before,
    C going up, or nu going down where there is no C; another epsilon, or nu beside C, begins anew.
    Kernels and splits are shared out among the threads.

    Parameters
    ----------
    base : estimator
        With the parameters that all candidates have.
    candidates : list of dict
    X : ndarray or CSR, shape (n, n_features), float32
    y : ndarray, shape (n,)
    weight : ndarray, shape (n,), or None
    splits : list of (train, test)
        Row numbers.
    scorer : callable
    most_rows : int
        Up to so many training rows there is a kernel matrix, as far as `cache_size` allows.
    threads : int
    known : KnownKernels

    Returns
    -------
    Scores
    """
    # Made anew, not cloned: callbacks see the fit of the best candidate alone.
    base = type(base)(**clone(base).get_params(deep=False))
    models = [clone(base).set_params(**one) for one in candidates]
    for model in models:
        model._check()
    # Values that are known are computed: parts of their matrix are precomputed kernels.
    matrices = [known.get(one) for one in candidates]
    for model, rows in zip(models, matrices, strict=True):
        if rows is not None:
            model.set_params(kernel=PRECOMPUTED)
    chains: dict[tuple[Any, int], list[int]] = {}
    for split, (train, _) in enumerate(splits):
        rows = X[train]
        for number in sorted(range(len(models)), key=lambda one: _place(models[one])):
            kernel = matrices[number]
            if kernel is None:
                kernel = checking.kernel_of(models[number], rows)
            chains.setdefault((kernel, split), []).append(number)
    jobs = [(split, numbers) for (_, split), numbers in chains.items()]
    size = solver_words(base)["working_size"]
    each = matrix_bytes(min(size, max(len(train) for train, _ in splits)))
    side_by_side = at_a_time(base.cache_size * 1e6, each, min(threads, len(jobs)))
    shape = len(models), len(splits)
    scores, seconds, solved = np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.bool_)

    def fit(job: int) -> None:
        split, numbers = jobs[job]
        train, test = splits[split]
        rows, held_out, targets = X[train], X[test], y[train]
        values = matrices[numbers[0]]
        if values is not None:
            rows, held_out = (values_between(values, some, train) for some in (train, test))
        of_rows = None if weight is None else weight[train]
        chain, apart = Chain(min(most_rows, size)), None
        for number in numbers:
            model = clone(models[number]).set_params(n_jobs=max(1, threads // side_by_side))
            if _place(model)[:-1] != apart:
                chain.before.clear()
                apart = _place(model)[:-1]
            begin = time.perf_counter()
            model._fit(rows, targets, of_rows, chain)
            seconds[number, split] = time.perf_counter() - begin
            solved[number, split] = model.fit_status_ == 0
            scores[number, split] = scorer(model, held_out, y[test])

    for_each(fit, range(len(jobs)), side_by_side)
    early = np.zeros(len(models), dtype=np.bool_)
    return Scores(scores, seconds, np.asarray(solved.all(axis=1)), early)


def _place(model: Any) -> tuple[float, ...]:
    """Return where a candidate stands in the order of those with its kernel.

    The last number goes up from one solution to the next. A large nu may be one that the classes do
    not allow, so that the first fit refuses it.
    """
    if not hasattr(model, "C"):
        return (-float(model.nu),)
    return (*(float(getattr(model, name, 0.0)) for name in ("epsilon", "nu")), float(model.C))
