"""Whether levels pay: whether the kernel is so local that blocks know the whole answer."""

from __future__ import annotations

from dcsvm_dask.clustering.choice import APART
from dcsvm_dask.solvers.divide import LEAST_KEPT
from dcsvm_dask.storage.node import Record

# Where more than this share of the kernel's mass lies between a few clusters, every row sees most.
MOST_BETWEEN = 0.2
# Where the support vectors are several times what a working set holds, sets go to and fro between
# them: unless nearly all rows see each other, blocks are the better start.
CROWDED, MOST_BETWEEN_CROWDED = 3.0, 0.7
# Where fewer of a sample's rows are support vectors, an SVM that is solved whole looks at few
# columns of the kernel matrix: fewer than the blocks of a level have.
LEAST_SUPPORT = 0.25
# Clusters between which this share of the kernel's mass lies that was between those of the level
# below, or more, do not follow gaps between rows: their borders are fewer, and that is all.
MOST_LEFT = 0.1


def regime(record: Record, *, given: float = 0.0, decides: bool = True) -> Record:
    """Say whether a level's record promises that upper levels are worth their time.

    By Lemma 1 (Hsieh, Si, Dhillon 2014) alpha solves the block-diagonal problem: f(alpha) over
    the sum of the blocks' objectives is 1 where blocks do not see each other, and small or
    negative where they overshoot when put together.

    Parameters
    ----------
    record : dict
    given : float, default 0.0
        The term of a given bias, which the objectives leave out.
    decides : bool, default True
        Whether anything depends on it: levels were not asked for, nor ruled out before.

    Returns
    -------
    dict
        ``levels_pay``, ``kept`` (the figure) and ``why`` (a sentence with it; where it decides
        nothing, of the figure alone).
    """
    own = float(record["objective"]) + given
    kept = (float(record["objective_estimate"]) + given) / own if own < 0 else 0.0
    pay = kept >= LEAST_KEPT
    verdict = f"levels {'save' if pay else 'do not save'} time: " if decides else ""
    return {
        "levels_pay": pay,
        "kept": kept,
        "why": f"{verdict}{_in_words(kept)}",
    }


def _in_words(kept: float) -> str:
    if kept >= 0.0:
        return f"clusters alone have {kept:.0%} of the objective"
    return "clusters alone, put together, are worse than no support vectors"


def has_ruled_levels_out(probe: Record) -> bool:
    """Return whether the record of a probe says that other ways cost less than levels."""
    return bool(probe["smooth"]) or is_sparse_in_support(probe.get("support_share", 1.0))


def is_smooth(probed_between: float, sets: float = 1.0) -> bool:
    """Return whether too much of the kernel's mass lies between a few clusters.

    Parameters
    ----------
    probed_between : float
        Share of the kernel's mass that lies between them.
    sets : float, default 1.0
        Working sets that would hold the expected support vectors.
    """
    return probed_between > (MOST_BETWEEN_CROWDED if sets > CROWDED else MOST_BETWEEN)


def is_sparse_in_support(support_share: float) -> bool:
    """Return whether so few rows are support vectors that levels cost more than they bring."""
    return support_share < LEAST_SUPPORT


def parts_better(choice: Record, below: Record) -> Record:
    """Say whether the clusters of a level are worth a solve of blocks that exceed memory.

    Parameters
    ----------
    choice, below : dict
        What was found at the choice of its partition, and of that of the level below.

    Returns
    -------
    dict
        ``pays`` and ``why``.
    """
    between, before = share_between(choice), share_between(below)
    pays = between <= MOST_LEFT * before
    verdict = "" if pays else ": solving the level would take longer than it saves"
    return {
        "pays": pays,
        "why": f"kernel values between different clusters are {between:.2%} of all, at the level "
        f"below {before:.2%}{verdict}",
    }


def are_alone(choice: Record) -> bool:
    """Return whether the blocks of the chosen partition are problems of their own."""
    return share_between(choice) <= APART


def share_between(choice: Record) -> float:
    """Return the share of the kernel's mass between the blocks of the partition that was chosen."""
    chosen = next(found for found in choice["candidates"] if found["name"] == choice["chosen"])
    return float(chosen["share_between"])
