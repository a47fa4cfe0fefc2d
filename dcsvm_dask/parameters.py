"""Parameters of trainings and methods, described once: default, range, help.

A class of parameters is a frozen dataclass whose fields are made by `parameter`. Their checks, the
options of commands, the keys of pipeline files and ``dcsvm methods`` are made from these fields.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any

from dcsvm_dask.checks import check, is_a, is_finite

DEFAULT_METHOD = "dcsvm"
LARGEST = 1 << 63
"""Whole numbers are below it, since arrays hold them as int64."""


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a parameter.

    Attributes
    ----------
    help : str
        A phrase without a full stop.
    least, above, most : float or None
        Range of a number: from `least` or above `above`, up to `most`.
    choices : tuple of str
        Possible values of a text; empty: any.
    default_text : str or None
        The default in words, where the value does not say it.
    name : str or None
        Name in messages, if it is not that of the field.
    of_levels : bool
        Whether only methods whose levels can be set have it.
    of_classes : bool
        Whether only methods that train on more than two classes have it.
    in_command : bool
        Whether commands have an option for it.
    """

    help: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    default_text: str | None = None
    name: str | None = None
    of_levels: bool = False
    of_classes: bool = False
    in_command: bool = True

    @property
    def has_range(self) -> bool:
        """Whether the values of a number are limited."""
        return not (self.least is None and self.above is None and self.most is None)

    @property
    def wanted(self) -> str:
        """The range in words."""
        low = self.above if self.least is None else self.least
        if self.above == 0 and self.most is None:
            return "a positive number"
        if self.above is not None:
            return f"a number above {low:g} and up to {self.most:g}"
        if self.least is None:
            return f"at most {self.most:g}"
        return f"at least {low:g}" if self.most is None else f"from {low:g} to {self.most:g}"

    def holds(self, value: Any) -> bool:
        """Return whether a number is finite and in the range."""
        return (
            is_finite(value)
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
        )


def parameter(default: Any, help: str, **others: Any) -> Any:  # noqa: A002 - click's name
    """Return a dataclass field for a parameter.

    Parameters
    ----------
    default : object
    help : str
        A phrase without a full stop.
    **others
        Other attributes of `Described`.
    """
    return field(default=default, metadata={"described": Described(help, **others)})


def described(kind: Any) -> Iterator[tuple[Field[Any], Described]]:
    """Yield the parameters of a class, or of one of its instances, with their descriptions."""
    for one in fields(kind):
        if "described" in one.metadata:
            yield one, one.metadata["described"]


def check_parameters(owner: Any) -> None:
    """Check the parameters of an instance by their types and ranges.

    Raises
    ------
    InputError
        If a value has another type or is outside its range.
    """
    for one, about in described(owner):
        check_parameter(about.name or one.name, str(one.type), getattr(owner, one.name), about)


def check_parameter(name: str, kind: str, value: Any, about: Described) -> None:
    """Check the value of a parameter.

    Parameters
    ----------
    name : str
    kind : str
        The annotation of its field: "float", "int", either of them with "| None", "bool" or "str";
        values of other kinds are not checked.
    value : object
    about : Described

    Raises
    ------
    InputError
        If it has another type or is outside its range.
    """
    if kind.endswith("| None") and value is None:
        return
    kind = kind.removesuffix(" | None")
    if kind == "float":
        check(is_a(value, numbers.Real), name, value, "a number")
    elif kind == "int":
        check(is_a(value, numbers.Integral), name, value, "a whole number")
        check(abs(int(value)) < LARGEST, name, value, "below 2^63")
    elif kind == "bool":
        # NumPy, whose import takes longer than all that `dcsvm --help` needs, has its own type.
        is_bool = isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
        check(is_bool, name, value, "true or false")
    elif about.choices:
        check(value in about.choices, name, value, f"one of {', '.join(about.choices)}")
    if about.has_range and kind in ("float", "int"):
        check(about.holds(value), name, value, about.wanted)


def as_text(value: object) -> str:
    """Return a value as one writes it in a command or a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)
