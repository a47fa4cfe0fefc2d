"""Other methods as estimators: each is a run of `dcsvm_dask.train`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from dcsvm_dask.estimators.by_run import ByRun


@dataclass(eq=False, repr=False, kw_only=True)
class CascadeSVC(ByRun):
    """Cascade SVM: support vectors go up a tree of random shares, and back.

    With ``passes=0`` it ends in the exact SVM; one pass is what the DC-SVM paper compares with.

    Parameters
    ----------
    leaves : int, default 8
        Random shares of the rows; a power of `arity`.
    arity : int, default 2
        Nodes whose support vectors one node above them takes.
    passes : int, default 0
        How often the tree is passed; 0: until no row violates.
    decide : str, default "top"
        "top": the SVM at the top decides; or its leaves together: "mean", "sign" or
        "committee".
    loss : str, default "hinge"
        "hinge", or its square, "squared_hinge", as `DCSVC` has them.
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    H. P. Graf, E. Cosatto, L. Bottou, I. Dourdanovic, V. Vapnik. Parallel support vector machines:
    the Cascade SVM. NIPS 2005.
    """

    method = "cascade"

    leaves: int = 8
    arity: int = 2
    passes: int = 0
    decide: str = "top"
    loss: str = "hinge"


@dataclass(eq=False, repr=False, kw_only=True)
class BaggingSVC(ByRun):
    """Bagging: SVMs of random samples that vote.

    Parameters
    ----------
    members : int, default 16
        SVMs, each of n / members rows.
    replace : bool, default False
        Whether each sample is drawn with replacement; else they share all rows out.
    vote : str, default "mean"
        "mean" of the decision values, or of their "sign"; or a Bayesian "committee".
    loss : str, default "hinge"
        "hinge", or its square, "squared_hinge", as `DCSVC` has them.
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    L. Breiman. Bagging predictors. Machine Learning 24, 1996.
    """

    method = "bagging"

    members: int = 16
    replace: bool = False
    vote: str = "mean"
    loss: str = "hinge"

    def fit(self, X: Any, y: ArrayLike) -> Self:  # type: ignore[override]  # rows are drawn whole
        """Train on rows without weights.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
            Labels of two classes.

        Returns
        -------
        self
        """
        return super().fit(X, y)


@dataclass(eq=False, repr=False, kw_only=True)
class NystromSVC(ByRun):
    """A linear SVM over Nystrom features (LLSVM).

    ``tol`` is that of the linear machine. Kernels: positive semi-definite ones, as "rbf", "poly".

    Parameters
    ----------
    rank : int, default 1000
        Landmarks.
    landmarks : str, default "kmeans"
        "kmeans": centres; "random": rows.
    loss : str, default "hinge"
        "hinge" or "squared_hinge".
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    C. Williams, M. Seeger. Using the Nystrom method to speed up kernel machines. NIPS 2001.
    K. Zhang, L. Lan, Z. Wang, F. Moerchen. Scaling up kernel SVM on limited resources: a low-rank
    linearization approach. AISTATS 2012.
    """

    method = "nystrom"

    rank: int = 1000
    landmarks: str = "kmeans"
    loss: str = "hinge"


@dataclass(eq=False, repr=False, kw_only=True)
class FourierSVC(ByRun):
    """A linear SVM over random Fourier features, or Fastfood's.

    ``tol`` is that of the linear machine. Kernels: shift-invariant ones, as "rbf".

    Parameters
    ----------
    outputs : int, default 2000
        Features: a cosine and a sine for each frequency; even.
    structured : bool, default False
        Whether frequencies are Fastfood's products of Hadamard matrices (rbf only).
    loss : str, default "hinge"
        "hinge" or "squared_hinge".
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    A. Rahimi, B. Recht. Random features for large-scale kernel machines. NIPS 2007.
    Q. Le, T. Sarlos, A. Smola. Fastfood: approximating kernel expansions in loglinear time. ICML
    2013.
    """

    method = "fourier"

    outputs: int = 2000
    structured: bool = False
    loss: str = "hinge"


@dataclass(eq=False, repr=False, kw_only=True)
class LtpuSVC(ByRun):
    """Locally tuned processing units: a linear SVM over kernel values at centres of k-means.

    ``tol`` is that of the linear machine. Kernel: "rbf".

    Parameters
    ----------
    centres : int, default 1000
        Centres of k-means.
    neighbours : int, default 0
        Nearest centres that tell a centre's width; 0: gamma is that of all.
    loss : str, default "hinge"
        "hinge" or "squared_hinge".
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    J. Moody, C. Darken. Fast learning in networks of locally-tuned processing units. Neural
    Computation 1, 1989.
    """

    method = "ltpu"

    centres: int = 1000
    neighbours: int = 0
    loss: str = "hinge"


@dataclass(eq=False, repr=False, kw_only=True)
class GreedySVC(ByRun):
    """SpSVM: a greedily chosen basis, the squared hinge loss, Newton steps.

    Kernels: positive semi-definite ones, as "rbf" and "poly".

    Parameters
    ----------
    basis : int, default 500
        Basis vectors, at most.
    pool : int, default 59
        Candidates at a time, drawn at random.
    least : float, default 1e-4
        Share of the objective that a basis vector has to bring.
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    S. S. Keerthi, O. Chapelle, D. DeCoste. Building support vector machines with reduced classifier
    complexity. JMLR 7, 2006.
    """

    method = "greedy"

    basis: int = 500
    pool: int = 59
    least: float = 1e-4


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineSVC(ByRun):
    """LaSVM: rows are taken one by one, and a finish.

    Parameters
    ----------
    passes : int, default 1
        Passes over the rows, at most.
    samples : int, default 1
        Rows of which the one most on the wrong side is taken; 1: random.
    C, kernel, degree, gamma, coef0, fit_intercept, tol, class_weight, run, client, \
random_state, n_jobs
        As `DCSVC` has them; the client's workers or this process train every fit as a run.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast kernel classifiers with online and active
    learning. JMLR 6, 2005.
    """

    method = "online"

    passes: int = 1
    samples: int = 1
