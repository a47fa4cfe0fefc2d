"""What a feature map can do, whatever its rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.kernels.rows import check_rows
from dcsvm_dask.kernels.threads import for_each

WORK = 1 << 22
"""Numbers that a chunk of rows may take up beside its features (16 MiB in float32)."""
FEWEST, MOST = 256, 512
"""Rows of a chunk: enough for BLAS, few enough to stay in cache until they are features."""


class FeatureMap(ABC):
    """A rule z that gives every row a short vector, with z(x)'z(x') near K(x, x').

    A linear SVM on z(x) then stands for a kernel SVM on x. (The outputs of `Ltpu` are
    kernel values themselves.)
    """

    rule: ClassVar[str]
    """The name under which a map of this kind is stored."""

    kernel: Kernel
    """The kernel that the map approximates."""

    _kinds: ClassVar[dict[str, type[FeatureMap]]] = {}

    def __init_subclass__(cls) -> None:
        FeatureMap._kinds[cls.rule] = cls

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features of the rows that the map takes."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of features that the map gives."""

    def transform(self, X: Rows, *, threads: int = 1) -> NDArray[np.float32]:
        """Return z(x_i) for every row.

        Rows go in chunks whose size follows from the map alone, so memory beside the result is
        bounded. What stands beside a row changes its features within float32 rounding at most.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, n_features), float32
            Finite.
        threads : int, default 1
            Threads that share the chunks; the result is the same. Give BLAS one.

        Returns
        -------
        ndarray, shape (n, n_outputs), float32

        Raises
        ------
        InputError
            If X has another number of features, or the result is not finite.
        """
        X = check_rows(X, "X")
        if X.shape[1] != self.n_features:
            raise InputError(
                f"the rows have {X.shape[1]} features and the map was made for {self.n_features};"
                " give rows of the data set that it belongs to."
            )
        X = X.astype(np.float32, copy=False)
        out = np.empty((X.shape[0], self.n_outputs), dtype=np.float32)
        step = min(max(WORK // max(self._numbers_per_row, 1), FEWEST), MOST)

        def work(start: int) -> None:
            part = out[start : start + step]
            self._write(X[start : start + step], part)
            if not np.isfinite(part).all():
                raise InputError(
                    f"the {self.rule} map has values that are not finite; look for such values in"
                    " the rows, scale the features, or lower gamma or degree."
                )

        for_each(work, range(0, X.shape[0], step), threads)
        return out

    @property
    @abstractmethod
    def _numbers_per_row(self) -> int:
        """Numbers that a row takes up on its way, beside its features."""

    @abstractmethod
    def _write(self, X: Rows, out: NDArray[np.float32]) -> None:
        """Write the features of a chunk of rows into `out`, which is C-contiguous."""

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return everything that the map is, as arrays and as values fit for JSON."""
        meta = {
            "rule": self.rule,
            "kernel": asdict(self.kernel),
            "n_features": self.n_features,
            "n_outputs": self.n_outputs,
        }
        return self._arrays(), meta

    @staticmethod
    def from_arrays(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> FeatureMap:
        """Make the map again from what `to_arrays` returned; its features are the same.

        Raises
        ------
        InputError
            If the rule is unknown, an array is missing, or the arrays cannot be a map.
        """
        kind = FeatureMap._kinds.get(str(meta.get("rule")))
        if kind is None:
            raise InputError(
                f"the stored map has the rule {meta.get('rule')!r:.80}, which is not one of"
                f" {', '.join(sorted(FeatureMap._kinds))}; it needs another version of dcsvm_dask."
            )
        try:
            sizes = int(meta["n_features"]), int(meta["n_outputs"])
            made = kind._restore(Kernel(**meta["kernel"]), arrays, sizes[0])
        except KeyError as error:
            raise InputError(
                f"the stored map lacks {error}; its files are incomplete, so make it again."
            ) from error
        except InputError:
            raise
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"the stored map is damaged ({error!s:.200}); make it again."
            ) from error
        if (made.n_features, made.n_outputs) != sizes:
            raise InputError(
                f"the stored map is damaged: {made.n_features} features and {made.n_outputs}"
                f" outputs instead of {sizes[0]} and {sizes[1]}; make it again."
            )
        return made

    @abstractmethod
    def _arrays(self) -> dict[str, NDArray[Any]]: ...

    @classmethod
    @abstractmethod
    def _restore(
        cls, kernel: Kernel, arrays: dict[str, NDArray[Any]], n_features: int
    ) -> FeatureMap: ...


def check_numbers(what: str, numbers: Any, shape: tuple[int | None, ...], dtype: Any) -> None:
    """Refuse an array of another type or shape, or with values that are not finite.

    Parameters
    ----------
    what : str
        Name of the array in the message.
    numbers : object
    shape : tuple of int or None
        None: any length.
    dtype : dtype

    Raises
    ------
    InputError
    """
    wrong = None
    if not isinstance(numbers, np.ndarray) or numbers.dtype != dtype:
        wrong = f"not of type {np.dtype(dtype)}"
    elif numbers.ndim != len(shape) or any(
        length not in (None, own) for length, own in zip(shape, numbers.shape, strict=True)
    ):
        wrong = f"of shape {numbers.shape}"
    elif not np.isfinite(numbers).all():
        wrong = "not finite"
    if wrong is not None:
        raise InputError(f"not a feature map: its {what} are {wrong}.")
