"""What all fits have in common: they say that they compile, and leave nothing half done."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from dcsvm_dask.compiled import load_numba
from dcsvm_dask.runtime.compilation import COMPILING, first_compiled

LOGGER = logging.getLogger("dcsvm_dask")
Method = TypeVar("Method", bound=Callable[..., Any])

# Every estimator is imported with this file: what an import takes, the first fit does not.
load_numba()


def whole_or_as_before(method: Method) -> Method:
    """Decorate a method that fits: after Ctrl-C or an error the estimator is as it was before.

    Else new labels would stand beside the support vectors of the last fit, and an estimator that
    was never fitted would pass for one that is, by its number of features. The first fit of a new
    installation compiles for some seconds, which the logger "dcsvm_dask" says as a warning.
    """

    @functools.wraps(method)
    def fit(self: Any, *args: Any, **words: Any) -> Any:
        before = dict(vars(self))
        try:
            with first_compiled(_say):
                return method(self, *args, **words)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Method, fit)


def _say() -> None:
    LOGGER.warning("dcsvm_dask is %s", COMPILING)
