"""Every task against scikit-learn: random problems, and rows of real sets, in memory and by runs.

    python -m benchmarks.proofs [--quick] [--tasks svc,squared_svc,nu_svc,svr,squared_svr,nu_svr,
                                quantile,one_class] [--problems 200] [--first 0] [--seconds N]
                                [--ways memory,run] [--sets mv,ijcnn1 [--rows 5000]]

A problem is drawn by its seed (`benchmarks.drawn`) and solved at tolerance 1e-6 (of regression
times the targets' standard deviation) by our estimator, by a run with levels of 8 and 2 clusters
and small caps, and by scikit-learn in float64. Squared losses have C on the diagonal of a
precomputed kernel there; a quantile is a one-class SVM whose kernel holds the targets besides. All
solutions are judged alike, in float64 by a dense kernel matrix (`benchmarks.duals`): dual
objective, duality gap, feasibility.

A line for each task and way has the worst of the problems: by how much our objective lies above
scikit-learn's, over its size; the difference of predictions of training and other rows over their
standard deviation, and of the biases where they are unique; and how many exceed 1e-6 and 1e-4.
Where scikit-learn has stopped early, or its objective or its duality gap is the worse one by more
than that, the problem counts as its: then our duality gap is at most half of its. What else
exceeds is solved again by all at a hundredth of the tolerance, at which predictions that the gap
left open agree, and only then counts as ours. Decisions of a nu-SVC whose classes touch (rho is 0,
by which they are divided) are not compared. Ends with 1 where one of ours exceeds. Writes
``proofs.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import dcsvm_dask.api as dcsvm
from benchmarks.drawn import CLASSES, SETS, Problem, draw, real
from benchmarks.duals import SVM, Judged, kernel_matrix
from benchmarks.runs import compiling_seconds, write
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
)
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.models.decision_values import decide

Figures = dict[str, Any]
Vector = NDArray[np.float64]
TASKS: dict[str, tuple[Any, Any, Figures, Figures]] = {
    "svc": (DCSVC, SVC, {}, {}),
    "squared_svc": (DCSVC, SVC, {"loss": "squared_hinge"}, {"loss": "squared_hinge"}),
    "nu_svc": (DCNuSVC, NuSVC, {}, {"svm_type": "nu"}),
    "svr": (DCSVR, SVR, {}, {"task": "regression"}),
    "squared_svr": (
        DCSVR,
        SVR,
        {"loss": "squared_epsilon_insensitive"},
        {"loss": "squared_epsilon_insensitive", "task": "regression"},
    ),
    "nu_svr": (DCNuSVR, NuSVR, {}, {"svm_type": "nu", "task": "regression"}),
    "quantile": (DCQuantileSVR, OneClassSVM, {}, {"task": "quantile"}),
    "one_class": (DCOneClassSVM, OneClassSVM, {}, {"task": "one-class"}),
}
"""Our estimator, scikit-learn's, what the estimator is given besides, and what the run is."""
WAYS = ("memory", "run")
OBJECTIVE, PREDICTIONS, OUTSIDE, FINER = 1e-6, 1e-4, 1e-7, 0.01
CLUSTERS = (8, 2)
CACHE_MB, MOST_STEPS, UNBOUNDED, QUICK = 500, 300_000, 1e12, 20
FLAT = {True: 0.1, False: 1e-2}
"""Least spread of decision values, and of predictions over that of targets: 1e-4 of it is 1e-5,
ten times the tolerance, or one."""


@dataclass
class Found:
    """A solution: a row of coefficients and a bias for each SVM, and values of all rows.

    Attributes
    ----------
    beta : list of ndarray, shape (n,)
        Of the rows of a weight above 0; of many classes those of both classes of a pair.
    bias : list of float
    values : ndarray, shape (n_all,) or (n_all, n_svms)
        Decision values or predictions of training and test rows.
    solved : bool
        Whether it says that it is solved to the tolerance.
    multiplier : float or None
        epsilon of a nu-SVR, where it is known.
    """

    beta: list[Vector]
    bias: list[float]
    values: Vector
    solved: bool
    multiplier: float | None = None


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help=f"{QUICK} problems of each task")
    options.add_argument("--tasks", default=",".join(TASKS), help=f"of {', '.join(TASKS)}")
    options.add_argument("--problems", type=int, default=200)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--ways", default=",".join(WAYS), help="of memory, run")
    options.add_argument("--seconds", type=float, help="begin no problem of a task after them")
    options.add_argument("--sets", help=f"real ones instead, of {', '.join(SETS)}")
    options.add_argument("--rows", type=int, default=5000, help="of a real set")
    options.add_argument("--out", type=Path, default=Path("proofs.json"))
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    ways = tuple(chosen.ways.split(","))
    print(f"compiling or loading: {compiling_seconds():.1f} s\n", flush=True)
    found: dict[str, list[Figures]] = {}
    wrong = 0
    for task in chosen.tasks.split(","):
        found[task] = []
        begin = time.perf_counter()
        for name, number, problem in problems_of(task, chosen):
            if chosen.seconds and time.perf_counter() - begin > chosen.seconds:
                break
            for way, figures in compare(problem, number, ways):
                if verdict(figures) == "ours" and "failed" not in figures:
                    finer = replace(problem, tol=FINER * problem.tol)
                    figures = {**dict(compare(finer, number, (way,)))[way], "tol": finer.tol}
                found[task].append({"problem": name, "way": way, **problem.about, **figures})
        wrong += report(task, found[task])
    write(chosen.out, {"tol": Problem.tol, "problems": found})
    return int(wrong > 0)


def problems_of(task: str, chosen: Any) -> Iterator[tuple[str, int, Problem]]:
    """Yield the names, numbers and problems of a task."""
    if chosen.sets:
        for number, name in enumerate(chosen.sets.split(",")):
            problem = real(task, name, chosen.rows)
            if problem is not None:
                yield name, number, problem
        return
    count = QUICK if chosen.quick else chosen.problems
    for seed in range(chosen.first, chosen.first + count):
        yield f"seed {seed}", seed, draw(task, seed)


def compare(problem: Problem, seed: int, ways: tuple[str, ...]) -> Iterator[tuple[str, Figures]]:
    """Solve a problem in some ways and by scikit-learn; yield how far they are apart."""
    rows = np.arange(problem.X.shape[0])
    if problem.weight is not None:
        rows = np.flatnonzero(problem.weight > 0)
    svms = svms_of(problem, rows)
    problem = replace(problem, unit=unit_of(problem, rows, svms))
    begin = time.perf_counter()
    try:
        theirs = by_sklearn(problem, rows, svms)
    except ValueError:  # of a nu-SVC whose rho is 0: a solution that is not finite
        none = [np.zeros_like(svm.weight) for svm in svms]
        values = np.full((stacked(problem).shape[0], len(svms)), np.nan)
        theirs = Found(none, [0.0] * len(svms), values, solved=False)
    seconds = time.perf_counter() - begin
    judged = [svm.judge(*one) for svm, *one in zip(svms, theirs.beta, theirs.bias, strict=True)]
    for way in ways:
        if way == "run" and distinct(problem.X[rows]) < CLUSTERS[0]:
            continue
        begin = time.perf_counter()
        try:
            mine = (in_memory if way == "memory" else by_run)(problem, seed, rows)
        except (InputError, RunError) as error:
            touch = "no margin" in str(error) and any(map(touches, svms, judged))
            word = "touching" if touch else "failed"
            yield way, {word: f"{type(error).__name__}: {error}"}
            continue
        figures = apart(svms, mine, theirs, judged, problem)
        figures["seconds"] = time.perf_counter() - begin
        yield way, {**figures, "sklearn_seconds": seconds}


def touches(svm: SVM, judged: Judged) -> bool:
    """Whether the (reduced) classes of a nu-SVC touch, as far as scikit-learn can tell."""
    return svm.task == "nu_svc" and not judged.multiplier > svm.flat


def unit_of(problem: Problem, rows: NDArray[np.int64], svms: list[SVM]) -> float:
    """Return what tolerances are relative to: of nu-SVC and the one-class SVM the least rho.

    Of rows whose kernel values are all 0 that is 0, too, and any unit does.
    """
    if problem.task not in ("nu_svc", "one_class"):
        return problem.unit
    least = [svm.flat or problem.unit for svm in svms]
    try:
        found = by_sklearn(problem, rows, svms)
    except ValueError:
        return min(least)
    pairs = zip(svms, found.beta, found.bias, least, strict=True)
    return min(max(svm.judge(beta, bias).multiplier, low) for svm, beta, bias, low in pairs)


def apart(
    svms: list[SVM], mine: Found, theirs: Found, judged: list[Judged], problem: Problem
) -> Figures:
    """Return how far two solutions of a problem are apart, by the worst of its SVMs."""
    worst: Figures = {"objective": 0.0, "gap": 0.0, "sklearn_gap": 0.0, "outside": 0.0}
    worst |= {"bias": 0.0, "predictions": 0.0}
    our_columns, columns = (one.values.reshape(len(one.values), -1) for one in (mine, theirs))
    for number, (svm, other) in enumerate(zip(svms, judged, strict=True)):
        own = svm.judge(mine.beta[number], mine.bias[number])
        size = max(abs(own.objective), svm.least)
        column, values = our_columns[:, number], columns[:, number]
        flat = FLAT[problem.task in CLASSES] * (problem.unit if problem.task != "nu_svc" else 1.0)
        spread = max(float(values.std()), flat)
        shift = mine.bias[number] - theirs.bias[number]
        unique = svm.is_free(theirs.beta[number]) and svm.is_free(mine.beta[number])
        found = {
            "objective": (own.objective - other.objective) / size,
            "gap": own.gap / size,
            "sklearn_gap": other.gap / size,
            "outside": own.outside,
        }
        if not touches(svm, other):
            far = np.abs(column - values - (0.0 if unique else shift))
            found["bias"] = abs(shift) / spread if unique else 0.0
            found["predictions"] = float(far.max()) / spread
        if mine.multiplier is not None and unique:
            found["epsilon"] = abs(mine.multiplier - other.multiplier) / spread
        for name, value in found.items():  # max would pass a NaN over
            value = np.inf if np.isnan(value) else value
            worst[name] = max(worst.get(name, -np.inf), value)
    failed = not np.isfinite(columns).all()
    return {
        **worst,
        "solved": mine.solved,
        "sklearn_solved": theirs.solved,
        "sklearn_failed": failed,
    }


def verdict(figures: Figures) -> str:
    """Return "agrees", "sklearn" where scikit-learn is the one that is off, or "ours"."""
    if "touching" in figures:
        return "sklearn"
    if "failed" in figures or not figures["solved"] or figures["outside"] > OUTSIDE:
        return "ours"
    if figures["sklearn_failed"]:
        return "sklearn" if figures["gap"] <= OBJECTIVE else "ours"
    near = figures["objective"] <= OBJECTIVE
    if near and max(figures["predictions"], figures["bias"]) <= PREDICTIONS:
        return "agrees"
    better = figures["gap"] <= 0.5 * figures["sklearn_gap"]
    return "sklearn" if near and better else "ours"


def report(task: str, found: list[Figures]) -> int:
    """Print what was found of a task; return how many of ours exceed."""
    wrong = 0
    for way in WAYS:
        mine = [one for one in found if one["way"] == way]
        if not mine:
            continue
        said = [verdict(one) for one in mine]
        good = [one for one, word in zip(mine, said, strict=True) if word == "agrees"]
        print(
            f"{task:<12} {way:<7} {len(mine):4} problems, agree {said.count('agrees'):4}, "
            f"scikit-learn is off {said.count('sklearn'):3}, ours {said.count('ours'):3};"
            + "".join(f"  {name} {worst(good, name):.1e}" for name in NAMES)
            + f"  {sum(one.get('seconds', 0.0) for one in mine):.0f} s",
            flush=True,
        )
        for one, word in zip(mine, said, strict=True):
            if word == "ours":
                print("    " + ", ".join(f"{k} {shown(v)}" for k, v in one.items()), flush=True)
        wrong += said.count("ours")
    return wrong


NAMES = ("objective", "gap", "predictions", "bias", "outside")


def worst(found: list[Figures], name: str) -> float:
    return max((one[name] for one in found), default=0.0)


def shown(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)


# What scikit-learn, our estimators and our runs make of a problem.


def distinct(X: Any) -> int:
    """Return the number of distinct rows."""
    return len(np.unique(X.toarray() if sparse.issparse(X) else X, axis=0))


def svms_of(problem: Problem, rows: NDArray[np.int64]) -> list[SVM]:
    """Return the dual problems of a problem: one, or one for each pair of classes."""
    K = kernel_matrix(problem.X[rows], problem.X[rows], problem.kernel)
    weight = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    weight, y = weight * problem.words.get("C", 1.0), problem.y[rows]
    if problem.task not in CLASSES:
        y = y if problem.task != "one_class" else np.ones(len(rows))
        return [SVM(problem.task, K, y, weight, problem.words)]
    count = int(y.max()) + 1
    if count == 2:
        return [SVM(problem.task, K, np.where(y == 1, 1.0, -1.0), weight, problem.words)]
    found = []
    for first, other in combinations(range(count), 2):
        own = np.flatnonzero((y == first) | (y == other))
        signs = np.where(y[own] == first, 1.0, -1.0)
        found.append(SVM(problem.task, K[np.ix_(own, own)], signs, weight[own], problem.words))
    return found


def by_sklearn(problem: Problem, rows: NDArray[np.int64], svms: list[SVM]) -> Found:
    """Solve by scikit-learn, on the rows of a weight above 0."""
    kind, task = TASKS[problem.task][1], problem.task
    X, Z = problem.X[rows], stacked(problem)
    weight = np.ones(len(rows)) if problem.weight is None else problem.weight[rows]
    y = problem.y[rows]
    how: Figures = {
        "tol": problem.tol * problem.unit,
        "cache_size": CACHE_MB,
        "max_iter": MOST_STEPS,
    }
    how |= {k: v for k, v in problem.words.items() if k in ("C", "epsilon", "nu")}
    if task in ("svc", "nu_svc"):
        how["decision_function_shape"] = "ovo"
    if not task.startswith("squared") and task != "quantile":
        made = kind(**problem.kernel, **how)
        X = X.astype(np.float64)
        made.fit(X, y, sample_weight=weight)
        values = made.predict(Z) if "svr" in task else made.decision_function(Z)
        beta, bias = coefficients(made, len(rows), y if task in CLASSES else None)
        return Found(beta, bias, values, made.fit_status_ == 0)
    to_all = kernel_matrix(Z, X, problem.kernel)
    parts = [precomputed(svm, kind, how, problem) for svm in svms]
    pairs = pairs_of(y) if len(svms) > 1 else [np.arange(len(rows))]
    values = np.column_stack(
        [to_all[:, own] @ one[0] + one[1] for own, one in zip(pairs, parts, strict=True)]
    )
    return Found(
        [one[0] for one in parts], [one[1] for one in parts], values, all(one[2] for one in parts)
    )


def precomputed(svm: SVM, kind: Any, how: Figures, problem: Problem) -> tuple[Vector, float, bool]:
    """Solve an SVM that scikit-learn has not, as one that it has, by its kernel matrix."""
    n, spread = len(svm.target), problem.unit
    beta = np.zeros(n)
    if svm.task != "quantile":
        K = svm.K + np.diag(0.5 / svm.weight)
        made = kind(kernel="precomputed", **{**how, "C": UNBOUNDED}).fit(K, svm.target)
        beta[made.support_] = made.dual_coef_[0]
        return beta, float(made.intercept_[0]), made.fit_status_ == 0
    # min 0.5 a'Ka + p'a over 0 <= a <= C, sum(a) = S, is that of K + (p 1' + 1 p') / S.
    tau, middle = svm.words["quantile"], float(np.mean(svm.target))
    C = svm.weight / spread
    start = C * (tau - 1.0)
    p = svm.K @ start - (svm.target - middle) / spread
    total = (1.0 - tau) * float(C.sum())
    K = svm.K + (p[:, None] + p) / total
    how = {**how, "nu": 1.0 - tau, "tol": problem.tol}
    how.pop("C")
    made = kind(kernel="precomputed", **how).fit(K, sample_weight=C)
    a = np.zeros(n)
    a[made.support_] = made.dual_coef_[0]
    beta = (a + start) * spread
    # Its rho is that of gradients with a multiple of the targets' term besides.
    more = float(p @ a) / total
    return beta, (float(made.intercept_[0]) + more) * spread + middle, made.fit_status_ == 0


def in_memory(problem: Problem, seed: int, rows: NDArray[np.int64]) -> Found:
    """Solve by our estimator in memory, on all rows."""
    kind, _, own, _ = TASKS[problem.task]
    how = {**own, **problem.words, **problem.kernel, "tol": problem.tol * problem.unit}
    if problem.task in CLASSES:
        how["decision_function_shape"] = "ovo"
    made = kind(**how, random_state=seed, cache_size=CACHE_MB)
    target = {} if problem.task == "one_class" else {"y": problem.y}
    made.fit(problem.X, **target, sample_weight=problem.weight)
    return fitted(made, problem, rows)


def fitted(made: Any, problem: Problem, rows: NDArray[np.int64]) -> Found:
    """Return what an estimator of ours has found."""
    Z = stacked(problem, np.float32)
    regression = problem.task in ("svr", "squared_svr", "nu_svr", "quantile")
    values = made.predict(Z) if regression else made.decision_function(Z)
    y = problem.y if problem.task in CLASSES else None
    beta, bias = coefficients(made, problem.X.shape[0], y, rows)
    return Found(beta, bias, values, made.fit_status_ == 0, getattr(made, "epsilon_", None))


def by_run(problem: Problem, seed: int, rows: NDArray[np.int64]) -> Found:
    """Solve by a run with levels, in this process."""
    kind, _, _, own = TASKS[problem.task]
    rng = np.random.default_rng([seed, 1])
    words = {
        **own,
        **problem.words,
        **problem.kernel,
        "tol": problem.tol * problem.unit,
        "seed": seed,
    }
    if own.get("svm_type") != "nu" and problem.task != "one_class":
        words["fit_intercept"] = True
    words |= {"clusters": CLUSTERS, "block_cap": int(rng.choice([64, 128, 512]))}
    words |= {"set_cap": int(rng.choice([64, 200, 768])), "n_samples_clustering": 200}
    with tempfile.TemporaryDirectory(prefix="proofs-") as folder:
        target = np.zeros(len(problem.y)) if problem.task == "one_class" else problem.y
        task = {"task": own.get("task", "classification"), "weights": problem.weight}
        data = dcsvm.ingest((problem.X, target), Path(folder) / "data.zarr", **task)
        place = Path(folder) / "run"
        here = dcsvm.Execution(workers=0)
        how = {"execution": here, "quiet": True, "report": False}
        run = dcsvm.train(data.url, place, **how, **words)
        if problem.task in ("svc", "squared_svc"):
            made = kind.from_run(place).set_params(decision_function_shape="ovo")
            return fitted_of_run(made, problem, rows)
        choice = choose_model(run.folder)
        node = run.folder.node(choice.stage, "commit")
        alpha, record = node.read("alpha")[0], node.record
        Z = stacked(problem, np.float32)
        classes = problem.task in CLASSES
        model = load_model(run.folder, choice.stage)
        if problem.task == "one_class":  # whose predictions are signs
            values = decide(model, Z, "exact").ravel()
        else:
            values = run.decision_function(Z) if classes else run.predict(Z)
        beta = np.where(problem.y[rows] == 1, alpha, -alpha) if classes else alpha
        bias, converged = float(model.bias[0, 0]), bool(run.status()["converged"])
        return Found([beta], [bias], values, converged, record.get("multiplier"))


def fitted_of_run(made: Any, problem: Problem, rows: NDArray[np.int64]) -> Found:
    """Return what a run has found that an estimator was read from."""
    Z = stacked(problem, np.float32)
    y = problem.y[rows]
    beta, bias = coefficients(made, len(rows), y)
    return Found(beta, bias, made.decision_function(Z), made.fit_status_ == 0)


def stacked(problem: Problem, dtype: Any = np.float64) -> Any:
    """Return training and test rows."""
    both = (problem.X, problem.X_test)
    if sparse.issparse(problem.X):
        return sparse.vstack(both, format="csr").astype(dtype)
    return np.concatenate(both).astype(dtype)


def coefficients(
    made: Any, n: int, y: NDArray[Any] | None, rows: NDArray[np.int64] | None = None
) -> tuple[list[Vector], list[float]]:
    """Return the coefficients of each SVM of a fitted estimator, as SVC arranges them."""
    dual = made.dual_coef_
    dual = dual.toarray() if sparse.issparse(dual) else np.asarray(dual)
    coef = np.zeros((len(dual), n))
    coef[:, made.support_] = dual
    bias = np.ravel(made.intercept_)
    if rows is not None:
        coef, y = coef[:, rows], None if y is None else y[rows]
    if len(coef) == 1:
        return [coef[0]], [float(bias[0])]
    assert y is not None
    beta = []
    for (first, other), own in zip(combinations(range(len(coef) + 1), 2), pairs_of(y), strict=True):
        beta.append(np.where(y[own] == first, coef[other - 1, own], coef[first, own]))
    return beta, [float(one) for one in bias]


def pairs_of(y: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return the rows of each pair of classes."""
    pairs = combinations(range(int(y.max()) + 1), 2)
    return [np.flatnonzero((y == first) | (y == other)) for first, other in pairs]


if __name__ == "__main__":
    sys.exit(main())
