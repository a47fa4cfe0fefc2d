"""`ingest`, also of Dask collections, and the data sets of runs that are trained from rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dcsvm_dask.data.ingest import ingest as ingest_sources
from dcsvm_dask.data.scan import Report
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.runtime.clients import is_collection
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import read_commit
from dcsvm_dask.storage.location import Location


def ingest(
    source: Any,
    out: str | os.PathLike[str] | Location,
    *,
    test: Any = None,
    label: str | int | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    drop: Sequence[str] = (),
    columns: Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    ordinal: Mapping[str, Sequence[str]] | None = None,
    missing: str = "refuse",
    dates: str | None = None,
    decimal: str = ".",
    missing_words: Sequence[str] | None = None,
    data: str | None = None,
    target: str | None = None,
    scale: str | None = None,
    test_fraction: float | None = None,
    shuffle: bool = False,
    train_rows: int | None = None,
    seed: int = 0,
    positive: Sequence[Label] | None = None,
    task: str = "classification",
    chunk_rows: int | None = None,
    sparse: bool | None = None,
    rows: tuple[int | None, int | None] = (None, None),
    weights: Any = None,
    overwrite: bool = False,
    report: Report | None = None,
    client: Any = None,
) -> DataSet:
    """Take a source into a data set and return its training part.

    Readers take no more than the memory bound, whatever the size of the source; see
    `dcsvm_dask.memory_bound`. Weights and the order of shuffled rows are in memory beside that,
    8 bytes a row. Text is copied in binary form to the folder for temporary files (``TMPDIR``)
    between the two passes.

    Parameters
    ----------
    source : str, path, Source, data frame or tuple (X, y)
        A file (svmlight, CSV, NumPy, Parquet, Zarr; plain or compressed; local or a URL), a data
        frame of pandas or Polars, of which one column is the label, or arrays or a frame with the
        labels beside. An archive with ``X_test`` and ``y_test`` gives the test part, too.
        Dask arrays (of NumPy arrays or SciPy sparse matrices) and Dask data frames are written by
        the workers that have their partitions, in two passes, some scalings in more (see
        ``docs/data.md``); the data set is that of the same rows as one table in memory.
    out : str, path or Location
        Where the data set goes, local or an fsspec URL.
    test : like source, optional
        Rows of the test part. Where both have names its features are found by name.
    label : str or int, optional
        Name or position of the label: a column of a table, an array of an archive. By default
        the last column, unless it has no usual name of a label and another column has one
        (label, target, class, y): that is refused. "none": there is no label, for one-class.
    header : bool, optional
        Whether the first line of a CSV file holds names; found out by default.
    encoding : str, optional
        Encoding of text that does not begin with a byte order mark, such as "cp1252"; UTF-8 by
        default. Files that are predicted later are read so, too.
    drop : sequence of str
        Names of columns that are left out.
    columns : sequence of str
        Names of the columns that are features; by default all others but the label.
    one_hot : "auto" or sequence of str
        Columns that become a feature, 0 or 1, for each category of the training rows; a category
        that only later rows have is 0 in all of them. "auto": all columns of words with up to 50
        categories; among names: all others of these. Columns of words that are in neither are
        refused, but for those of yes and no.
    ordinal : dict of str to sequence of str, optional
        Columns of ordered words, from low to high, which become 0, 1, 2, ...
    missing : {"refuse", "drop", "median", "indicator"}, default "refuse"
        What becomes of cells without a value: they are refused; their rows are left out of both
        parts; they get the median of the training rows (of categories the most frequent one); or
        that, and a feature that says which cells they were (categories are then all 0).
    dates : {"drop", "parts", "days"}, optional
        Columns of dates are left out, become year, month, day, weekday (Monday is 0) and, where
        there are any, hour; or days since 1970, with the time as a fraction. By default they are
        refused.
    decimal : {".", ","}, default "."
        Mark before the decimals of numbers in text; the other one may separate thousands.
    missing_words : sequence of str, optional
        Words that mean a cell without a value, instead of the usual ones: NA, N/A, NaN, null, None,
        NaT, ?, -, --, the dot, and the errors of spreadsheets. An empty cell always means it, and
        so does NaN in a column of numbers. With an empty list NA may be a category. Later rows are
        read alike.
    data, target : str, optional
        Names of the arrays of an archive or a Zarr group that hold the rows and the labels; by
        default X and y. `target` is another word for `label`.
    scale : {"auto", "none", "minmax", "standard", "unit"}, optional
        Learned on the training part and applied to both; see `Scaling`. "auto", the default for
        files and data frames, standardises dense rows and divides sparse ones by the largest
        absolute values ("minmax"), but leaves values within [-1, 1] and standardised features as
        they are; `DataSet.scaling_reason` says which it was. Arrays and data sets are taken as they
        are by default.
    test_fraction : float, optional
        Share in (0, 1) of the rows that become the test part: the rows are put in the order
        ``numpy.random.default_rng(seed).permutation(n)`` and the last of each class taken off, by
        its share. A class of two rows or more has one in both parts, one of a single row trains.
        Of real targets the last rows are taken off.
    shuffle : bool, default False
        Put the training rows in that order even without a test fraction.
    train_rows : int, optional
        Keep so many of the training rows in that order, the first ones of each class.
    seed : int, default 0
        Seed >= 0 of that order.
    positive : sequence of labels, optional
        Make two classes: these are +1, all others -1.
    task : {"classification", "regression", "quantile", "one-class"}, default "classification"
        What is to be learned: labels are classes, at most 1,000, or real targets (float64, up to
        1e100) of which "regression" and "quantile" learn a function. Of "one-class" they are +1
        and -1 and only score; rows need none: an array, or (X, None).
    chunk_rows : int, optional
        Rows a chunk; by default about 4 MB and at most 8,192.
    sparse : bool, optional
        Store CSR parts or dense rows. By default as the source is; svmlight is stored sparse
        when less than a quarter of its cells are non-zero.
    rows : tuple (start, stop), optional
        Take these rows of the source only. Of Dask collections neither these nor weights of 0,
        `test_fraction`, `shuffle` and `train_rows` are possible.
    weights : array, str or path, optional
        Factors of C, 0 or more, for all rows of the source; or a file of one number in a line,
        as LIBSVM has them. Rows of weight 0 are left out. They are held in memory; the test part
        has none. Those of a data set that is the source are kept.
    overwrite : bool, default False
        Replace a data set that is there, once the new one is whole.
    report : callable, optional
        Called with lines about the progress.
    client : distributed.Client, optional
        Whose workers take in Dask collections; by default the one that Dask takes, or threads of
        this process where there is none. What is in memory or a file this process reads.

    Returns
    -------
    DataSet

    Raises
    ------
    InputError
        If the source cannot be taken, with the file and the place in it; nothing that opens as
        a data set is left then.
    """
    words = dict(locals())
    for own in ("source", "out", "test", "client"):
        del words[own]
    return _taken(source, out, test, client, words)


def ingest_for_run(source: Any, run: Location, client: Any = None, **words: Any) -> DataSet:
    """Take in the rows of a run that does not exist yet, beside it, as ``RUN.data.zarr``.

    A data set that an attempt to begin the same run has left is replaced.

    Parameters
    ----------
    source, client, **words
        As `ingest` has them.
    run : Location

    Raises
    ------
    InputError
        If another data set or something else lies there, and where `ingest` refuses.
    """
    place = data_place(run)
    left = read_commit(place)
    if left is not None and left.get("of_run") != run.name:
        raise InputError(
            f"{place}: a data set exists there that was not made for {run}; name another run, or "
            "train from the data set"
        )
    words |= {"overwrite": left is not None, "of_run": run.name}
    return _taken(source, place, None, client, words)


@contextmanager
def data_for_run(source: Any, run: Location, client: Any = None, **words: Any) -> Iterator[DataSet]:
    """Take in the rows of a new run; they go again where the run is refused before it begins."""
    dataset = ingest_for_run(source, run, client, **words)
    try:
        yield dataset
    except InputError:
        if not (run / "run.json").exists():
            dataset.place.delete()
        raise


def refuse_words(data: Any, y: Any, words: dict[str, Any]) -> None:
    """Raise an error if parameters of rows, or labels, are given beside a data set."""
    given = [word for word, value in words.items() if value not in (None, "none", (), [])]
    for word in given if y is None else ["y", *given]:
        raise InputError(
            f"{word}: is for rows; {data} is a data set, which has its own: leave it out, or "
            "ingest the source otherwise"
        )


def data_place(run: Location) -> Location:
    """Return where the data set of a run lies that was trained from rows."""
    return Location.of(f"{run.url}.data.zarr", writable=True)


def _taken(source: Any, out: Any, test: Any, client: Any, words: dict[str, Any]) -> DataSet:
    """Take sources in, Dask collections where they are."""
    if not (is_collection(source) or is_collection(test)):
        return ingest_sources(source, out, test=test, **words)
    place = Location.of(out, writable=True)
    report = words["report"] or (lambda _: None)
    from dcsvm_dask.runtime.collections import Collection
    from dcsvm_dask.runtime.computing import computing

    with computing(client, place, report) as where:
        parts = (
            Collection(one, place, where) if is_collection(one) else one for one in (source, test)
        )
        return ingest_sources(next(parts), place, test=next(parts), **words)
