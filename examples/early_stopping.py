"""A callback of one's own: end a run when accuracy on held-out rows stops rising.

    python examples/early_stopping.py --out early

The data ships with the package: 16,000 rows of UCI Covertype to train on, 4,000 held out. Every
level of the tree is scored as soon as it is committed. Where one is hardly better than the one
before it, the run ends; the best committed level is its model, and `dcsvm resume` would go on to
the exact one.
"""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path

import dcsvm_dask as dcsvm


class StopEarly(dcsvm.Callback):
    """Ends a run whose accuracy on held-out rows has not risen enough for some models.

    Parameters
    ----------
    at_least : float, default 0.002
        Rise of the accuracy that is worth another level.
    patience : int, default 1
        Models in turn that may rise less.
    """

    def __init__(self, at_least: float = 0.002, patience: int = 1) -> None:
        self.at_least, self.patience = at_least, patience
        self.best = 0.0
        self.waited = 0

    def on_score(self, event: dcsvm.StageDone) -> None:
        """Look at the accuracy of the model that was just committed."""
        accuracy = event.record["accuracy"]
        risen = accuracy >= self.best + self.at_least
        self.best = max(self.best, accuracy)
        self.waited = 0 if risen else self.waited + 1
        if self.waited >= self.patience:
            raise dcsvm.StopRun(f"accuracy {accuracy:.4f} is no longer rising")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("early-stopping"), help="a new folder")
    parser.add_argument("--workers", type=int, default=None)
    arguments = parser.parse_args()
    source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    data = arguments.out / "covtype.zarr"
    with resources.as_file(source) as file:
        dcsvm.ingest(
            file,
            data,
            label="lodgepole_pine",
            scale="minmax",
            test_fraction=0.2,
        )
    run = dcsvm.train(
        data,
        arguments.out / "run",
        holdout=data / "test",
        kernel="rbf",
        gamma=32.0,
        C=32.0,
        levels=3,
        k=4,
        execution=dcsvm.Execution(workers=arguments.workers),
        callbacks=[StopEarly()],
    )
    status = run.status()
    print(f"{status['state']}: {status['message']}")
    for point in run.history():
        print(f"{point['stage']:<12} accuracy {point['accuracy']}")


if __name__ == "__main__":
    main()
