"""Whether levels pay: whether the kernel is so local that blocks know the whole answer."""

from __future__ import annotations

from dcsvm_dask.storage.run import Record

# Where less than this share of the blocks' own objective is left for the whole problem, the
# blocks' machines contradict each other.
LEAST_KEPT = 0.5
# Where more than this share of the kernel's mass lies between blocks, every block sees the others.
MOST_BETWEEN = 0.4


def regime(record: Record) -> Record:
    """Say whether a level's record promises that upper levels are worth their time.

    Two figures decide. By Lemma 1 (Hsieh, Si, Dhillon 2014) alpha solves the block-diagonal
    problem: f(alpha) over the sum of the blocks' objectives is 1 where blocks do not see each
    other, and small or negative where they overshoot when put together. And D(pi), the kernel
    mass between blocks, bounds what is lost (Theorem 1); here as a share of all mass.

    Returns
    -------
    dict
        ``levels_pay``, ``kept`` (the first figure) and ``why`` (a sentence with both).
    """
    own = float(record["objective"])
    kept = float(record["objective_estimate"]) / own if own < 0 else 0.0
    between = float(record["D_share"])
    pay = kept >= LEAST_KEPT and between <= MOST_BETWEEN
    return {
        "levels_pay": pay,
        "kept": kept,
        "why": (
            f"levels {'pay' if pay else 'do not pay'}: {between:.0%} of the kernel's mass lies "
            f"between blocks, f is {kept:.2f} of the blocks' own objective"
        ),
    }


def is_smooth(choice: Record) -> bool:
    """Return whether the best partition of a choice leaves most of the kernel's mass between."""
    chosen = next(found for found in choice["candidates"] if found["name"] == choice["chosen"])
    return bool(chosen["share_between"] > MOST_BETWEEN)
