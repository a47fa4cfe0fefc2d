"""The exact kernel SVM as a scikit-learn classifier."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Self

from numpy.typing import ArrayLike

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, costs, given_rows, in_memory, warned
from dcsvm_dask.estimators.exact import of_machines
from dcsvm_dask.estimators.fit_lines import FitLines
from dcsvm_dask.estimators.fit_tasks import FitTasks, WithCallbacks, sets_up_callbacks
from dcsvm_dask.estimators.linear_parameters import verbosity
from dcsvm_dask.estimators.probability import (
    DEPRECATED,
    WithProbabilities,
    calibrated,
    refuse_run,
)
from dcsvm_dask.estimators.run_parameters import given_run_parameters, trains_run
from dcsvm_dask.estimators.variables import solved_variables
from dcsvm_dask.estimators.voting import Voting
from dcsvm_dask.estimators.warm import LastFit, gathered
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.estimators.with_run import WithRun
from dcsvm_dask.pipeline.parameters import check_value
from dcsvm_dask.solvers import machines_of
from dcsvm_dask.tasks import Classification

SHAPES = ("ovr", "ovo")
LOSSES = {"hinge": False, "squared_hinge": True}
"""The losses, and whether they are squares."""
MOST_CACHE = 1e12
"""MB; more is a mistake."""


class DCSVC(WithRun, WithCallbacks, WithProbabilities, Voting):
    """C-support vector classification, exact to a tolerance, for two classes and many.

    `sklearn.svm.SVC`'s problem, parameters and attributes: one SVM for each pair of classes,
    which vote (or one for each class, see `multiclass`). SVMs are trained in parallel on all
    cores, by working sets of thousands of rows that begin with predicted support vectors; equal
    rows are one variable, so that neither the order of rows nor repeats change the solution. Two
    classes of 65,536 distinct rows and more are solved by divide and conquer, as a run (see
    `dcsvm_dask.train`), and so is whatever has a `run`, a `client`, `stop_at`, a `time_budget` or
    `callbacks`. Rows are held in float32.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0; ``np.inf`` allows none. Rows that cannot be separated then have
        no solution, which is warned of after the larger of 10 million steps and 100 for each row.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        Loss of a row, C max(0, 1 - y f) or C times its square, as LinearSVC has them. With the
        square coefficients have no bound, and more rows are support vectors.
    kernel : str or callable, default "rbf"
        Name of one of `dcsvm_dask.kernels.KERNELS`, as "linear" or "poly"; "precomputed": X holds
        kernel values, shape (n, n) in `fit` and (n, n of `fit`) after it; or a function that
        returns them, given two sets of rows. The last two train in memory.
    degree : int, default 3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        "scale": 1 / (n_features X.var()); "auto": 1 / n_features.
    coef0 : float, default 0.0
        Constant term of the kernels that have one, such as "poly".
    fit_intercept : bool, default True
        Whether decision values have an offset. Without one it is the problem of the DC-SVM paper.
    tol : float, default 1e-3
        Violation of the optimality conditions to stop at, as LIBSVM's ``-e``.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (n_classes n_c) for a class of n_c rows. In memory a class of
        factor 0 is left out.
    max_iter : int, default -1
        Most steps of two variables for each SVM, in memory and not as a run; -1: no limit.
    multiclass : {"ovo", "ovr"}, default "ovo"
        Scheme for more than two classes: one SVM for each pair of them, which vote, as SVC has it;
        or one for each class against the rest, whose largest decision value wins, as in
        `sklearn.multiclass.OneVsRestClassifier`.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        Whether `decision_function` has a column for each class or for each pair of them.
    break_ties : bool, default False
        Whether the largest decision value decides between classes with equally many votes; else
        the first of them wins. For "ovr" and more than two classes.
    inner : {"auto", "smo", "newton", "interior-point", "projected-gradient"}, default "auto"
        Solver of working sets, which all lead to the same solution, within `tol`. "auto" begins
        with SMO and lets an interior point method go on where that needs many steps.
    cache_size : float, default 1000.0
        MB for the kernel matrices of working sets, of all threads together. Their size shapes the
        solutions, within `tol`.
    shrinking : bool, default True
        Accepted as by SVC, without effect: solvers leave variables out where that is faster, and
        look at all of them before they end.
    probability : bool, optional
        Whether there are `predict_proba` and `predict_log_proba`, by sigmoids of decision values
        that five more fits provide, as SVC has them. Deprecated as there: put the estimator into
        `sklearn.calibration.CalibratedClassifierCV`.
    verbose : int or bool, default False
        Whether progress is printed, at most a line a second.
    warm_start : bool, default False
        Whether `fit` begins at the last solution where it is given the same rows and labels, as
        after C was raised, and then in memory; with other rows it begins anew.
    stop_at : int, default 0
        The level of DC-SVM's tree whose early model is taken; 0: the exact model.
    time_budget : float, optional
        Seconds, above 0, after which the lowest level that is solved is the model.
    run : str or path, optional
        A folder for the run, which is kept: `fit` goes on with what is there, `from_run` reads it.
        Its data lie beside it, as ``RUN.data.zarr``.
    client : distributed.Client, optional
        Client of the Dask cluster that trains; by default this process does. Pickles leave it out.
    callbacks : sequence of dcsvm_dask.Callback, optional
        Called with the progress of a run; see `dcsvm_dask.Callback`.
    random_state : int, RandomState or None, default None
        Seed of random subsets, which shape the way to the solution only. None is 0.
    n_jobs : int or None, default -1
        Threads; -1: as many as BLAS may use, one for each core unless the environment says
        otherwise. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        The class labels.
    class_weight_ : ndarray, shape (n_classes,)
        The factors of C.
    support_ : ndarray, shape (n_SV,), int32
        Rows that are support vectors, class after class.
    support_vectors_ : ndarray or CSR, shape (n_SV, n_features), float32
        Where kernel values are given an empty array.
    n_support_ : ndarray, shape (n_classes,), int32
        Support vectors of each class.
    dual_coef_ : ndarray or CSR, shape (n_classes - 1, n_SV)
        y_i alpha_i, arranged as in SVC. With ``multiclass="ovr"`` a row for each class.
    intercept_ : ndarray, shape (n_machines,)
        Offsets of decision values.
    coef_ : ndarray or CSR, shape (n_machines, n_features)
        Weights of features; for the linear kernel only.
    n_iter_ : ndarray, shape (n_machines,), int32
        Steps of two variables; 1 of a run of one SVM, whose blocks do not count them.
    objective_ : ndarray, shape (n_machines,)
        Dual objectives 0.5 a'Qa - e'a, of the squared loss plus sum a_i^2 / (4 C_i).
    violation_ : ndarray, shape (n_machines,)
        How far each SVM is from optimal, by a gradient summed from scratch.
    level_ : int
        The level whose early model decides; 0: the exact one does. Of an early model there are
        `support_vectors_`, but no coefficients.
    early_model_ : Model or None
        The model of the level; None of the exact model.
    probA_, probB_ : ndarray, shape (n_machines,)
        Parameters of the sigmoids; deprecated with `probability`.
    fit_status_ : int
        0 if all SVMs are solved to `tol`, else 1.
    shape_fit_ : tuple of two ints
        Shape of X.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray, shape (n_features,)
        Where X has names that are strings.

    References
    ----------
    C.-C. Chang, C.-J. Lin. LIBSVM: a library for support vector machines. ACM TIST 2, 2011.
    C.-J. Hsieh, S. Si, I. S. Dhillon. A divide-and-conquer solver for kernel support vector
    machines. ICML 2014.
    """

    task_name = Classification.name

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = -1,
        multiclass: str = "ovo",
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
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.multiclass = multiclass
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
            Rows. NumPy, SciPy, pandas, polars, Dask and Zarr; held in memory, in float32.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), optional
            Factors of C. Rows of a weight of 0 or less do not take part.

        Returns
        -------
        DCSVC
            Itself.

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.

        Warns
        -----
        ConvergenceWarning
            If an SVM is not solved to `tol` within `max_iter` steps.
        """
        self._fit(X, y, sample_weight)
        if not self.level_:
            solved = (self.violation_ <= self.tol).tolist()
            warned.warn_unsolved(solved, self.tol, self.max_iter, C=self.C)
        return self

    @whole_or_as_before
    @sets_up_callbacks
    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        self._check_words()
        probability = self._check_probability()
        refuse_run(probability and bool(given_run_parameters(self)))
        last = LastFit.of(self)
        given = X
        X, codes = given_rows.training_rows(self, X, y)
        self._scheme = self._scheme_of(len(self.classes_))
        start = None if last is None else last.alpha(X, codes, self.classes_, self._scheme)
        kernel = checking.kernel_of(self, X)
        C = costs.bounds(self, X, codes, sample_weight, infinite=True)
        stored, variables = solved_variables(kernel, X, codes, C)
        n_classes = len(self.classes_)
        # SVMs of many classes are solved side by side, and known solutions in few steps.
        by_size = n_classes == 2 and start is None and not probability
        divided = trains_run(self, len(variables.rows), by_size=by_size)
        count = None if divided else len(machines_of(n_classes, self._scheme))
        about = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = FitTasks(self, given, y, count, about)
        if divided:
            self._runs().fit(self, kernel, X, codes, costs.weights_of(X, sample_weight), tasks)
        else:
            alpha = None if start is None else gathered(start, variables)
            lines = FitLines(verbosity(self.verbose), len(machines_of(n_classes, self._scheme)))
            machines = in_memory.solved(self, kernel, stored, codes, variables, alpha, tasks, lines)
            bounded = not self._task().squared
            found = of_machines(machines, variables, codes, n_classes, bounded=bounded)
            self._learn(found, codes, X.__getitem__)
            warned.warn_isolated(self, kernel, X)
            warned.warn_fallbacks(self.inner, [one.solution for one in machines])
        self._calibration = None
        if probability:
            self._calibration = calibrated(
                self,
                kernel,
                X,
                codes,
                variables,
                lambda part: in_memory.solved(self, kernel, X, codes, part, None, None),
            )
        self._kernel, self.shape_fit_ = kernel, X.shape
        tasks.done()

    @staticmethod
    def _runs() -> ModuleType:
        from dcsvm_dask.estimators import svc_runs

        return svc_runs

    def _task(self) -> Classification:
        return Classification(checking.is_squared(self.loss, LOSSES))

    def _check_words(self) -> None:
        shape: Any = self.decision_function_shape
        if not (isinstance(shape, str) and shape in SHAPES):
            raise InputError(
                f"decision_function_shape is {shape!r:.80}; give one of {', '.join(SHAPES)}."
            )
        self._task()
        check_value("multiclass", self.multiclass)
        checking.inner_solver(self.inner)
        if self.multiclass == "ovr" and shape == "ovo":
            raise InputError(
                'decision_function_shape="ovo" needs multiclass="ovo": else there are no pairs.'
            )
        checking.check_flags(self, "fit_intercept", "break_ties", "warm_start", "shrinking")
        verbosity(self.verbose)
        checking.most_steps(self.max_iter, -1)
        if not (checking.is_real(self.cache_size) and 0 < self.cache_size <= MOST_CACHE):
            raise InputError(f"cache_size is {self.cache_size!r:.80}; give MB, above 0.")
