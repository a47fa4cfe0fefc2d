"""Feature maps of the kernel approximations: fitted once, then applied share by share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcsvm_dask.features import Fastfood, FeatureMap, Fourier, Ltpu, Nystrom
from dcsvm_dask.features.centres import ROWS_PER_CENTRE
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.random_streams import FEATURE_MAP, generator
from dcsvm_dask.storage.model import read_map, write_rule
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

MAP, FEATURES = "map", "features"
"""The stages' names."""

Fit = Callable[[Kernel, Rows, np.random.Generator, Record], FeatureMap]


def fit_map(run: RunFolder, attempt: Attempt, *, rule: str, how: Record) -> Record:
    """Make the map; where it has centres, of a sample of the rows.

    Parameters
    ----------
    rule : str
        A key of `RULES`.
    how : dict
        The method's own parameters.
    """
    problem = read_problem(run)
    rng = generator(problem.settings.seed, FEATURE_MAP)
    centres: int = how.get("rank") or how.get("centres") or 1
    size = min(problem.n, ROWS_PER_CENTRE * centres)
    drawn = np.sort(rng.choice(problem.n, size=size, replace=False))
    made = RULES[rule](problem.settings.kernel, problem.take(drawn), rng, how)
    return {"outputs": made.n_outputs, "map": write_rule(attempt.place / MAP, made)}


def transform_share(run: RunFolder, attempt: Attempt, *, part: int, parts: int) -> Record:
    """Write the features ``Z`` of a share of the rows.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    part, parts : int
        The share and the number of shares.
    """
    problem = read_problem(run)
    start, stop = share(problem.n, part, parts)
    made = stored_map(run)
    attempt.write("Z", made.transform(problem.X.read(start, stop)))
    return {"rows": stop - start, "kernel_values": (stop - start) * centres_of(made)}


def commit_features(run: RunFolder, attempt: Attempt, *, parts: int) -> Record:
    """Commit the features of all shares.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    parts : int
        Number of shares.
    """
    del attempt
    nodes = [run.node(FEATURES, f"transform-{part:04d}") for part in range(parts)]
    return {"rows": sum(node.record["rows"] for node in nodes), "parts": parts}


def stored_map(run: RunFolder) -> FeatureMap:
    """Return the map that `fit_map` made."""
    node = run.node(MAP, "commit")
    return read_map(node, MAP, node.record["map"])


def centres_of(made: FeatureMap) -> int:
    """Return how many kernel values the features of a row take."""
    if isinstance(made, Nystrom):
        return int(made.landmarks.shape[0])
    return made.n_outputs if isinstance(made, Ltpu) else 0


def _nystrom(kernel: Kernel, X: Rows, rng: np.random.Generator, how: Record) -> FeatureMap:
    return Nystrom.fit(kernel, X, how["rank"], rng, landmarks=how["landmarks"])


def _fourier(kernel: Kernel, X: Rows, rng: np.random.Generator, how: Record) -> FeatureMap:
    kind: Any = Fastfood if how["structured"] else Fourier
    made: FeatureMap = kind.draw(kernel, int(X.shape[1]), how["outputs"], rng)
    return made


def _ltpu(kernel: Kernel, X: Rows, rng: np.random.Generator, how: Record) -> FeatureMap:
    return Ltpu.fit(kernel, X, how["centres"], rng, neighbours=how["neighbours"] or None)


RULES: dict[str, Fit] = {"nystrom": _nystrom, "fourier": _fourier, "ltpu": _ltpu}
