"""Signals while Numba compiles."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def raised_between_passes() -> Iterator[None]:
    """Call the handlers of Ctrl-C and SIGTERM between two passes of Numba's compiler.

    LLVM calls back into Python and drops exceptions of that: a `KeyboardInterrupt` there would be
    lost, and compiling would end by another error. Signals that come in the block are kept until
    the compiler begins its next pass, or until the end of the block. In other threads than the main
    one, where no handler runs, and for signals that the default of the system handles, nothing
    changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in ENDING}
    own = {number: handler for number, handler in handlers.items() if callable(handler)}
    received: list[int] = []

    def keep(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)

    def handle() -> None:
        while received:
            number = received.pop(0)
            own[signal.Signals(number)](number, None)

    from numba.core import event

    class Between(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            del event
            handle()

        def on_end(self, event: Any) -> None:
            """Do nothing: what has ended well is kept."""

    try:
        for number in own:
            signal.signal(number, keep)
        with event.install_listener("numba:run_pass", Between()):
            yield
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)
        handle()
