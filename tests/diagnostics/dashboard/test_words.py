"""Figures as the page writes them."""

from __future__ import annotations

from dcsvm_dask.diagnostics.dashboard.words import estimate_of, figure_of


def test_figures_are_written_as_people_read_them() -> None:
    assert [figure_of(value) for value in (None, 12_345, 0.00123, -1064037.62)] == [
        "–",
        "12,345",
        "0.00123",
        "-1,064,037.62",
    ]
    assert estimate_of(-928_666.0, 234_567.0) == "-930,000 ± 230,000"
    assert estimate_of(1.23456, 0.0123) == "1.235 ± 0.012"
