"""Messages for folders of tables, which are not read as one."""

from __future__ import annotations

import glob
import itertools
import shlex
from pathlib import Path

MOST_NAMES = 10_000
"""Names of a folder that are looked at."""
HEAD_BYTES = 4096
"""Of a file, in which a compressed one has a zero byte."""
_READ = {
    (".csv", ".tsv", ".txt"): "csv",
    (".parquet", ".pq"): "parquet",
    (".jsonl", ".ndjson", ".json"): "json",
}
"""By endings: the function of Dask that reads such files."""


def no_group(folder: Path) -> str:
    """Return the message for a folder without a Zarr group: what to do with the tables in it.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    str
        The end of a sentence.
    """
    names = sorted(one.name for one in itertools.islice(folder.expanduser().iterdir(), MOST_NAMES))
    if "run.json" in names:
        return "is the folder of a run, which holds models and no rows; give a file or a data set"
    for endings, kind in _READ.items():
        found = [name for name in names if name.lower().endswith(endings)]
        if found:
            if len(found) == 1:
                return f"is a folder; give the file in it, {folder / found[0]}"
            ending = Path(found[0]).suffix
            return (
                f"is a folder with {len(found):,} files such as {found[0]}; give one file"
                + _joined(f"{folder}/*{ending}", kind)
            )
    return (
        "is a folder without a Zarr group in it; give one file (in Python a Dask data frame holds "
        "the rows of several)"
    )


def no_pattern(path: str) -> str | None:
    """Return the message for a pattern of several files; None where a path is none or finds none.

    Parameters
    ----------
    path : str
        A path at which nothing is.
    """
    if "*" not in path:  # Dask knows no other pattern
        return None
    found = sorted(glob.glob(str(Path(path).expanduser())))  # noqa: PTH207 - the path is a pattern
    if not found:
        return None
    message = f"is a pattern of {len(found):,} files; give one file"
    kind = next((kind for ends, kind in _READ.items() if found[0].lower().endswith(ends)), None)
    if kind is None and not _is_text(Path(found[0])):
        return f"{message} (in Python a Dask data frame holds the rows of several)"
    return message + _joined(path, kind or "csv")


def _is_text(path: Path) -> bool:
    """Return whether a path is a file of text, not compressed."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(HEAD_BYTES)


def _joined(pattern: str, kind: str) -> str:
    """Return how several files become one source."""
    python = f"in Python give dcsvm_dask.ingest dask.dataframe.read_{kind}({pattern!r})"
    if kind != "csv":
        return f" ({python})"
    folder, _, names = pattern.rpartition("/")
    files = f"{shlex.quote(folder)}/{names}" if folder else names
    return (
        f": join them by awk 'FNR > 1 || NR == 1' {files} > all.csv where each has a header, by "
        f"cat where none has ({python})"
    )
