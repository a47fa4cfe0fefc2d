"""What a run says of itself whose model is another run's with fewer support vectors."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.methods.method import Options, option


@dataclass(frozen=True)
class Compressed(Options):
    """Where the model comes from, and how far it may be from that."""

    run: str = option("", "the run whose model was compressed")
    stage: str = option("", "its stage that holds the model")
    method: str = option("", "the method that trained it")
    bound: float = option(0.0, "on the change of a decision value")
    sample: int = option(0, "rows on which the change was measured")

    @property
    def approximates(self) -> bool:
        """Whether the model is another one than the exact one."""
        return True
