"""Adding the dashboard page to the scheduler of a run."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.dashboard.runs import CARRIER
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import RunBegins
from dcsvm_dask.runtime.topic import log_event


class DashboardPage(Callback):
    """Adds the page DC-SVM to the dashboard of the run's scheduler, unless it is there.

    The page is removed with the last client that carries a run.
    """

    def __init__(self) -> None:
        self._client: Any = None

    def on_client(self, client: Any) -> str | None:
        """Register the page with the scheduler of a client."""
        from dcsvm_dask.diagnostics.dashboard.plugin import PagePlugin

        try:
            client.register_plugin(PagePlugin())
        except Exception as error:  # noqa: BLE001 (the run goes on without its page)
            return f"no page DC-SVM in the dashboard: {_why(error)}"
        self._client = client
        return None

    def on_begin(self, event: RunBegins) -> None:
        """Log which client carries the run, so that the page knows when its process has left."""
        if self._client is not None:
            message = {"kind": CARRIER, "run": event.run, "client": self._client.id}
            log_event(self._client, message)


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.split(".")[0]
        if package == "dcsvm_dask":
            return "the scheduler has no dcsvm_dask of this version; install it there"
        return f"the scheduler has no {package}; pip install {package} there"
    return " ".join(str(error).split()) or type(error).__name__
