"""The parameters that a method has beside those of every machine."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from dcsvm_dask.checks import check, is_a


def option(default: Any, about: str) -> Any:
    """Return a dataclass field for a parameter that has a default and is said in a few words."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True)
class Options:
    """Base class: frozen dataclasses of JSON values that check themselves."""

    @property
    def least_rows(self) -> int:
        """Distinct rows that there have to be."""
        return 1

    @property
    def approximates(self) -> bool:
        """Whether the method ends in another model than the exact one, and means to.

        Or by a rule of its own: what is exact here has a violation that was measured.
        """
        return False

    @property
    def refines(self) -> bool:
        """Whether a run can go on from its answer to that of another tolerance."""
        return not self.approximates

    @property
    def takes_weights(self) -> bool:
        """Whether the method trains on rows that have weights."""
        return True

    def check_kernel(self, name: str) -> None:
        """Refuse a kernel that the method is not made for; by default none.

        Raises
        ------
        InputError
        """

    def check_bias(self, fit_intercept: bool) -> None:
        """Refuse a problem with or without a bias; by default neither.

        Raises
        ------
        InputError
        """

    def check_installed(self) -> None:
        """Refuse to begin where something is missing that the method needs; by default nothing.

        Raises
        ------
        InputError
        """

    def lighter(self) -> Iterator[Self]:
        """Yield these parameters, then others by which the same method takes ever less memory."""
        yield self

    def to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class NoOptions(Options):
    """Those of a method that has none."""


def whole(options: Options, name: str, least: int) -> None:
    """Refuse an option that is no whole number from `least` on."""
    value = getattr(options, name)
    check(is_a(value, numbers.Integral), name, value, "a whole number")
    check(value >= least, name, value, f"at least {least}")
