"""What a run says of itself whose model is another run's with fewer support vectors."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.methods.options import Options
from dcsvm_dask.parameters import parameter


@dataclass(frozen=True)
class Compressed(Options):
    """Where the model comes from, and how far it may be from that."""

    run: str = parameter("", "the run whose model was compressed")
    stage: str = parameter("", "its stage that holds the model")
    method: str = parameter("", "the method that trained it")
    bound: float = parameter(0.0, "on the change of a decision value")
    sample: int = parameter(0, "rows on which the change was measured")

    @property
    def approximates(self) -> bool:
        """Whether the model is another one than the exact one."""
        return True
