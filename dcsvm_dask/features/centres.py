"""Rows that stand for all others: landmarks and centres, how they are chosen and stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.clustering import kmeans
from dcsvm_dask.clustering.rows import as_rows, at_most
from dcsvm_dask.errors import InputError
from dcsvm_dask.features.feature_map import check_numbers
from dcsvm_dask.kernels import Rows, is_sparse, stored_like

ROWS_PER_CENTRE = 20
"""Rows of the sample that k-means clusters, for each centre."""
MAX_ITER = 10
"""Rounds of k-means: more of them hardly move the accuracy of the machine."""
MAX_NUMBERS = 1 << 26
"""Most numbers in dense centres (256 MiB)."""


def choose_centres(X: Rows, n_centres: int, rng: np.random.Generator, how: str) -> Rows:
    """Return rows that stand for X, stored as X is.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d), float32
    n_centres : int
        At least 1; fewer come back where X has fewer (with "kmeans": distinct) rows.
    rng : numpy.random.Generator
    how : {"kmeans", "random"}
        Centres of k-means on at most 20 rows a centre, or rows drawn without repeats.

    Raises
    ------
    InputError
        If X has no rows, or a parameter is outside its range.
    """
    X = as_rows(X)
    if X.shape[0] == 0:
        raise InputError("there are no rows to take landmarks from; give some.")
    if n_centres < 1:
        raise InputError(f"{n_centres} landmarks or centres were asked for; give at least 1.")
    if how == "random":
        return at_most(X, n_centres, rng)
    if how != "kmeans":
        raise InputError(f"landmarks is {how!r:.80}; choose kmeans or random.")
    if n_centres * X.shape[1] > MAX_NUMBERS:
        raise InputError(
            f"{n_centres} k-means centres of {X.shape[1]} features do not fit into"
            f" {MAX_NUMBERS * 4 >> 20} MiB; ask for at most {MAX_NUMBERS // X.shape[1]}, or take"
            " landmarks at random."
        )
    sample = at_most(X, ROWS_PER_CENTRE * n_centres, rng)
    centres = kmeans(sample, n_centres, rng, n_starts=1, max_iter=MAX_ITER)
    return sparse.csr_array(centres) if is_sparse(X) else np.ascontiguousarray(centres)


def stored_as(X: Rows, centres: Rows) -> Rows:
    """Return a chunk of rows stored as the centres are, which meet them in a kernel."""
    return stored_like(X, as_csr=is_sparse(centres))


def check_centres(what: str, centres: Rows) -> None:
    """Refuse centres that are no float32 rows, or none.

    Raises
    ------
    InputError
    """
    if is_sparse(centres):
        centres.check_format(full_check=True)
        check_numbers(what, centres.data, (None,), np.float32)
    else:
        check_numbers(what, centres, (None, None), np.float32)
    if 0 in centres.shape:
        raise InputError(f"not a feature map: it has no {what}.")


def centres_to_arrays(name: str, centres: Rows) -> dict[str, NDArray[Any]]:
    """Return the arrays that dense or CSR rows are."""
    if not is_sparse(centres):
        return {name: centres}
    return {f"{name}_{part}": getattr(centres, part) for part in ("data", "indices", "indptr")}


def centres_from_arrays(name: str, arrays: dict[str, NDArray[Any]], n_features: int) -> Rows:
    """Return the rows that `centres_to_arrays` has turned into arrays.

    Parameters
    ----------
    name : str
        Name of the rows.
    arrays : dict of str to ndarray
    n_features : int

    Raises
    ------
    InputError
        If indices are not integers.
    """
    if name in arrays:
        return arrays[name]
    parts = [arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")]
    if any(part.dtype.kind != "i" for part in parts[1:]):  # SciPy would read numbers out of text
        raise InputError(f"not a feature map: its {name} have places that are no whole numbers.")
    return sparse.csr_array(tuple(parts), shape=(len(parts[2]) - 1, n_features))
