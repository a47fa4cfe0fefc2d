"""nu-SVC as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import combinations
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.checks import check
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, costs, given_rows, warned
from dcsvm_dask.estimators.chain import Chain
from dcsvm_dask.estimators.exact import of_machines
from dcsvm_dask.estimators.expansion import solver_words
from dcsvm_dask.estimators.fit_lines import FitLines
from dcsvm_dask.estimators.fit_tasks import FitTasks, WithCallbacks, sets_up_callbacks
from dcsvm_dask.estimators.in_memory import SHARED
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.linear_parameters import verbosity
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.probability import (
    DEPRECATED,
    Calibration,
    WithProbabilities,
    calibrated,
    refuse_run,
)
from dcsvm_dask.estimators.run_parameters import given_run_parameters, trains_run
from dcsvm_dask.estimators.variables import Variables, solved_variables
from dcsvm_dask.estimators.voting import Voting
from dcsvm_dask.estimators.warm import LastFit, gathered
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.estimators.with_run import WithRun
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.narrow import margins_of
from dcsvm_dask.solvers import (
    Machine,
    NuSolution,
    SolvedMachine,
    largest_machine,
    machines_of,
    solve_nu,
)
from dcsvm_dask.solvers.class_blocks import ClassBlocks
from dcsvm_dask.solvers.machines import at_a_time, for_each_machine, matrix_bytes
from dcsvm_dask.solvers.small_pairs import PAIR_ROWS, solve_small_nu_pairs
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.tasks import NuClassification, check_nu

if TYPE_CHECKING:
    from dcsvm_dask.storage.node import Record

Vector = NDArray[np.float64]


class DCNuSVC(WithRun, WithCallbacks, WithProbabilities, Voting):
    """nu-support vector classification, exact to a tolerance, for two classes and many.

    `sklearn.svm.NuSVC`'s problem, parameters and attributes: `nu` is an upper bound on the share of
    training errors and a lower bound on that of support vectors. More than two classes have an SVM
    for each pair, which vote. It is trained in memory, unless a `run`,
    a `client`, `stop_at`, a `time_budget` or `callbacks` ask for divide and conquer, as a run.

    Parameters
    ----------
    nu : float, default 0.5
        In (0, 1]; at most 2 min(W1, W2) / (W1 + W2) for every two classes of weights W1 and W2.
    kernel, degree, gamma, coef0
        As `DCSVC` has them.
    tol : float, default 1e-3
        Violation to stop at, before the solution is divided by rho; a rho below it is warned of.
    class_weight : dict or "balanced", default None
        Factors of the weights of rows by label, or n / (n_classes n_c) for a class of n_c rows,
        which allows any nu. NuSVC takes this parameter, but its SVMs do not depend on it.
    max_iter, decision_function_shape, break_ties, inner, cache_size, shrinking, probability, \
verbose, warm_start, stop_at, time_budget, run, client, callbacks, random_state, n_jobs
        As `DCSVC` has them.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, \
coef_, n_iter_, level_, early_model_, fit_status_, shape_fit_, n_features_in_
        As `DCSVC` has them.
    rho_ : ndarray, shape (n_machines,)
        Half the margin before the division; not of an early model.
    objective_ : ndarray, shape (n_machines,)
        0.5 b'Kb of the coefficients.
    violation_ : ndarray, shape (n_machines,)

    References
    ----------
    B. Schoelkopf, A. Smola, R. Williamson, P. Bartlett. New support vector algorithms. Neural
    Computation 12, 2000.
    """

    multiclass = "ovo"
    task_name = NuClassification.name

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        inner: str = "auto",
        cache_size: float = 1000.0,
        shrinking: bool = True,
        probability: bool | str = DEPRECATED,
        verbose: int | bool = False,
        warm_start: bool = False,
        stop_at: int = 0,
        time_budget: float | None = None,
        run: Any = None,
        client: Any = None,
        callbacks: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.inner = inner
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.probability = probability
        self.verbose = verbose
        self.warm_start = warm_start
        self.stop_at = stop_at
        self.time_budget = time_budget
        self.run = run
        self.client = client
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the SVMs.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), optional
            Rows of a weight of 0 or less do not take part.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used, as a nu that the classes do not allow.
        """
        self._fit(X, y, sample_weight)
        if not self.level_:
            solved = (self.violation_ <= self.tol).tolist()
            warned.warn_unsolved(solved, self.tol, self.max_iter)
            warned.warn_narrow(self.rho_, self.tol)
        return self

    def _check(self) -> None:
        """Refuse parameters that are not possible, whatever the rows."""
        shapes = self.decision_function_shape in ("ovr", "ovo")
        check(shapes, "decision_function_shape", self.decision_function_shape, "ovr or ovo")
        checking.check_flags(self, "break_ties", "warm_start", "shrinking")
        verbosity(self.verbose)
        check_nu(self.nu)

    @whole_or_as_before
    @sets_up_callbacks
    def _fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, chain: Chain | None = None
    ) -> None:
        self._check()
        probability = self._check_probability()
        refuse_run(probability and bool(given_run_parameters(self)))
        alone, chain = chain is not None, Chain() if chain is None else chain
        how: dict[str, Any] = {**solver_words(self), "tol": checking.tolerance(self.tol)}
        last, rho = LastFit.of(self), getattr(self, "rho_", None)
        given = X
        X, codes = given_rows.training_rows(self, X, y)
        kernel, n_classes = checking.kernel_of(self, X), len(self.classes_)
        weights = costs.weights_of(X, sample_weight)
        costs.weigh_classes(self, codes)
        whole = self.class_weight_[codes] * (1.0 if weights is None else weights)
        self._check_classes(np.asarray(np.bincount(codes, whole, n_classes), np.float64))
        divided = not alone and trains_run(self)
        self._scheme, machines = "ovo", machines_of(n_classes)
        about = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = FitTasks(self, given, y, None if divided else len(machines), about)
        if divided:
            self._runs().fit(self, kernel, X, codes, weights, tasks)
        else:
            stored, variables = solved_variables(kernel, X, codes, whole)
            start = None if last is None else last.alpha(X, codes, self.classes_, "ovo")
            before = None
            if start is not None and rho is not None:
                before = gathered(start, variables), rho
            lines = FitLines(verbosity(self.verbose) and not alone, len(machines))
            smallest = min(len(one.rows(codes[variables.rows])[0]) for one in machines)
            how["callback"] = lines.callback(smallest)

            @contextmanager
            def within(number: int) -> Iterator[None]:
                with tasks.machine(number), lines.machine():
                    yield

            found = self._solved(kernel, stored, codes, variables, before, chain, within, how)
            self.rho_ = np.array([one.multiplier for one, _ in found])
            exact = of_machines(
                _of_pairs(found, machines), variables, codes, n_classes, scales=self.rho_
            )
            self._learn(exact, codes, X.__getitem__)
            if not alone:
                warned.warn_isolated(self, kernel, X)
                warned.warn_fallbacks(self.inner, [one.solution for one, _ in found])
        self._calibration = None
        if probability:
            self._calibration = self._calibrated(kernel, stored, codes, variables, how)
        self._kernel, self.shape_fit_ = kernel, X.shape
        tasks.done()

    def _solved(
        self,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.int32],
        variables: Variables,
        last: tuple[Vector, Vector] | None,
        chain: Chain,
        within: Callable[[int], AbstractContextManager[None]],
        how: dict[str, Any],
        *,
        lower_nu: bool = False,
    ) -> list[tuple[NuSolution, NDArray[np.int64]]]:
        """Return the solution of each SVM in memory, and which of the variables it has.

        Parameters
        ----------
        kernel : Kernel
        X : Rows, shape (n, n_features)
        codes : ndarray, shape (n,), int32
        variables : Variables
        last : tuple of ndarray, or None
            Of the last fit the dual variables, arranged as `dual_coef_`, and rho.
        chain : Chain
        within : callable
            Takes the number of an SVM; returns a context in which it is solved.
        how : dict
            How `solve_nu` solves them.
        lower_nu : bool, default False
            Whether nu is lowered to what two classes allow.
        """
        machines, found = machines_of(len(self.classes_)), dict[int, Any]()
        own, threads = codes[variables.rows], how["threads"]
        largest = largest_machine(np.bincount(own), "ovo")
        each = matrix_bytes(min(largest, how["working_size"])) * (2 if largest <= SMALL else 1)
        most = at_a_time(self.cache_size * 1e6, each, min(threads, len(machines)))
        how = how | {"threads": threads if most == 1 else 1}
        shared: ClassBlocks | None = None
        if not isinstance(X, KnownRows) and not chain.most_rows:
            from_zero = last is None and not chain.before
            with one_thread_each():
                shared, pairs = self._pairs(
                    *(kernel, X[variables.rows], own, variables.C, how, threads),
                    from_zero=from_zero,
                )
            for number, machine in enumerate(machines):
                if machine.pair in pairs:
                    with within(number):
                        mine, solution = pairs[machine.pair]
                        found[number] = solution, mine

        def solve(number: int) -> None:
            pair = machines[number].pair
            if shared is None or pair is None or pair not in shared.pairs:
                solve_by(number, None, *machines[number].rows(own))
            else:
                with shared.pair(*pair) as K:
                    solve_by(number, K, *shared.variables(*pair))

        def solve_by(
            number: int, K: NDArray[np.floating] | None, mine: NDArray[np.int64], y: Vector
        ) -> None:
            Z, before = X[variables.rows[mine]], chain.before.get(number)
            C = variables.C[mine]
            allowed = 2.0 * float(min(C[y > 0].sum(), C[y < 0].sum()) / C.sum())
            task = NuClassification(nu=min(float(self.nu), allowed if lower_nu else 1.0))
            with within(number):
                K = chain.matrix(kernel, Z, how["threads"], number) if K is None else K
                beta = None if before is None else before.beta
                if before is None and last is not None:
                    alpha, rho = last
                    place = machines[number].place(own[mine])
                    beta = y * alpha[place, mine] * rho[number]
                classes = machines[number].names(self.classes_.tolist())
                solved = solve_nu(kernel, Z, y, C, task, beta=beta, K=K, classes=classes, **how)
                found[number] = solved, mine

        left = [number for number in range(len(machines)) if number not in found]
        with one_thread_each():
            for_each_machine(lambda at: solve(left[at]), len(left), largest, threads, most)
        for number, (one, _) in found.items():
            # In the scale of the sums, not of the margin.
            chain.before[number] = replace(one.solution, beta=one.solution.beta * one.multiplier)
        return [found[number] for number in range(len(machines))]

    def _pairs(
        self,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.int32],
        C: Vector,
        how: dict[str, Any],
        threads: int,
        *,
        from_zero: bool,
    ) -> tuple[ClassBlocks | None, dict[tuple[int, int], tuple[NDArray[np.int64], NuSolution]]]:
        """Return what pairs of classes share, and the solutions of those of a few rows.

        Parameters
        ----------
        kernel : Kernel
        X : Rows, shape (n, n_features)
        codes : ndarray, shape (n,), int32
        C : ndarray, shape (n,), float64
        how : dict
            How `solve_nu` solves the others.
        threads : int
        from_zero : bool
            Whether no start is known, without which none of them is solved here.
        """
        pairs = [one.pair for one in machines_of(len(self.classes_)) if one.pair is not None]
        most, solved = SHARED * self.cache_size * 1e6, dict[Any, Any]()
        by_steps = how["inner"] in ("auto", "smo") and how["max_iter"] is None
        if from_zero and by_steps and how.get("callback") is None:
            few: dict[str, Any] = {"tol": how["tol"], "most": max(most, 8.0 * PAIR_ROWS**2)}
            solved = solve_small_nu_pairs(
                *(kernel, X, codes, C, pairs, float(self.nu)), threads=threads, **few
            )
            pairs = [pair for pair in pairs if pair not in solved]
        ordered: dict[str, Any] = {"most_rows": SMALL, "negative_first": True}
        return ClassBlocks.of(kernel, X, codes, pairs, most, **ordered), solved

    def _calibrated(
        self,
        kernel: Kernel,
        X: Rows,
        codes: NDArray[np.int32],
        variables: Variables,
        how: dict[str, Any],
    ) -> Calibration:
        """Return the sigmoids of the SVMs; folds may allow less than nu."""
        machines, own = machines_of(len(self.classes_)), {**how, "callback": None}

        def solve(part: Variables) -> list[SolvedMachine]:
            found = self._solved(kernel, X, codes, part, None, Chain(), _alone, own, lower_nu=True)
            return _of_pairs(found, machines)

        return calibrated(self, kernel, X, codes, variables, solve)

    @staticmethod
    def _runs() -> ModuleType:
        from dcsvm_dask.estimators import svc_runs

        return svc_runs

    def _learn_of_run(self, record: Record | None) -> None:
        if record is not None:
            self.rho_ = np.array(margins_of(record, NuClassification(nu=float(self.nu))))

    def _check_classes(self, weights: Vector) -> None:
        """Refuse a nu that two classes do not allow."""
        for one, other in combinations(zip(self.classes_.tolist(), weights, strict=True), 2):
            (first, weight), (second, beside) = one, other
            if not (weight > 0.0 and beside > 0.0):
                empty = second if weight > 0.0 else first
                raise InputError(f"The class {empty!r} has no row of a weight above 0.")
            most = 2.0 * float(min(weight, beside) / (weight + beside))
            if self.nu > most * (1.0 + 1e-12):
                raise InputError(
                    f"nu must be at most {most:.6g}, which the classes {first!r} and {second!r} "
                    f"allow, got {self.nu:g}"
                )


def _alone(number: int) -> AbstractContextManager[None]:
    """Return a context that does nothing."""
    del number
    return nullcontext()


def _of_pairs(
    found: list[tuple[NuSolution, NDArray[np.int64]]], machines: list[Machine]
) -> list[SolvedMachine]:
    """Return solutions, each with its variables, as those of pairs of classes."""
    return [
        SolvedMachine(machine, mine, one.solution)
        for machine, (one, mine) in zip(machines, found, strict=True)
    ]
