"""The clock of a run, which stands still between its processes."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.records import Clock


def test_a_clock_cuts_out_what_lies_between_processes() -> None:
    clock = Clock([(100.0, 110.0), (112.0, 120.0), (1000.0, 1010.0)])
    assert clock.total == 30.0
    assert clock.pauses == 880.0
    assert clock.breaks == [20.0]
    times = (90.0, 100.0, 111.0, 500.0, 1000.0, 1004.0, 2000.0)
    assert [clock(time) for time in times] == [0, 0, 11, 20, 20, 24, 30]
    assert (Clock([]).total, Clock([])(5.0)) == (0.0, 0.0)
