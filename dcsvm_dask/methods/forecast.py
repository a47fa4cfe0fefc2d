"""Estimates of stages from sizes: memory of a task, bytes written, kernel values, time.

Memory follows the arrays of the nodes; a change to a node's arrays belongs here, too. Work depends
on the share of support vectors, which is known only after the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dcsvm_dask.clustering.grow import FLAT
from dcsvm_dask.clustering.kernel_partition import MAX_SAMPLE
from dcsvm_dask.methods.conquer.point import MOST_BLOCKS
from dcsvm_dask.methods.dcsvm.estimate import ESTIMATE_ROWS, ESTIMATE_SUPPORT_ROWS
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.measured import SUPPORT_SHARE, Measured, support_share
from dcsvm_dask.methods.partition import (
    MEASURED_ROWS,
    balance_size,
    largest_block,
    sample_size,
)
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import arrange_parts, bottom_clusters, shuffle_shares
from dcsvm_dask.solvers.decomposition import GROW
from dcsvm_dask.solvers.inner.memory import bytes_beside
from dcsvm_dask.solvers.large_problem import (
    BLOCK_ROWS,
    DIVIDED_FROM,
    FEW_FREE,
    FEW_SUPPORT,
    SMALL_SETS_ABOVE,
)
from dcsvm_dask.solvers.large_problem import SMALL_SET as SMALL_SETS
from dcsvm_dask.solvers.parallel.share import KEPT_FROM
from dcsvm_dask.solvers.set_choice import FILL, SMALL_SET

COPIED, ACTIVE, ROUNDED = 0.1, 0.28, 0.5
"""Memory of what the solver copies of a kernel matrix, as a share of it: usually, of a set of rows
near the margin, and of one that is copied in 16 bits, ..."""
ROUNDED_FROM = 3000
"""... as are those of so many rows."""
VIOLATORS = 0.15
"""Share of violating rows in a block above the cap, from which its working sets are chosen."""
FROM_BLOCKS, OF_FREE = (4096, 8192), 1.5
"""Least and most rows of the largest working set that goes on from the SVMs of blocks, and its rows
for each free support vector in between."""
USUAL_SET, USUAL_LOCAL_SET = 6144, 9216
"""Rows of the largest working set of a problem that is solved as a whole, typically: from zero, and
of a local kernel from the SVMs of a level."""
VIOLATING = 0.25
"""Share of the support vectors in the largest block of a round."""
READ_PER_SECOND = 200e6
"""Bytes of rows that a process reads and decompresses in a second."""
LABEL_SECONDS, BLOCK_SECONDS = 4e-6, 4e-3
"""Seconds of a core to find a row's block, and for a block beside its kernel values."""
VECTOR, VALUE, INDEX = 8, 4, 4
"""Bytes of a float64 or int64, of a value of a row, and of the column of a value in CSR."""


@dataclass(frozen=True, slots=True)
class Need:
    """Memory of a task beside its process, in bytes."""

    n_bytes: int
    """Likely memory."""
    most: int
    """Most memory."""


def largest(*needs: Need) -> Need:
    """Return the need of the largest of some tasks."""
    return Need(max(need.n_bytes for need in needs), max(need.most for need in needs))


@dataclass(frozen=True, slots=True)
class Forecast:
    """Sizes of a run and estimates from them."""

    settings: Settings
    shape: Shape
    measured: Measured

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.shape.n_variables

    @property
    def row(self) -> float:
        """Bytes of a row."""
        return max(1.0, self.shape.n_bytes / max(1, self.shape.n_rows))

    @property
    def is_dense(self) -> bool:
        """Whether rows store all their features."""
        return not self.shape.n_features or self.row / VALUE == self.shape.n_features

    @property
    def values(self) -> float:
        """Stored values of a row: features, or of sparse rows the values that are not zero."""
        if self.is_dense:
            return self.row / VALUE
        # A value and its column, and where the row begins.
        return max(1.0, (self.row - VECTOR) / (VALUE + INDEX))

    @property
    def width(self) -> float:
        """Features of a row."""
        return self.shape.n_features or self.row / VALUE

    @property
    def keeps_columns(self) -> bool:
        """Whether kernel columns are kept; see `dcsvm_dask.solvers.parallel.share.are_costly`."""
        return self.values < self.width or self.width >= KEPT_FROM

    @property
    def support(self) -> float:
        """Number of support vectors."""
        return self.n * support_share(self.measured.set_share)

    @property
    def chunk(self) -> float:
        """Bytes of the rows of one assignment or product task."""
        return min(self.settings.chunk_rows, self.shape.n_rows) * self.row

    @property
    def parts(self) -> int:
        """Tasks that write rows in block order; where there are several, rows are shuffled."""
        return arrange_parts(self.shape.n_bytes)

    @property
    def set_rows(self) -> float:
        """Rows of the largest working set."""
        return self._set_of(self.n)

    def near_share(self, rows: float) -> float:
        """Return the share of pairs of some rows, neighbours, whose kernel values are computed.

        Parameters
        ----------
        rows : float
            Their number: what is near to a row of all is in its own block first.
        """
        return min(1.0, self.measured.near_share * self.n / max(1.0, rows))

    def fixed(self, n_bytes: float) -> Need:
        """Return the need of a task whose arrays are known."""
        return Need(int(n_bytes), int(n_bytes))

    def solving(self, rows: float, most_rows: float, beside: float = 0.0) -> Need:
        """Return the need of solving a block.

        Parameters
        ----------
        rows, most_rows : float
            Likely and largest number of its rows.
        beside : float, default 0.0
            Bytes of other arrays of the task.
        """
        cap = self.settings.block_cap
        usual, most = (3 * many * self.row + beside for many in (rows, most_rows))
        if rows <= cap:
            return self._matrix(rows, min(most_rows, cap), usual, most)
        # Rows of a working set lie near the margin. The number that stays active depends on the
        # data, but of thousands most are copied.
        held = min(cap, GROW * VIOLATORS * rows)
        copied = ROUNDED if held >= ROUNDED_FROM else ACTIVE
        return self._matrix(held, min(most_rows, cap), usual, most, copied)

    def working_set(self, *, predicted: bool = False) -> Need:
        """Return the need of solving the largest working set.

        Parameters
        ----------
        predicted : bool, default False
            Whether the first set has the predicted support vectors.
        """
        most, rows = min(self.n, self.settings.set_cap), self.set_rows
        if predicted and self.measured.set_share == 1.0:  # nobody has looked
            rows = min(rows, max(SMALL_SET, FILL * SUPPORT_SHARE * self.n))
        beside = 3 * most * self.row + 12 * VECTOR * self.n
        return self._matrix(rows, most, beside, beside)

    def whole(self, *, local: bool = False) -> Need:
        """Return the need of solving all rows in one task, which keeps them twice.

        Parameters
        ----------
        local : bool, default False
            Whether the kernel is local, and the start a level.
        """
        most = min(self.n, self.settings.set_cap)
        rows, copied = (min(self.set_rows, USUAL_LOCAL_SET), COPIED) if local else self._whole_set()
        beside = (2 * self.n + rows) * self.row + 12 * VECTOR * self.n
        return self._matrix(rows, most, beside, beside + most * self.row, copied)

    def _whole_set(self) -> tuple[float, float]:
        """Return the rows of the largest set of a smooth problem, and what is copied of its matrix.

        As `solve_whole` decides it.
        """
        small, free = self.has_small_sets(), self.measured.free_support
        divided = self.n >= DIVIDED_FROM and self.support > BLOCK_ROWS
        if divided and not (small and free < FEW_FREE * self.support):
            least, most = FROM_BLOCKS
            return min(max(least, OF_FREE * free), most, self.settings.set_cap), ACTIVE
        # Beside small sets as many costly columns are kept as there is memory for.
        usual = SMALL_SETS if small and not self.keeps_columns else USUAL_SET
        return min(self.set_rows, usual), COPIED

    def has_small_sets(self) -> bool:
        """Return whether many small sets solve the problem, as `solve_whole` decides it."""
        cap = self.settings.set_cap
        if self.keeps_columns and self.support <= cap:
            return False
        return self.n > max(cap, SMALL_SETS_ABOVE) and self.support > FEW_SUPPORT * self.n

    def _set_of(self, rows: float) -> float:
        """Return the size of the largest working set of some rows; small sets are filled up."""
        return min(rows, self.settings.set_cap, max(SMALL_SET, rows * self.measured.set_share))

    def _matrix(
        self,
        rows: float,
        most_rows: float,
        beside: float,
        most_beside: float,
        copied: float = COPIED,
    ) -> Need:
        usual = 4 * (1 + copied) * rows**2 + beside
        most = 4 * most_rows**2 + bytes_beside(self.settings.inner, most_rows) + most_beside
        return Need(int(usual), int(most))

    def choosing(self, n_clusters: int) -> Need:
        """Return the need of choosing a partition on a sample."""
        cap = largest_block(self.settings, self.n, n_clusters)
        sample = sample_size(self.settings, n_clusters) + balance_size(self.n, cap)
        sample = min(sample, self.shape.n_rows)
        # Many are clustered in two steps.
        flat = n_clusters if n_clusters <= FLAT else math.ceil(math.sqrt(n_clusters))
        clustered = min(sample, MAX_SAMPLE, max(1000, 20 * flat))
        matrices = 24 * clustered**2 + 8 * min(sample, MEASURED_ROWS) ** 2
        return self.fixed(matrices + 3 * sample * self.row)

    def sampling(self, rows: int) -> Need:
        """Return the need of an SVM on one half of a sample, which the other half is for."""
        return self.fixed(2 * VALUE * rows**2 + 3 * rows * self.row)

    def merging(self) -> Need:
        """Return the need of finding equal rows among all rows."""
        return self.fixed(9 * VECTOR * self.shape.n_rows)

    def arranging(self) -> Need:
        """Return the need of the largest task that puts rows in block order."""
        part = (2.5 * self.shape.n_bytes + 8 * VECTOR * self.shape.n_rows) / self.parts
        order = 16 * self.shape.n_rows
        assigned = 2 * self.chunk
        if self.parts > 1:  # the rows of a share, the same in pages, their labels and order
            shares = shuffle_shares(self.shape.n_bytes, self.parts)
            assigned = (2 * self.shape.n_bytes + 6 * VECTOR * self.shape.n_rows) / shares
            order += 3 * VECTOR * self.parts * shares
        return largest(
            self.choosing(bottom_clusters(self.settings.clusters, self.n)),
            self.fixed(max(part, order, assigned)),
        )

    def largest_cluster(self, n_clusters: int) -> float:
        """Return the likely number of rows of the largest cluster.

        It is twice the mean of 8 clusters, three times that of 64, four times that of 512.
        """
        return min(self.n, (1 + math.log2(n_clusters) / 3) * self.n / n_clusters)

    def level(self, n_clusters: int, *, bottom: bool) -> Need:
        """Return the need of a level's largest task, which solves a block or commits."""
        likely = self.largest_cluster(n_clusters)
        most = min(self.n, largest_block(self.settings, self.n, n_clusters))
        # The start of a level: beta, the costs of blocks and their variables.
        block = self.solving(likely, max(most, likely), 0 if bottom else 6 * VECTOR * self.n)
        vectors = (1 if bottom else 4) + int(self.settings.fit_intercept)
        together = min(self.support, ESTIMATE_SUPPORT_ROWS) * self.row * 1.5
        commit = vectors * VECTOR * self.n + 4 * VECTOR * self.support + together
        return largest(block, self.fixed(commit + 2 * self.n))

    def checking(self, count: float) -> Need:
        """Return the need of computing f of `count` rows from scratch, or of its commit."""
        mine = 2 * min(self.chunk, count * self.row)
        return self.fixed(2 * self.support * self.row + mine + 8 * VECTOR * self.n)

    def round(self, count: float) -> Need:
        """Return the need of a round over `count` rows."""
        cap = self.settings.block_cap
        rows = min(cap, VIOLATING * self.support)
        look = self.checking(self.n)
        # A share of the products, and the changed rows with their steps and positions.
        share = VECTOR * min(self.settings.chunk_rows, count)
        moved = 4 * VECTOR * min(self.n, MOST_BLOCKS * cap)
        most = min(MOST_BLOCKS, 1 + 2 * math.ceil(self.n / cap))
        usual = look.n_bytes + share * self.round_blocks(count) + 4 * VECTOR * self.support
        product = Need(int(usual), int(look.most + share * most + moved))
        return largest(self.solving(rows, min(cap, self.n)), product)

    def round_blocks(self, count: float) -> int:
        """Return the likely number of blocks of a round over `count` rows."""
        active = min(self.support, count)
        return min(MOST_BLOCKS, max(1, round(active / self.settings.block_cap)))

    def product_bytes(self, count: float) -> float:
        """Return the bytes of the products of a round, which are deleted when it is committed."""
        return VECTOR * count * self.round_blocks(count)

    def reading_seconds(self) -> float:
        """Return the time of a core for reading all rows once."""
        return self.shape.n_bytes / READ_PER_SECOND

    def arranging_loads(self) -> tuple[Load, Load, Load]:
        """Return the work of arranging rows: sampling, assigning, reading and writing them."""
        read, shuffled = self.reading_seconds(), self.shuffled_bytes()
        assigning = read + LABEL_SECONDS * self.shape.n_rows
        return (
            Load("cluster", core_seconds=read),
            Load("assign", core_seconds=assigning, written_bytes=shuffled),
            Load("part", core_seconds=read, written_bytes=self.arranged_bytes()),
        )

    def level_loads(self, n_clusters: int, *, bottom: bool) -> tuple[Load, ...]:
        """Return the work of a level: assigning rows, solving blocks, estimating the objective.

        The cost of a block is the square of its rows.

        Parameters
        ----------
        n_clusters : int
        bottom : bool
            Whether it is the bottom level, whose rows are assigned already.
        """
        likely, mean = self.largest_cluster(n_clusters), self.n / n_clusters
        others = (self.n - likely) ** 2 / max(1, n_clusters - 1)
        read, half = self.reading_seconds(), self.level_bytes() / 2
        # Above the cap only the columns of variables that change are computed.
        share = 1.1 if mean <= self.settings.block_cap else 0.5 * self.near_share(mean)
        solve = Load(
            "solve",
            kernel_values=share * self.n * mean,
            core_seconds=(2 if bottom else 1) * read + BLOCK_SECONDS * n_clusters,
            written_bytes=half,
            largest=likely**2 / (likely**2 + others),
        )
        estimates = self.near_share(self.n) * ESTIMATE_ROWS * self.support
        commit = Load(COMMIT, kernel_values=estimates, written_bytes=half, threaded=True)
        return (solve, commit) if bottom else (Load("assign", core_seconds=read), solve, commit)

    def level_bytes(self) -> float:
        """Return the bytes that a level writes: beta twice, and the early model."""
        vectors = 2 * (2 if self.settings.fit_intercept else 1)
        return vectors * VECTOR * self.n + self.support * (self.row + VECTOR)

    def arranged_bytes(self) -> float:
        """Return the bytes that arranging writes: rows in block order, and their numbers."""
        return self.n * (self.row + VECTOR + 6) + 2 * VECTOR * self.shape.n_rows

    def shuffled_bytes(self) -> float:
        """Return the bytes of the rows sorted by block, with their codes and weights.

        They are deleted once the rows are arranged.
        """
        if self.parts == 1:
            return 0.0
        return self.shape.n_bytes + 1.5 * VECTOR * self.shape.n_rows

    def point_bytes(self) -> float:
        """Return the bytes that a conquer round writes."""
        return 5 * VECTOR * self.n
