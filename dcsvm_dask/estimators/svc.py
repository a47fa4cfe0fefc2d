"""The exact kernel machine as a scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.deciding import COARSE, decided
from dcsvm_dask.estimators.exact import Exact, of_machines, of_run
from dcsvm_dask.estimators.runs import reached, trained
from dcsvm_dask.estimators.variables import Variables, variables_of
from dcsvm_dask.kernels import Rows
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.pairs import PairsModel, confidences, winners
from dcsvm_dask.pipeline.training import LEAST_ROWS_FOR_LEVELS
from dcsvm_dask.solvers import SolvedMachine, machines_of, solve_machines
from dcsvm_dask.steps.problem import settings_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.predictions import label_array
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]

SHAPES = ("ovr", "ovo")
# A solver holds so many float32 matrices of its working set's rows.
MATRICES = 1.57
LEAST_SET = 256


class DCSVC(ClassifierMixin, BaseEstimator):
    """C-support vector classification, exact to a tolerance, for two classes and many.

    `sklearn.svm.SVC`'s problem, parameters and attributes: one machine for each pair of classes,
    which vote. Machines are solved side by side on all cores, from what a random subset foresees
    and by working sets of thousands of rows; equal rows are one variable, so that neither the
    order of rows nor repeats change the answer. Two classes of 12,288 distinct rows and more are
    solved by divide and conquer, as a run (see `dcsvm_dask.train`), and so is whatever has a
    `run`, a `client`, `stop_at`, a `time_budget` or `callbacks`. Rows are held in float32.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        "scale": 1 / (n_features X.var()); "auto": 1 / n_features.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset. Without one it is the problem of the DC-SVM paper.
    tol : float, default 1e-3
        Violation of the optimality conditions to stop at, as LIBSVM's ``-e``.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (n_classes n_c) for a class of n_c rows.
    max_iter : int, default -1
        Most steps of two variables for each machine; -1: no limit.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        Whether `decision_function` has a column for each class or for each pair of them.
    break_ties : bool, default False
        Of classes with equally many votes take the one of the largest decision value, not the
        first; for "ovr" and more than two classes.
    cache_size : float, default 1000.0
        MB for the kernel matrices of working sets, of all threads together.
    stop_at : int, default 0
        The level of DC-SVM's tree whose early model is taken, of two classes; 0: the exact model.
    time_budget : float, optional
        Seconds after which the lowest level that is solved is the model.
    run : str or path, optional
        A folder for the run, which is kept: `fit` goes on with what is there, `from_run` reads it.
        Its data lie beside it, as ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    callbacks : sequence of dcsvm_dask.Callback, optional
        Who is told of a run's progress.
    random_state : int, RandomState or None, default None
        Of random subsets, which shape the way to the answer only. None is 0.
    n_jobs : int or None, default -1
        Threads; -1: as many as BLAS may use, one for each core unless the environment says
        otherwise. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    class_weight_ : ndarray, shape (n_classes,)
        The factors of C.
    support_ : ndarray, shape (n_SV,), int32
        Rows that are support vectors, class after class.
    support_vectors_ : ndarray or CSR, shape (n_SV, n_features), float32
    n_support_ : ndarray, shape (n_classes,), int32
        Support vectors of each class.
    dual_coef_ : ndarray or CSR, shape (n_classes - 1, n_SV)
        y_i alpha_i, arranged as in SVC.
    intercept_ : ndarray, shape (n_machines,)
        Offsets of decision values.
    coef_ : ndarray or CSR, shape (n_machines, n_features)
        Weights of features; for the linear kernel only.
    n_iter_ : ndarray, shape (n_machines,), int32
        Steps of two variables.
    objective_ : ndarray, shape (n_machines,)
        Dual objectives 0.5 a'Qa - e'a.
    violation_ : ndarray, shape (n_machines,)
        How far each machine is from optimal, by a gradient summed from scratch.
    level_ : int
        The level whose early model decides; 0: the exact one does. Of an early model there are
        `support_vectors_`, but no coefficients.
    early_model_ : Model or None
    fit_status_ : int
        0 if all machines are solved to `tol`, else 1.
    shape_fit_ : tuple of two ints
        Shape of X.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Where X has names that are strings.

    References
    ----------
    C.-C. Chang, C.-J. Lin. LIBSVM: a library for support vector machines. ACM TIST 2, 2011.
    C.-J. Hsieh, S. Si, I. S. Dhillon. A divide-and-conquer solver for kernel support vector
    machines. ICML 2014.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        cache_size: float = 1000.0,
        stop_at: int = 0,
        time_budget: float | None = None,
        run: Any = None,
        client: Any = None,
        callbacks: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.cache_size = cache_size
        self.stop_at = stop_at
        self.time_budget = time_budget
        self.run = run
        self.client = client
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the machines.

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
            If a machine is not solved to `tol` within `max_iter` steps.
        """
        self._check_words()
        X, codes = checking.training_rows(self, X, y)
        kernel = checking.kernel_of(self, X)
        C = checking.bounds(self, X, codes, sample_weight)
        self._kernel, self.shape_fit_ = kernel, X.shape
        variables = variables_of(X, codes, C, kernel)
        if self._divides(len(variables.rows), weighted=sample_weight is not None):
            self._fit_by_run(X, codes)
        else:
            found = of_machines(
                self._machines(X, codes, variables), variables, codes, len(self.classes_)
            )
            self._learn(found, codes, lambda rows: X[rows])
        if not self.level_:
            checking.warn_unsolved((self.violation_ <= self.tol).tolist(), self.tol)
        return self

    def _divides(self, n: int, *, weighted: bool) -> bool:
        """Whether a run is to train: one was asked for, or n variables are many for one task."""
        wishes = ("run", "client", "stop_at", "time_budget", "callbacks")
        asked = [name for name in wishes if getattr(self, name)]
        bounded = self.max_iter != -1
        if asked and (weighted or bounded):
            what = "sample_weight" if weighted else "max_iter"
            raise InputError(
                f"{what} is not possible with {asked[0]}: a run has weights of classes and a "
                "time_budget. Leave one of them out."
            )
        many = n >= LEAST_ROWS_FOR_LEVELS and len(self.classes_) == 2
        return bool(asked) or (many and not weighted and not bounded)

    def _machines(
        self, X: Rows, codes: NDArray[np.int32], variables: Variables
    ) -> list[SolvedMachine]:
        """Solve all pairs in this process."""
        threads = checking.threads_of(self.n_jobs)
        machines = machines_of(len(self.classes_))
        with threadpool_limits(1):
            return solve_machines(
                self._kernel,
                X[variables.rows],
                codes[variables.rows],
                variables.C,
                machines,
                equality=bool(self.fit_intercept),
                tol=checking.tolerance(self.tol),
                working_size=self._working_size(min(threads, len(machines))),
                max_iter=checking.most_steps(self.max_iter, -1),
                seed=checking.seed_of(self.random_state),
                threads=threads,
            )

    def _fit_by_run(self, X: Rows, codes: NDArray[np.int32]) -> None:
        """Train as a run, by divide and conquer, to the exact model or an early one."""
        kernel = self._kernel
        words = {
            "kernel": kernel.name,
            "gamma": kernel.gamma,
            "degree": kernel.degree,
            "coef0": kernel.coef0,
            "C": float(self.C),
            "fit_intercept": bool(self.fit_intercept),
            "class_weight": dict(enumerate(self.class_weight_.tolist())),
            "tol": checking.tolerance(self.tol),
            "seed": checking.seed_of(self.random_state),
            "stop_at": self.stop_at,
        }
        how = {name: getattr(self, name) for name in ("client", "time_budget", "callbacks")}
        with (
            checking.threads_for_tasks(self.n_jobs),
            trained(self.run, X, codes, self.classes_, words, **how) as run,
        ):
            self._learn_run(run.folder, codes, lambda rows: X[rows])

    def _learn_run(
        self, run: RunFolder, codes: NDArray[np.int32], take: Callable[[Index], Rows]
    ) -> None:
        """Take over what a run has reached."""
        choice, _, model = reached(run)
        self.level_, self.early_model_ = choice.level, None
        if not choice.level:
            self._learn(of_run(run, codes, self.tol), codes, take)
            return
        assert isinstance(model, Model)
        self.early_model_, self.support_vectors_ = model, model.support
        self.fit_status_ = 0

    @classmethod
    def from_run(cls, run: Any) -> Self:
        """Return the estimator that a run has trained, fitted.

        Parameters
        ----------
        run : str or path
            Its folder, of `fit` or of `dcsvm_dask.train` (method dcsvm).

        Returns
        -------
        DCSVC
            It takes rows scaled as those of the run's data set are; `dcsvm_dask.Run.scale` does it.

        Raises
        ------
        InputError
            If there is no such run, it has no model yet, or is of another method.
        """
        folder = RunFolder.open(Location.of(run))
        settings = settings_of(folder)
        if settings.method != "dcsvm":
            raise InputError(f"run: {folder.place} is one of method {settings.method}, not dcsvm.")
        data = DataSet.open(folder.header["data"]["url"])
        labels = label_array(data.classes)
        goals = folder.header["goals"]
        made = cls(
            C=settings.C,
            kernel=settings.kernel.name,
            degree=settings.kernel.degree,
            gamma=settings.kernel.gamma,
            coef0=settings.kernel.coef0,
            fit_intercept=settings.fit_intercept,
            tol=goals["tol"],
            class_weight=dict(zip(labels.tolist(), settings.class_weight, strict=False)) or None,
            random_state=settings.seed,
            run=folder.place.url,
            stop_at=goals["stop_at"],
        )
        made.classes_, made._kernel = labels, settings.kernel
        made.class_weight_ = np.array(settings.class_weight or np.ones(len(labels)))
        made.n_features_in_, made.shape_fit_ = data.n_features, (data.n_rows, data.n_features)
        made._learn_run(folder, data.read_codes(0, data.n_rows), data.rows.take)
        return made

    def _check_words(self) -> None:
        shape = self.decision_function_shape
        if shape not in SHAPES:
            raise InputError(
                f"decision_function_shape is {shape!r:.80}; give one of {', '.join(SHAPES)}."
            )
        if self.break_ties and shape == "ovo":
            raise InputError('break_ties needs decision_function_shape="ovr".')
        if not (checking.is_real(self.cache_size) and self.cache_size > 0):
            raise InputError(f"cache_size is {self.cache_size!r:.80}; give MB, above 0.")

    def _working_size(self, side_by_side: int) -> int:
        each = self.cache_size * 1e6 / side_by_side
        return max(LEAST_SET, math.isqrt(int(each / (4 * MATRICES))))

    def _learn(self, found: Exact, codes: NDArray[np.int32], take: Callable[[Index], Rows]) -> None:
        """Set the attributes that are learned of the exact machines."""
        n_classes = len(self.classes_)
        support = np.flatnonzero(found.coef.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self.early_model_, self.level_ = None, 0
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = take(support)
        self.n_support_ = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
        # Of two classes the second is the positive one.
        sign = -1.0 if n_classes == 2 else 1.0
        dual: Any = sign * found.coef[:, support]
        self.dual_coef_ = sparse.csr_array(dual) if sparse.issparse(self.support_vectors_) else dual
        self.intercept_ = sign * found.bias
        self.n_iter_ = np.clip(found.n_iter, 1, checking.MOST_SEED).astype(np.int32)
        self.objective_, self.violation_ = found.objective, found.violation
        self.fit_status_ = int(not all(found.solved))

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (n_machines, n_features); for the linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        found = sign * self._model().weights()
        return sparse.csr_array(found) if sparse.issparse(self.support_vectors_) else found

    def _model(self) -> PairsModel:
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        dual: Any = self.dual_coef_
        dual = dual.toarray() if sparse.issparse(dual) else dual
        return PairsModel(
            self._kernel,
            self.support_vectors_,
            sign * dual,
            self.n_support_.astype(np.int64),
            sign * self.intercept_,
        )

    def _sum(self) -> Model:
        """Return the only machine of two classes; far pairs of rows cost it nothing."""
        dual: Any = self.dual_coef_
        dual = dual.toarray() if sparse.issparse(dual) else dual
        ends = np.array([0, dual.shape[1]], dtype=np.int64)
        support = self.support_vectors_.copy()
        model = Model(self._kernel, support, dual[0].copy(), ends, self.intercept_)
        model.compact()
        return model

    def _pair_values(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of all pairs; above 0 means the first class."""
        check_is_fitted(self)
        rows = checking.rows_to_decide(self, X, self.support_vectors_)
        threads = checking.threads_of(self.n_jobs)
        if self.early_model_ is not None:
            return -decided(self.early_model_, rows, "early", threads)[:, None]
        few = rows.shape[0] * len(self.support_) <= checking.FEW_VALUES
        if len(self.classes_) == 2 and not few:
            return -decided(self._sum(), rows, "exact", threads)[:, None]
        model = self._model()
        dtype: Any = np.float64 if few or model.rounding(rows) > COARSE else np.float32
        with threadpool_limits(1):
            return model.decide(rows, dtype=dtype, threads=threads)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return decision values.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, float64
            Of two classes of shape (n,), above 0 for ``classes_[1]``. Of more of shape
            (n, n_classes) for "ovr": votes and, within less than half a vote, decision values; of
            shape (n, n_classes (n_classes - 1) / 2) for "ovo".
        """
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return -values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return confidences(values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
        """
        values = self._pair_values(X)
        n_classes = len(self.classes_)
        if self.break_ties and n_classes > 2:
            found = np.argmax(confidences(values, n_classes), axis=1)
        else:
            found = winners(values, n_classes)
        return np.asarray(self.classes_[found])
