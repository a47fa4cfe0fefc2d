"""Numbers as people read them."""

from __future__ import annotations

from dcsvm_dask.diagnostics.terminal.live import (
    kernel_text,
)
from dcsvm_dask.numbers import aligned, brief, clock


def test_numbers_as_people_read_them() -> None:
    assert [clock(s) for s in (0.4, 59.6, 61, 3723)] == ["0:00", "1:00", "1:01", "1:02:03"]
    assert [brief(v) for v in (0.01234, 1.5, 12345.6, 2e9)] == [
        "0.0123",
        "1.5",
        "12,346",
        "2.00e+09",
    ]
    exact, about = aligned(-1234.5, 3, exact=True), aligned(-1234.5, 3, exact=False)
    assert exact == "-1,234.500"
    assert about == "~-1,234    "
    assert kernel_text({"name": "poly", "gamma": 2.0, "degree": 3, "coef0": 0.0}) == (
        "poly degree 3 gamma 2 coef0 0"
    )
