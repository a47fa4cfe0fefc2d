"""The streams of random numbers that are drawn from the seed of a run, one for each purpose.

A generator is seeded with the seed of the run, the number of the stream and further numbers, such
as that of a round or a block. Another number changes the results of the same seed, so they stay as
they are. Purposes with the same number share a stream; `SHARED` lists them, and there are to be no
more.
"""

from __future__ import annotations

import numpy as np

PROBE = 0
"""Rows on which the probe looks at the kernel, and on which the bottom partition is chosen."""
LEVEL = 0
"""Support vectors on which the partition of level l is chosen: LEVEL + l."""
BINARY_SVM = 0
"""Blocks from which binary SVM i of several starts: BINARY_SVM + i."""
QUALITY = 1000
"""Variables on which D(pi) of a level is estimated."""
ESTIMATE = 2000
"""Variables on which objective and gap of a level are estimated."""
ROUND_CLUSTERS = 3000
"""Clusters of a conquer round; the number of the round follows."""
MODES_REPORT = 3000
"""Held-out rows on which a report compares modes of prediction."""
ROUND_ORDER = 4000
"""Order of equal violators in a conquer round; the number of the round follows."""
PLANE_REPORT = 4000
"""Rows that a report draws."""
THEOREM_REPORT = 5000
"""Pairs of rows by which a report bounds Theorem 1."""
OFFSET_SUBSET = 6400
"""Rows on which the first bias of a problem with a given sum is estimated."""
SUBSAMPLE = 6500
"""Rows of the method subsample."""
BLOCK_SIZES = 7000
"""Rows from which the sizes of the bottom level's blocks are estimated."""
BAG = 7000
"""Rows of the members of a bag without replacement."""
BAG_MEMBER = 7001
"""Rows of a member of a bag with replacement; the number of the member follows."""
CASCADE = 8000
"""Shares of the rows of a cascade's leaves."""
COMMITTEE = 9000
"""Rows that all SVMs of a committee decide."""
COMMITTEE_FOLDS = 9001
"""Folds of a block's own rows for its calibration; the number of the block follows."""
COMPRESSION = 9100
"""Rows on which a compressed model is measured."""
FEATURE_MAP = 9500
"""Frequencies or centres of a feature map."""
BASIS_POOL = 9700
"""Candidates of greedy basis selection; the number of the round follows."""
FOLDS = 9700
"""Folds of a search."""
SEARCH_BLOCKS = 9701
"""Order of the blocks that a search decides."""
WEIGHTED_SAMPLE = 9702
"""Rows of other blocks that stand for the rest of the data in a block of a search."""
DESCENT = 9800
"""Order of the rows in dual coordinate descent; round, SVM and part follow."""
BUDGET = 9850
"""Order of the rows in descent on a budget; epoch and share follow, and a piece."""
ESTIMATOR_SEARCH = 9900
"""Rows on which the blocks of `DCSVMSearchCV` are chosen."""
PROBABILITY_FOLDS = 9901
"""Folds by which the probabilities of a `DCSVC` are fitted."""

SHARED = (
    {"PROBE", "LEVEL", "BINARY_SVM"},
    {"ROUND_CLUSTERS", "MODES_REPORT"},
    {"ROUND_ORDER", "PLANE_REPORT"},
    {"BLOCK_SIZES", "BAG"},
    {"BASIS_POOL", "FOLDS"},
)
"""Purposes that share a number; they occur in different runs, or their numbers do no harm."""


def generator(seed: int, stream: int, *numbers: int) -> np.random.Generator:
    """Return the generator of a stream.

    Parameters
    ----------
    seed : int
        Seed of the run, 0 or more.
    stream : int
        One of the constants of this module.
    *numbers : int
        A round, block or member, for which the generator is.
    """
    return np.random.default_rng([seed, stream, *numbers])
