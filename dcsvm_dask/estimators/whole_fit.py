"""A fit that does not come to its end leaves the estimator as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def whole_or_as_before(method: Method) -> Method:
    """Decorate a method that fits: after Ctrl-C or an error the estimator is as it was before.

    Else new labels would stand beside the support vectors of the last fit, and an estimator that
    was never fitted would pass for one that is, by its number of features.
    """

    @functools.wraps(method)
    def fit(self: Any, *args: Any, **words: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **words)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Method, fit)
