"""Epsilon-SVR as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.task_regressor import TaskRegressor
from dcsvm_dask.tasks import Regression

LOSSES = {"epsilon_insensitive": False, "squared_epsilon_insensitive": True}
"""The losses, and whether they are squares."""


class DCSVR(TaskRegressor):
    """Epsilon-support vector regression, exact to a tolerance.

    `sklearn.svm.SVR`'s problem, parameters and attributes. Rows have one dual variable, not two;
    they are solved by working sets of thousands of rows that begin with predicted support vectors.
    Rows that are equal in x and target are one variable, so that neither the order of rows nor
    repeats change the solution. Targets are centred and scaled inside, with C, `epsilon` and `tol`,
    so that their unit does not matter. Rows are held in float32, targets in float64.

    With a `run`, a `client`, `stop_at`, a `time_budget` or `callbacks` it is trained by divide and
    conquer, as a run (see `dcsvm_dask.train`); else in memory.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0.
    epsilon : float, default 0.1
        Half the width of the tube in which errors cost nothing, 0 or more, in units of y.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
        C max(0, abs(y - f) - epsilon), or C times its square, as LinearSVR has them. With the
        square and ``epsilon=0`` it is kernel ridge regression with alpha = 1 / (2 C).
    kernel : str, default "rbf"
        Name of one of `dcsvm_dask.kernels.KERNELS`, as "linear" or "poly".
    degree : int, default 3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        "scale": 1 / (n_features X.var()); "auto": 1 / n_features.
    coef0 : float, default 0.0
        Constant term of the kernels that have one, such as "poly".
    fit_intercept : bool, default True
        Whether predictions have an offset.
    tol : float, default 1e-3
        Violation of the optimality conditions to stop at, as LIBSVM's ``-e``, in units of y.
    max_iter : int, default -1
        Most steps of two variables, in memory and not as a run; -1: no limit.
    inner : {"auto", "smo", "newton", "interior-point", "projected-gradient"}, default "auto"
        Solver of working sets, which all lead to the same solution, within `tol`. "auto" begins
        with SMO and lets an interior point method go on where that needs many steps.
    cache_size : float, default 1000.0
        MB for the kernel matrices of working sets. Their size shapes the solution, within `tol`.
    shrinking : bool, default True
        Accepted as by SVR, without effect: solvers leave variables out where that is faster, and
        look at all of them before they end.
    verbose : int or bool, default False
        Whether progress is printed, at most a line a second.
    warm_start : bool, default False
        Whether `fit` begins at the last solution where it is given the same rows, as after C was
        raised, and then in memory; with other rows it begins anew.
    stop_at : int, default 0
        The level of DC-SVM's tree whose early model is taken; 0: the exact model.
    time_budget : float, optional
        Seconds, above 0, after which the lowest level that is solved is the model.
    run : str or path, optional
        A folder for the run, which is kept: `fit` goes on with what is there, `from_run` reads it.
        Its data lie beside it, as ``RUN.data.zarr``.
    client : distributed.Client, optional
        Client of the Dask cluster that trains; by default this process does.
    callbacks : sequence of dcsvm_dask.Callback, optional
        Called with the progress of a run; see `dcsvm_dask.Callback`.
    random_state : int, RandomState or None, default None
        Seed of random subsets, which shape the way to the solution only. None is 0.
    n_jobs : int or None, default -1
        Threads; -1: as many as BLAS may use, one for each core unless the environment says
        otherwise. None is 1.

    Attributes
    ----------
    support_ : ndarray, shape (n_SV,), int32
        Rows that are support vectors, ascending.
    support_vectors_ : ndarray or CSR, shape (n_SV, n_features), float32
    n_support_ : ndarray, shape (1,), int32
        Number of support vectors.
    dual_coef_ : ndarray or CSR, shape (1, n_SV)
        beta = alpha - alpha*.
    intercept_ : ndarray, shape (1,)
        Offset of predictions.
    coef_ : ndarray or CSR, shape (1, n_features)
        Weights of features; for the linear kernel only.
    n_iter_ : int
        Steps of two variables; 1 of a run of one SVM, whose blocks do not count them.
    objective_ : float
        Dual objective 0.5 b'Kb - y'b + epsilon sum abs(b), of the squared loss plus
        sum b_i^2 / (4 C_i).
    violation_ : float
        How far the solution is from optimal, by a gradient summed from scratch, in units of y.
    level_ : int
        The level whose early model decides; 0: the exact one does. Of an early model there are
        `support_vectors_`, but no coefficients.
    early_model_ : Model or None
    fit_status_ : int
        0 if it is solved to `tol`, else 1.
    shape_fit_ : tuple of two ints
        Shape of X.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features,)
        Where X has names that are strings.

    References
    ----------
    A. Smola, B. Schoelkopf. A tutorial on support vector regression. Statistics and Computing 14,
    2004.
    """

    task_name = Regression.name

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        loss: str = "epsilon_insensitive",
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int = -1,
        inner: str = "auto",
        cache_size: float = 1000.0,
        shrinking: bool = True,
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
        self.epsilon = epsilon
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.inner = inner
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.verbose = verbose
        self.warm_start = warm_start
        self.stop_at = stop_at
        self.time_budget = time_budget
        self.run = run
        self.client = client
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _task(self) -> Regression:
        return Regression(self.epsilon, checking.is_squared(self.loss, LOSSES))

    @property
    def _bounded(self) -> bool:
        return not LOSSES[self.loss]
