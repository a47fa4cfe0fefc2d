"""The two passes of an ingest over the partitions of a Dask collection."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Protocol

import numpy as np
from dask._task_spec import Task, TaskRef
from numpy.typing import NDArray

from dcsvm_dask.data.form import Form
from dcsvm_dask.data.partition_chunks import (
    Grid,
    below,
    cut,
    grids,
    pieces_between,
    wanted,
    write,
)
from dcsvm_dask.data.partitions import (
    Counts,
    Found,
    Reader,
    Storing,
    count_values,
    moments_of,
    rows_of,
    same,
    store,
    survey_partition,
)
from dcsvm_dask.data.scan import Report, Table
from dcsvm_dask.data.write import SMALL_CHUNK, end_part, larger, target_statistics
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.scaling import LEARNED
from dcsvm_dask.readers.source import spans
from dcsvm_dask.readers.statistics import Moments, ScalingStatistics
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.runtime.computing import Computing, Key, Tasks, tasks_of
from dcsvm_dask.storage.arrays import open_array, read_rows
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.storage.rows.write import end_rows
from dcsvm_dask.storage.spool import Column


class Partitions(Protocol):
    """The partitions of a source, as `dcsvm_dask.runtime.collections.CollectionSource` has them."""

    name: str
    n_features: int
    is_sparse: bool
    collections: tuple[Any, ...]
    """The rows and, where they are in another one, the labels."""
    keys: list[tuple[Key, Key | None]]
    """The keys of each partition of rows and of labels."""
    sizes: list[int] | None
    """The rows of each partition; None where they are unknown."""
    reader: Reader


class CollectionScan:
    """The result of a pass over the partitions of a collection; see `Scan` for other sources.

    The statistics of each partition are merged here; rows stay on the workers.

    Parameters
    ----------
    source : Partitions
    computing : Computing
    table : callable
        Returns what reads y, given the name of rows.
    statistics : ScalingStatistics, optional
        Updated with every row.
    weights : Weights, optional
        Weights of all rows, above 0.
    survey : Survey, optional
        Updated with every row.
    report : callable
        Called with lines about the progress.
    """

    is_raw = False
    first_feature = 0
    left_out = 0

    def __init__(
        self,
        source: Partitions,
        computing: Computing,
        table: Callable[[str], Table],
        statistics: ScalingStatistics | None,
        weights: Weights | None,
        survey: Survey | None,
        report: Report,
    ) -> None:
        self.source, self._computing = source, computing
        self.n_features = source.n_features
        self.y, self._table, self._weights = table(source.name), table, weights
        self._statistics = statistics or ScalingStatistics("none", source.name)
        self._survey = survey or Survey()
        self._counts: list[Counts] = []
        self._read(report)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(one.n_rows for one in self._counts)

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return sum(one.nnz for one in self._counts)

    def weights(self, order: None) -> NDArray[np.float64] | None:
        """Return the weights of all rows; None if they have none."""
        del order  # there is none
        return None if self._weights is None else self._weights.values

    def close(self) -> None:
        """Do nothing: there is no copy."""

    def _read(self, report: Report) -> None:
        source, statistics = self.source, self._statistics
        learns, table = statistics.kind in LEARNED, self._table
        sizes: Sequence[int | None] = source.sizes or [None] * len(source.keys)
        surveys = tasks_of(
            "survey",
            survey_partition,
            [(*refs, k, source.reader, sizes[k], learns, table) for k, refs in self._partitions()],
        )
        sums, keys = dict[Key, Task](), list[Key]()
        standard = statistics.needs_moments
        at_once = source.sizes is not None and not source.is_sparse
        if standard and at_once:
            assert source.sizes is not None
            sums, keys = self._moments(source.sizes, list(map(TaskRef, surveys)))
        with closing(self._results({**surveys, **sums}, [*surveys, *keys])) as results:
            for k, found in enumerate(islice(results, len(surveys)), 1):
                self._take(found, learns)
                report(f"{source.name}: {k:,} of {len(surveys):,} partitions read")
            self._add(results)
        if self.n_rows == 0:
            raise InputError(f"{source.name}: no rows")
        if self._weights is not None:
            self._weights.check_count(self.n_rows, source.name)
        if standard and not at_once:
            sums, keys = self._moments([one.n_rows for one in self._counts])
            with closing(self._results(sums, keys)) as results:
                self._add(results)

    def _add(self, results: Iterator[Moments]) -> None:
        for moments in results:
            self._statistics.add_moments(moments)

    def _take(self, found: Found, learns: bool) -> None:
        """Merge the statistics of the next partition."""
        self._counts.append(found.counts)
        self.y.merge(found.y)  # type: ignore[arg-type]  # it is of the same kind
        self._survey.merge(found.survey)
        if learns:
            self._statistics.add_ranges(found.counts.n_rows, found.ranges)

    def _moments(
        self, sizes: Sequence[int], surveys: Sequence[TaskRef | None] = ()
    ) -> tuple[Tasks, list[Key]]:
        """Return tasks that sum the rows of blocks, and the keys of the sums.

        The blocks are those in which one table in memory is read, independent of the partitions:
        sums over other blocks would be rounded differently.
        """
        n, source = sum(sizes), self.source
        row = 8 + 8 * int(self.nnz / n) if source.is_sparse else 4 * self.n_features
        borders = np.cumsum([0, *sizes])
        blocks = [list(pieces_between(borders, *block)) for block in spans(n, row)]
        refs = dict(self._partitions())
        rows = tasks_of(
            "rows",
            rows_of,
            [
                (refs[k][0], span, k, source.reader, surveys[k] if surveys else None)
                for block in blocks
                for k, span in block
            ],
        )
        taken = map(TaskRef, rows)
        sums = tasks_of("moments", moments_of, [tuple(islice(taken, len(b))) for b in blocks])
        return {**rows, **sums}, list(sums)

    def write_part(
        self,
        place: RecordedPlace,
        order: None,
        codes_of: NDArray[np.int32] | None,
        form: Form,
        report: Report,
        weights: NDArray[np.float64] | None = None,
        loss: RoundingLoss | None = None,
    ) -> dict[str, Any]:
        """Write one part on the workers that hold its rows; see `dcsvm_dask.data.write`.

        Parameters
        ----------
        place : RecordedPlace
            Folder of the part.
        order : None
            Not possible with collections.
        codes_of : ndarray, shape (n_labels,), int32, or None
            Class code of each label of the table; None: y are targets or signs.
        form : Form
        report : callable
            Called with lines about the progress.
        weights : ndarray, shape (n,), float64, optional
            Weights of all rows.
        loss : RoundingLoss, optional
            Updated with the errors of rounding to float32.

        Returns
        -------
        dict
            The part's entry of the data set.
        """
        del order
        code_of = None
        if codes_of is not None:
            assert isinstance(self.y, LabelTable)
            code_of = dict(zip(self.y.labels, codes_of.tolist(), strict=True))
        kept = [k for k, one in enumerate(self._counts) if one.n_rows]
        refs, how = dict(self._partitions()), Storing(form, code_of, self._table, loss is not None)
        shared = tasks_of("form", same, [(how,)])  # one task, so that no other task carries it
        (form_ref,) = map(TaskRef, shared)
        stores = tasks_of(
            "store", store, [(*refs[k], k, self.source.reader, form_ref) for k in kept]
        )
        tasks = {**shared, **stores}
        values = [self._counts[k].values for k in kept]
        if form.is_sparse and form.scaling is not None:
            # Scaling may give zeros, which are not stored.
            counts = tasks_of("values", count_values, [(TaskRef(key),) for key in stores])
            with closing(self._results({**tasks, **counts}, list(counts), kept)) as results:
                values = list(results)
        arrays = grids(form, [self._counts[k].n_rows for k in kept], values, self.nnz)
        for name, grid in arrays.items():
            grid.create(below(place, name))
        writes, keys = _writes(place, arrays, list(stores), values)
        with closing(self._results({**tasks, **writes}, keys, kept)) as results:
            largest, start = None, 0
            for done, (written, rounded, of_part) in enumerate(results, 1):
                place.written.update(written)
                largest = larger(largest, of_part, start)
                start += self._counts[kept[done - 1]].n_rows
                if loss is not None:
                    loss.merge(rounded)
                report(f"{place.name}: {done:,} of {len(kept):,} partitions written")
        n_rows, nnz = self.n_rows, sum(values) if form.is_sparse else self.n_rows * form.n_features
        end_rows(
            place / "rows",
            n_rows=n_rows,
            n_features=form.n_features,
            sparse=form.is_sparse,
            chunk_rows=form.chunk_rows,
            nnz=nnz,
        )
        with closing(Column(np.uint64, 2)) as hashes:
            _copy(place / "hashes", n_rows, hashes)
            return {
                "n_rows": n_rows,
                "nnz": nnz,
                **self._about_y(place, codes_of, len(form.classes)),
                **({} if largest is None else {"largest": largest}),
                **end_part(place, self.source.name, form, hashes.read, n_rows, weights),
            }

    def _about_y(
        self, place: RecordedPlace, codes_of: NDArray[np.int32] | None, n_classes: int
    ) -> dict[str, Any]:
        """Return the rows of each class, or the statistics of the targets that were written."""
        if codes_of is not None:
            assert isinstance(self.y, LabelTable)
            sums = np.bincount(codes_of, self.y.counts, n_classes)
            return {"counts": sums.astype(np.int64).tolist()}
        with closing(Column(np.float64)) as targets:
            _copy(place / "targets", self.n_rows, targets)
            return {"counts": [], "targets": target_statistics(targets)}

    def _partitions(self) -> Iterator[tuple[int, tuple[TaskRef, TaskRef | None]]]:
        """Return the number of each partition, and its rows and labels."""
        for k, (rows, labels) in enumerate(self.source.keys):
            yield k, (TaskRef(rows), None if labels is None else TaskRef(labels))

    def _results(
        self, tasks: Tasks, keys: Sequence[Key], numbers: Sequence[int] | None = None
    ) -> Generator[Any]:
        """Return results in order; `numbers` are the partitions that messages name."""
        known = range(len(self.source.keys)) if numbers is None else numbers

        def named(k: int) -> str:
            return self.source.reader.name_of(known[k]) if k < len(known) else self.source.name

        return self._computing.results(tasks, keys, self.source.collections, named)


def _writes(
    place: RecordedPlace, arrays: dict[str, Grid], stores: list[Key], values: list[int]
) -> tuple[Tasks, list[Key]]:
    """Return the tasks that write, and the keys of their results.

    Parameters
    ----------
    place : RecordedPlace
        The part, in which the arrays are created.
    arrays : dict
    stores : list
        The tasks that return partitions as they are stored.
    values : list of int
        Values in CSR parts of each partition.
    """
    metadata = {key: one for key, one in place.written.items() if key.startswith(f"{place.name}/")}
    part = RecordedPlace(place.url, place.root, metadata)
    before = np.cumsum([0, *values]).tolist()
    cuts, calls = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for k, own in enumerate(stores):
        spans_by_partition = wanted(arrays, k)
        cuts += [
            (TaskRef(stores[j]), span, before[j], j == 0) for j, span in spans_by_partition.items()
        ]
        begun = {name for spans_of in spans_by_partition.values() for name in spans_of}
        starts = {name: arrays[name].begun_in(k)[0] for name in arrays if name in begun}
        calls.append((part, starts, TaskRef(own), len(spans_by_partition)))
    pieces = tasks_of("cut", cut, cuts)
    refs = map(TaskRef, pieces)
    writes = tasks_of("write", write, [(*call, *islice(refs, n)) for *call, n in calls])
    return {**pieces, **writes}, list(writes)


def _copy(place: RecordedPlace, n_rows: int, out: Column) -> None:
    """Copy the hashes or targets of all rows, in order, to an anonymous file."""
    array = open_array(place)
    for start in range(0, n_rows, SMALL_CHUNK):
        out.append(read_rows(array, place, start, min(n_rows, start + SMALL_CHUNK)))
