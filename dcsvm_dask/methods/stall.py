"""The end of passes or rounds that no longer come nearer to the answer."""

from __future__ import annotations

from dcsvm_dask.storage.node import Record

# Points without any progress after which none is expected.
MOST_STALLED = 3


class Stall:
    """Counts committed points that lower neither the objective nor the violation.

    Below what rounding leaves no pass and no round comes nearer.

    Parameters
    ----------
    most : int, default 3
        Points without any progress after which none is expected.
    """

    def __init__(self, most: int = MOST_STALLED) -> None:
        self._count, self._most = 0, most
        self._objective = self._violation = float("inf")

    def see(self, record: Record) -> None:
        """Take in the next point, by the ``objective`` and the ``violation`` of its record."""
        objective, violation = record["objective"], record["violation"]
        stalls = objective >= self._objective and violation >= self._violation
        self._count = self._count + 1 if stalls else 0
        self._objective = min(objective, self._objective)
        self._violation = min(violation, self._violation)

    @property
    def is_over(self) -> bool:
        """Whether no progress is expected any more."""
        return self._count >= self._most

    def message(self, tol: float) -> str:
        """Return why the tolerance was not reached; empty where a limit of rounds is the reason."""
        if not self.is_over:
            return ""
        return (
            f"rounding lets neither objective nor violation fall below {self._violation:.2g}: "
            f"give a larger tol than {tol:g}"
        )
