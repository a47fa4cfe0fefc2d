"""A model in LIBSVM's text format, and our scaling as a range file of svm-scale.

The formats are those that `svm_save_model` of LIBSVM 3 (svm.cpp) and svm-scale.c write; both are
read by the programs of Debian's libsvm-tools and by LIBSVM's Python binding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernels_of_libsvm
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import OneVsOne

Vector = NDArray[np.float64]

_INTEGERS = range(-(2**31), 2**31)


def label_integers(classes: list[Any]) -> tuple[int, ...]:
    """Return what stands for the classes: LIBSVM's labels are integers.

    The labels themselves where all are integers of 32 bits; otherwise -1 and 1 for the negative and
    the positive class of two, and 0, 1, ... for more.
    """
    for label in classes:
        if isinstance(label, bool) or not isinstance(label, int) or label not in _INTEGERS:
            return (-1, 1) if len(classes) == 2 else tuple(range(len(classes)))
    return tuple(classes)


def libsvm_lines(
    kernel: Kernel,
    support: Rows,
    coef: Vector,
    bias: float,
    labels: Sequence[int],
    svm_type: str = "c_svc",
) -> Iterator[str]:
    """Yield the lines of a LIBSVM model file for an SVC of two classes.

    Decision values above zero mean the first label of the file, which is the positive one.

    Parameters
    ----------
    kernel : Kernel
        Any that LIBSVM has.
    support : Rows, shape (n, d)
        Support vectors; written with 9 significant digits, which restore a float32, or 17 of
        those in float64.
    coef : ndarray, shape (n,)
        y_i alpha_i, not 0; written with 17 significant digits, which restore a float64.
    bias : float
        LIBSVM's rho is its negative.
    labels : sequence of two ints
        What stands for the negative and for the positive class.
    svm_type : {"c_svc", "nu_svc"}, default "c_svc"

    Raises
    ------
    InputError
        If LIBSVM has no such kernel.
    """
    sides = np.flatnonzero(coef > 0), np.flatnonzero(coef < 0)
    order, counts = np.concatenate(sides), np.array([[len(side) for side in sides]])
    arrays = (support[order], coef[None, order], counts, np.array([[bias]]))
    return ovo_lines(Model(kernel, *arrays, OneVsOne(2)), labels[::-1], svm_type=svm_type)


def ovo_lines(model: Model, labels: Sequence[int], *, svm_type: str = "c_svc") -> Iterator[str]:
    """Yield the lines of a LIBSVM model file for classes, one SVM for each pair of them.

    Parameters
    ----------
    model : Model
        A one-vs-one model of the whole problem.
    labels : sequence of int
        What stands for each class.
    svm_type : {"c_svc", "nu_svc"}, default "c_svc"

    Raises
    ------
    InputError
        If LIBSVM has no such kernel.
    """
    yield from _head(model.kernel, svm_type, model.n_classes, model.n_support, model.bias[0])
    yield _line("label", labels)
    yield _line("nr_sv", model.counts[0].tolist())
    yield from _vectors(model.support, model.coef)


def sum_lines(
    svm_type: str, kernel: Kernel, support: Rows, coef: Vector, bias: float
) -> Iterator[str]:
    """Yield the lines of a LIBSVM model file for one sum without classes; see `libsvm_lines`.

    Parameters
    ----------
    svm_type : {"epsilon_svr", "nu_svr", "one_class"}
        The decision value of the last is above 0 for inliers.
    kernel, support, coef, bias
        As `libsvm_lines` has them.
    """
    yield from _head(kernel, svm_type, 2, len(coef), np.array([bias]))
    yield from _vectors(support, coef[None, :])


def _head(
    kernel: Kernel, svm_type: str, n_classes: int, n_support: int, bias: Vector
) -> Iterator[str]:
    """Yield the lines before labels and support vectors."""
    if kernel.kind.libsvm is None:
        known = ", ".join(kernels_of_libsvm())
        raise InputError(f"export: LIBSVM has no {kernel.name} kernel; it has {known}")
    yield f"svm_type {svm_type}\n"
    yield f"kernel_type {kernel.kind.libsvm}\n"
    if kernel.uses("degree"):
        yield f"degree {kernel.degree}\n"
    if kernel.uses("gamma"):
        yield f"gamma {kernel.gamma:.17g}\n"
    if kernel.uses("coef0"):
        yield f"coef0 {kernel.coef0:.17g}\n"
    yield f"nr_class {n_classes}\n"
    yield f"total_sv {n_support}\n"
    yield _line("rho", [f"{-one:.17g}" for one in bias.tolist()])


def _vectors(support: Rows, coefs: Vector) -> Iterator[str]:
    """Yield the lines of support vectors, each after its coefficients."""
    yield "SV\n"
    digits = 17 if support.dtype == np.float64 else 9
    for i, coef in enumerate(coefs.T.tolist()):
        index, values = _nonzero(support, i)
        cells = "".join(
            f"{j + 1}:{x:.{digits}g} " for j, x in zip(index.tolist(), values.tolist(), strict=True)
        )
        yield f"{' '.join(f'{value:.17g}' for value in coef)} {cells}\n"


def _line(name: str, values: Sequence[Any]) -> str:
    return f"{name} {' '.join(map(str, values))}\n"


def range_lines(n_features: int, offset: Vector | None, factor: Vector | None) -> Iterator[str]:
    """Yield the lines of a range file with which ``svm-scale -r`` computes (x - offset) * factor.

    svm-scale maps [min, max] of every feature to [lower, upper] by a line. With 0 and 1 for these,
    min = offset and max = offset + 1 / factor any such scaling is said so, standardising included
    (max is then the mean plus one standard deviation); svm-scale does not clip. A feature with
    factor 0 has min = max, which svm-scale leaves out: it counts as 0.
    """
    low = np.zeros(n_features) if offset is None else offset
    scale = np.ones(n_features) if factor is None else factor
    yield "x\n"
    yield "0 1\n"
    for j, (a, f) in enumerate(zip(low.tolist(), scale.tolist(), strict=True)):
        high = a + 1.0 / f if f else a
        yield f"{j + 1} {a:.17g} {high:.17g}\n"


def _nonzero(support: Rows, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
    if is_sparse(support):
        part = slice(support.indptr[i], support.indptr[i + 1])
        return support.indices[part], support.data[part]
    index = np.flatnonzero(support[i])
    return index, support[i, index]
