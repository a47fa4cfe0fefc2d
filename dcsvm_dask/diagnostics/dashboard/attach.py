"""A run brings its page to the scheduler that it runs on."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.dashboard.runs import CARRIER
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import RunBegins
from dcsvm_dask.runtime.topic import log_event


class DashboardPage(Callback):
    """Puts the page DC-SVM into the dashboard of the run's scheduler, where it is not yet.

    It goes when the last client is gone that carries a run.
    """

    def __init__(self) -> None:
        self._client: Any = None

    def on_client(self, client: Any) -> str | None:
        """Register the page."""
        from dcsvm_dask.diagnostics.dashboard.plugin import PagePlugin

        try:
            client.register_plugin(PagePlugin())
        except Exception as error:  # noqa: BLE001 (the run goes on without its page)
            return f"no page DC-SVM in the dashboard: {_why(error)}"
        self._client = client
        return None

    def on_begin(self, event: RunBegins) -> None:
        """Say whose run it is, so that the page knows when its process has left."""
        if self._client is not None:
            message = {"kind": CARRIER, "run": event.run, "client": self._client.id}
            log_event(self._client, message)


def _why(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.split(".")[0]
        if package == "dcsvm_dask":
            return "the scheduler has no dcsvm_dask of this version; install it there"
        return f"the scheduler has no {package}; pip install 'dcsvm-dask[report]' there"
    return " ".join(str(error).split()) or type(error).__name__
