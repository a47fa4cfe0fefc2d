"""Other methods as estimators: each is a run of `dcsvm_dask.train`."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.estimators.by_run import ByRun


class CascadeSVC(ByRun):
    """Cascade SVM: support vectors go up a tree of random shares, and back.

    With ``passes=0`` it ends in the exact machine; one pass is what the DC-SVM paper compares with.
    Of two classes.

    Parameters
    ----------
    leaves : int, default 8
        Random shares of the rows; a power of `arity`.
    arity : int, default 2
        Nodes whose support vectors one node above them takes.
    passes : int, default 0
        How often the tree is passed; 0: until no row violates.
    decide : str, default "top"
        "top": the machine at the top decides; or its leaves together: "mean", "sign" or
        "committee".
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    H. P. Graf, E. Cosatto, L. Bottou, I. Dourdanovic, V. Vapnik. Parallel support vector machines:
    the Cascade SVM. NIPS 2005.
    """

    method = "cascade"
    own = (
        "leaves",
        "arity",
        "passes",
        "decide",
    )

    def __init__(
        self,
        *,
        leaves: int = 8,
        arity: int = 2,
        passes: int = 0,
        decide: str = "top",
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.leaves = leaves
        self.arity = arity
        self.passes = passes
        self.decide = decide
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs


class BaggingSVC(ByRun):
    """Bagging: machines of random samples that vote.

    Of two classes.

    Parameters
    ----------
    members : int, default 16
        Machines, each of n / members rows.
    replace : bool, default False
        Whether each sample is drawn with replacement; else they share all rows out.
    vote : str, default "mean"
        "mean" of the decision values, or of their "sign"; or a Bayesian "committee".
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    L. Breiman. Bagging predictors. Machine Learning 24, 1996.
    """

    method = "bagging"
    own = (
        "members",
        "replace",
        "vote",
    )

    def __init__(
        self,
        *,
        members: int = 16,
        replace: bool = False,
        vote: str = "mean",
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.members = members
        self.replace = replace
        self.vote = vote
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs


class NystromSVC(ByRun):
    """A linear machine over Nystrom features (LLSVM).

    Of two classes.

    Parameters
    ----------
    rank : int, default 1000
        Landmarks.
    landmarks : str, default "kmeans"
        "kmeans": centres; "random": rows.
    loss : str, default "hinge"
        "hinge" or "squared_hinge".
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation of the linear machine to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    C. Williams, M. Seeger. Using the Nystrom method to speed up kernel machines. NIPS 2001.
    K. Zhang, L. Lan, Z. Wang, F. Moerchen. Scaling up kernel SVM on limited resources: a low-rank
    linearization approach. AISTATS 2012.
    """

    method = "nystrom"
    own = (
        "rank",
        "landmarks",
        "loss",
    )

    def __init__(
        self,
        *,
        rank: int = 1000,
        landmarks: str = "kmeans",
        loss: str = "hinge",
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.rank = rank
        self.landmarks = landmarks
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs


class FourierSVC(ByRun):
    """A linear machine over random Fourier features, or Fastfood's.

    Of two classes.

    Parameters
    ----------
    outputs : int, default 2000
        Features: a cosine and a sine for each frequency; even.
    structured : bool, default False
        Whether frequencies are Fastfood's products of Hadamard matrices (rbf only).
    loss : str, default "hinge"
        "hinge" or "squared_hinge".
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation of the linear machine to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    A. Rahimi, B. Recht. Random features for large-scale kernel machines. NIPS 2007.
    Q. Le, T. Sarlos, A. Smola. Fastfood: approximating kernel expansions in loglinear time. ICML
    2013.
    """

    method = "fourier"
    own = (
        "outputs",
        "structured",
        "loss",
    )

    def __init__(
        self,
        *,
        outputs: int = 2000,
        structured: bool = False,
        loss: str = "hinge",
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.outputs = outputs
        self.structured = structured
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs


class LtpuSVC(ByRun):
    """Locally tuned processing units: a linear machine over kernel values at centres of k-means.

    Of two classes.

    Parameters
    ----------
    centres : int, default 1000
        Centres of k-means.
    neighbours : int, default 0
        Nearest centres that tell a centre's width; 0: gamma is that of all.
    loss : str, default "hinge"
        "hinge" or "squared_hinge".
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation of the linear machine to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    J. Moody, C. Darken. Fast learning in networks of locally-tuned processing units. Neural
    Computation 1, 1989.
    """

    method = "ltpu"
    own = (
        "centres",
        "neighbours",
        "loss",
    )

    def __init__(
        self,
        *,
        centres: int = 1000,
        neighbours: int = 0,
        loss: str = "hinge",
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.centres = centres
        self.neighbours = neighbours
        self.loss = loss
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs


class GreedySVC(ByRun):
    """SpSVM: a greedily chosen basis, the squared hinge loss, Newton steps.

    Of two classes.

    Parameters
    ----------
    basis : int, default 500
        Basis vectors, at most.
    pool : int, default 59
        Candidates at a time, drawn at random.
    least : float, default 1e-4
        Share of the objective that a basis vector has to bring.
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    S. S. Keerthi, O. Chapelle, D. DeCoste. Building support vector machines with reduced classifier
    complexity. JMLR 7, 2006.
    """

    method = "greedy"
    own = (
        "basis",
        "pool",
        "least",
    )

    def __init__(
        self,
        *,
        basis: int = 500,
        pool: int = 59,
        least: float = 1e-4,
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.basis = basis
        self.pool = pool
        self.least = least
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs


class OnlineSVC(ByRun):
    """LaSVM: rows are taken one by one, and a finish.

    Of two classes.

    Parameters
    ----------
    passes : int, default 1
        Passes over the rows, at most.
    samples : int, default 1
        Rows of which the one most on the wrong side is taken; 1: random.
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        As `DCSVC` has it.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Whose cluster trains; by default it is this process.
    random_state : int, RandomState or None, default None
        Of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that predict; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
    class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its machines together.
    objective_ : float or None
        The dual objective, where the method ends in one machine of the whole problem.
    n_features_in_ : int

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast kernel classifiers with online and active
    learning. JMLR 6, 2005.
    """

    method = "online"
    own = (
        "passes",
        "samples",
    )

    def __init__(
        self,
        *,
        passes: int = 1,
        samples: int = 1,
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        run: Any = None,
        client: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.passes = passes
        self.samples = samples
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.run = run
        self.client = client
        self.random_state = random_state
        self.n_jobs = n_jobs
