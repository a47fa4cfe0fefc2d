"""Checks of parameters that several tasks have."""

from __future__ import annotations

from numbers import Real

from dcsvm_dask.checks import check, is_a, is_finite


def check_nu(nu: object) -> None:
    """Raise InputError for a nu outside of (0, 1]."""
    number = is_a(nu, Real) and is_finite(nu) and 0 < nu <= 1  # type: ignore[operator]
    check(number, "nu", nu, "a number above 0, at most 1")
