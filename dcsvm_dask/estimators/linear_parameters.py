"""Which solvers linear SVMs have, by which parameters, and what `verbose` prints of them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows


def takes_dual(dual: Any, solved: tuple[bool, ...], X: Rows, what: str, **combined: Any) -> bool:
    """Return whether the dual problem is solved, by scikit-learn's rule where it may be either.

    Parameters
    ----------
    dual : bool or "auto"
        The parameter. "auto": the dual problem where rows are fewer than features.
    solved : tuple of bool
        The values that have a solver.
    X : ndarray or CSR, shape (n, n_features)
    what : str
        What has these solvers.
    **combined
        Parameters that are named beside `dual` if there is no such solver.

    Raises
    ------
    InputError
        If there is no such solver.
    """
    if isinstance(dual, str) and dual == "auto":
        wanted = bool(X.shape[0] < X.shape[1])
        return wanted if wanted in solved else not wanted
    check(isinstance(dual, bool | np.bool_), "dual", dual, 'True, False or "auto"')
    if bool(dual) not in solved:
        why = f'dual must be {solved[0]} or "auto" with {what}, got {dual!r}'
        raise unsupported(why, **combined, dual=dual)
    return bool(dual)


def unsupported(why: str, **combined: Any) -> InputError:
    """Return the error of parameters that are not possible together, in LinearSVC's words.

    Parameters
    ----------
    why : str
    **combined
        The parameters.
    """
    named = ", ".join(f"{name}={value!r:.80}" for name, value in combined.items())
    return InputError(f"Unsupported set of arguments: {why}. Parameters: {named}.")


def relative(tol: float) -> float:
    """Return the tolerance of a primal problem, which is a share of the gradient at the start.

    Raises
    ------
    InputError
        If the start would do.
    """
    check(tol < 1.0, "tol", tol, "below 1 where the primal problem is solved (see dual)")
    return tol


def verbosity(verbose: Any) -> bool:
    """Return whether progress is printed."""
    known = isinstance(verbose, bool | np.bool_) or (
        is_a(verbose, numbers.Integral) and verbose >= 0
    )
    check(known, "verbose", verbose, "True, False or a whole number, 0 or more")
    return bool(verbose)


def printing(verbose: bool, name: str) -> Callable[[int, float], object] | None:
    """Return a solver's callback that prints a line each time; None where nothing is printed.

    Parameters
    ----------
    verbose : bool
    name : str
        What is solved.
    """
    if not verbose:
        return None
    return lambda n_iter, violation: print(
        f"{name}: {n_iter} iterations, violation {violation:.3g}", flush=True
    )
