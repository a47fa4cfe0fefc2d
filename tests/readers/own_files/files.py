"""Files as people have them: a table of two numbers and a label, in every dress that it comes in.

Each is tried as it is, then with the options that the refusal names. The right answer is known:
the features a and b, and the label y.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

N = 60
RNG = np.random.default_rng(0)
A = RNG.integers(0, 50, N) / 4.0
B = RNG.integers(1, 9, N) * 1000.0
Y = np.where(A > 6, "in", "out")
FLAG = RNG.random(N) < 0.5
JOB = RNG.choice(["admin", "nurse", "chef"], N)
DAY = pd.Timestamp("2024-02-28") + pd.to_timedelta(np.arange(N), "D")
FRAME = pd.DataFrame({"a": A, "b": B, "y": Y})
CSV = FRAME.to_csv(index=False)

READ, SAYS, NO = "read", "says how", "says why not"
Make = Callable[[Path], Any]


@dataclass(frozen=True)
class File:
    """A file, how it is taken, and what becomes of it.

    Attributes
    ----------
    name : str
        What is peculiar to it.
    make : callable
        Writes it into a folder and returns what `ingest` is given.
    outcome : {"read", "says how", "says why not"}
    says : str
        A part of the refusal, whatever its outcome.
    words : dict
        Options of the second try, those that the refusal names.
    columns : sequence of arrays
        The right features.
    labels : array
    """

    name: str
    make: Make
    outcome: str = READ
    says: str = ""
    words: dict[str, Any] = field(default_factory=dict)
    columns: tuple[Any, ...] = (A, B)
    labels: Any = None


def text(content: str | bytes, name: str = "t.csv", encoding: str = "utf-8") -> Make:
    """Return what writes a text file."""

    def make(folder: Path) -> Path:
        data = content if isinstance(content, bytes) else content.encode(encoding)
        (folder / name).write_bytes(data)
        return folder / name

    return make


def frame(*, name: str = "t.csv", sep: str = ",", **columns: Any) -> Make:
    """Return what writes a CSV file of columns, with a and the label last."""
    return text(pd.DataFrame({**columns, "a": A, "y": Y}).to_csv(index=False, sep=sep), name)


def replaced(row: int, column: str, value: object) -> str:
    """Return the table with one cell replaced."""
    other = FRAME.astype(object)
    other.loc[row, column] = value
    return other.to_csv(index=False)


def lines(change: Callable[[int, str], str]) -> str:
    """Return the table with its lines changed, the names being line 0."""
    return "\n".join(change(k, line) for k, line in enumerate(CSV.splitlines())) + "\n"


def cells(form: Callable[[float], str], sep: str = ",") -> str:
    """Return the table with the numbers of b in another form."""
    rows = (f"{a}{sep}{form(b)}{sep}{y}" for a, b, y in FRAME.itertuples(index=False))
    return "\n".join([f"a{sep}b{sep}y", *rows]) + "\n"


def archive(**arrays: Any) -> Make:
    """Return what writes an .npz file."""

    def make(folder: Path) -> Path:
        np.savez(folder / "t.npz", **arrays)
        return folder / "t.npz"

    return make


def saved(array: Any) -> Make:
    """Return what writes an .npy file."""

    def make(folder: Path) -> Path:
        np.save(folder / "t.npy", array, allow_pickle=True)
        return folder / "t.npy"

    return make


def parquet(table: pd.DataFrame) -> Make:
    """Return what writes a Parquet file."""

    def make(folder: Path) -> Path:
        table.to_parquet(folder / "t.parquet")
        return folder / "t.parquet"

    return make


def zipped(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "t.zip", "w") as file:
        file.writestr("t.csv", CSV)
    return folder / "t.zip"


def tarred(folder: Path) -> Path:
    with tarfile.open(folder / "t.tar.gz", "w:gz") as file:
        one = tarfile.TarInfo("t.csv")
        one.size = len(CSV)
        file.addfile(one, io.BytesIO(CSV.encode()))
    return folder / "t.tar.gz"


def folder_of_files(folder: Path) -> Path:
    (folder / "parts").mkdir()
    (folder / "parts" / "1.csv").write_text(CSV)
    return folder / "parts"


def svmlight(before: str = "", first: int = 1, comment: str = "") -> str:
    """Return the table as svmlight text."""
    return "".join(
        f"{1 if y == 'in' else -1}{before} {first}:{a} {first + 1}:{b}{comment}\n"
        for a, b, y in FRAME.itertuples(index=False)
    )


SIGNS = np.where(Y == "in", 1, -1)
MISSING = A.copy()
MISSING[3] = np.nan
MEDIAN = np.where(np.isnan(MISSING), np.nanmedian(MISSING), MISSING)
WORDS = {"drop": ["job"]}
JOBS = tuple(word == JOB for word in sorted(set(JOB)))


def lacking(word: str) -> File:
    """Return a table whose fourth a is a word for a missing value."""
    return File(
        f"a missing cell: {word or 'nothing'}",
        text(replaced(3, "a", word)),
        SAYS,
        "--missing",
        {"missing": "median"},
        (MEDIAN, B),
    )


def dated(name: str, form: str) -> File:
    """Return a table with a column of dates."""
    return File(
        f"dates: {name}",
        frame(day=DAY.strftime(form)),
        SAYS,
        "--d",
        {"drop": ["day"]},
        (A,),
    )


FILES = (
    # Marks between cells, line ends, encodings.
    File("commas", text(CSV)),
    File("semicolons", text(FRAME.to_csv(index=False, sep=";"))),
    File("tabs", text(FRAME.to_csv(index=False, sep="\t"), "t.tsv")),
    File("bars", text(FRAME.to_csv(index=False, sep="|"))),
    File("blanks in columns", text(FRAME.to_string(index=False), "t.txt")),
    File("tabs in a .csv", text(FRAME.to_csv(index=False, sep="\t"))),
    File("no line of names", text(FRAME.to_csv(index=False, header=False))),
    File("line ends of Windows", text(CSV.replace("\n", "\r\n"))),
    File("line ends of an old Mac", text(CSV.replace("\n", "\r")), NO, "carriage returns"),
    File("UTF-8 with its mark", text(CSV, encoding="utf-8-sig")),
    File("UTF-16", text(CSV, encoding="utf-16")),
    File("UTF-16 without its mark", text(CSV, encoding="utf-16-le"), SAYS, "--encoding",
         {"encoding": "utf-16-le"}),
    File("Latin 1", text(CSV.replace("out", "außen"), encoding="latin-1"), SAYS, "--encoding",
         {"encoding": "latin-1"}, labels=np.where(Y == "out", "außen", Y)),
    File("no line end at the end", text(CSV.rstrip("\n"))),
    File("named .txt", text(CSV, "t.txt")),
    File("named .data", text(CSV, "t.data")),
    File("without an ending", text(CSV, "table")),
    File("a blank in its name", text(CSV, "my table (1).csv")),
    # Lines that are no rows.
    File("empty lines between", text(CSV.replace("\n", "\n\n", 20))),
    File("empty lines at the end", text(CSV + "\n\n\n")),
    File("comments", text("# exported\n" + CSV)),
    File("comments between", text(lines(lambda k, s: s + "\n# so" * (k % 9 == 0)))),
    File("a row that begins with #", text(replaced(3, "a", "#7") + "# so\n"), NO, "line 5"),
    File("a title above the names", text("Export of 2024\n\n" + CSV), SAYS, "line 1"),
    File("units below the names", text(CSV.replace("\n", "\nkg,m,\n", 1)), NO, "line 2"),
    File("a sum in the last line", text(CSV + "total,9000,\n"), NO, f"line {N + 2}"),
    File("names again in the middle", text(lines(lambda k, s: s if k != 30 else f"{s}\na,b,y")),
         NO, "line 32"),
    # Cells.
    File("all in quotes", text(FRAME.to_csv(index=False, quoting=1))),
    File("a comma in quotes", frame(job=[f"{j}, senior" for j in JOB]), SAYS, "--drop",
         WORDS, (A,)),
    File("a line end in quotes", frame(job=[f"{j}\nsenior" for j in JOB]), SAYS, "--drop",
         WORDS, (A,)),
    File("quotes in quotes", frame(job=[f'"{j}"' for j in JOB]), SAYS, "--drop", WORDS, (A,)),
    File("blanks around cells", text(CSV.replace(",", " , "))),
    File("a mark at the end of rows", text(CSV.replace("\n", ",\n").replace("y,", "y", 1))),
    File("a mark at the end of all lines", text(CSV.replace("\n", ",\n")), SAYS,
         "--label", {"label": "y"}),
    File("a row too short", text(lines(lambda k, s: s if k != 9 else "1,2")), NO, "line 10"),
    File("a row too long", text(lines(lambda k, s: s if k != 9 else s + ",1")), NO, "line 10"),
    File("cut in its last line", text(CSV[: CSV.rindex(",")]), NO, f"line {N + 1}"),
    File("a quote that is not closed", text(CSV + '1,"2,in\n'), NO, f"line {N + 2}"),
    # Numbers.
    File("decimal commas", text(FRAME.to_csv(index=False, sep=";", decimal=",")), SAYS,
         "--decimal ,", {"decimal": ","}),
    File("thousands", text(cells(lambda b: f'"{b:,.0f}"'))),
    File("decimal commas between commas", text(FRAME.to_csv(index=False, decimal=",")), SAYS,
         "--decimal ,", {"decimal": ","}),
    File("decimal commas of three digits",
         text(FRAME.assign(b=B / 1e4).to_csv(index=False, sep=";", decimal=",",
                                             float_format="%.3f")),
         SAYS, "--decimal ,", {"decimal": ","}, (A, B / 1e4)),
    File("decimal points where commas begin the decimals",
         text(cells(lambda b: f"{b / 1e4:.3f}", ";").replace(";0.", ";0,", 1)), NO, "not a number"),
    File("thousands with dots",
         text(re.sub(r"(?m)^(\d+)\.(\d+);", r"\1,\2;",
                     cells(lambda b: f"{b:,.0f},5".replace(",", ".", 1), ";"))),
         SAYS, "--decimal", {"decimal": ","}, (A, B + 0.5)),
    File("thousands with apostrophes", text(cells(lambda b: f"{b:,.0f}".replace(",", "'")))),
    File("thousands with blanks", text(cells(lambda b: f"{b:,.0f}".replace(",", " ")))),
    File("per cent", text(cells(lambda b: f"{b:.0f} %"))),
    File("dollars", text(cells(lambda b: f'"${b:,.2f}"'))),
    File("dollars and euros", text(cells(lambda b: f"{b:.0f}{'$' if b > 4000 else '€'}")), SAYS,
         "'b'"),
    File("per cent and shares", text(replaced(5, "b", "12%")), NO, "line 7"),
    File("units", text(cells(lambda b: f"{b:.0f} kg")), SAYS, "'b'"),
    File("powers of ten", text(cells(lambda b: f"{b:.3E}"))),
    File("a number beyond float32", text(replaced(5, "b", 1e300)), NO, "line 7"),
    File("infinity", text(replaced(5, "b", np.inf)), NO, "line 7"),
    *map(lacking, ("", "NA", "NaN", "?", "NULL", "null", "n/a", "None", "-", "#N/A")),
    File("one word among numbers", text(replaced(5, "b", "12k")), NO, "line 7"),
    # Columns that are no numbers.
    File("True and False", frame(f=FLAG), columns=(FLAG, A)),
    File("yes and no", frame(f=np.where(FLAG, "yes", "no")), columns=(FLAG, A)),
    File("words", frame(job=JOB), SAYS, "--one-hot", {"one_hot": ["job"]}, (*JOBS, A)),
    File("words of order", frame(size=np.where(FLAG, "big", "small")), SAYS, "--one-hot",
         {"ordinal": {"size": ["small", "big"]}}, (FLAG, A)),
    File("names of persons", frame(who=[f"person {k}" for k in range(N)]), SAYS, "--drop",
         {"drop": ["who"]}, (A,)),
    dated("2024-02-28", "%Y-%m-%d"),
    dated("28.02.2024", "%d.%m.%Y"),
    dated("02/28/2024", "%m/%d/%Y"),
    dated("2024-02-28T10:00:00", "%Y-%m-%dT%H:%M:%S"),
    dated("28 Feb 2024", "%d %b %Y"),
    File("a column without values", frame(e=[None] * N), SAYS, "--drop", {"drop": ["e"]}, (A,)),
    File("a column of one value", frame(e=[7] * N), columns=(np.full(N, 7.0), A)),
    # Names.
    File("the numbers of rows first", text(FRAME.to_csv()), columns=(np.arange(N), A, B)),
    File("a name twice", text(CSV.replace("a,b", "a,a", 1)), NO, "'a'"),
    File("a name with a blank", text(CSV.replace("a,", "the a,", 1))),
    File("a name in quotes", text(CSV.replace("a,", '"a, or so",', 1))),
    File("a name of other letters", text(CSV.replace("a,", "größe,", 1))),
    File("names that are numbers", text(CSV.replace("a,b", "2023,2024", 1))),
    # Labels.
    File("the label first", text(FRAME[["y", "a", "b"]].to_csv(index=False)), SAYS, "--label",
         {"label": "y"}),
    File("the label in the middle", text(FRAME[["a", "y", "b"]].to_csv(index=False)), SAYS,
         "--label", {"label": "y"}),
    File("labels 1.0 and 0.0", text(FRAME.assign(y=1.0 * (Y == "in")).to_csv(index=False)),
         labels=1 * (Y == "in")),
    File("labels of blanks", text(CSV.replace("out", "not in"))  ,
         labels=np.where(Y == "out", "not in", Y)),
    File("a label that lacks", text(replaced(5, "y", "")), NO, "line 7"),
    File("one class only", text(CSV.replace("out", "in")), NO, "two classes"),
    File("real labels", text(FRAME.assign(y=A + 0.125).to_csv(index=False)), SAYS,
         "--task regression"),
    # Packed, and other formats.
    File(".gz", text(gzip.compress(CSV.encode()), "t.csv.gz")),
    File(".bz2", text(bz2.compress(CSV.encode()), "t.csv.bz2")),
    File(".xz", text(lzma.compress(CSV.encode()), "t.csv.xz")),
    File("packed, but not named so", text(gzip.compress(CSV.encode()), "t.csv")),
    File("a cut .gz", text(gzip.compress(CSV.encode())[:-20], "t.csv.gz"), NO, "t.csv.gz"),
    File(".zip", zipped, NO, "zip"),
    File(".tar.gz", tarred, NO, "tar"),
    File("a folder", folder_of_files, NO, "folder"),
    File("an Excel sheet", text(b"PK\x03\x04rest", "t.xlsx"), NO, "save the sheet as CSV"),
    File("a web page", text("<!DOCTYPE html><p>", "t.csv"), NO, "web page"),
    File("a picture", text(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "t.png"), NO, "t.png"),
    File("empty", text(""), NO, "empty"),
    File("names and no rows", text("a,b,y\n"), NO, "no rows"),
    File("one column", text("y\n" + "\n".join(Y)), NO, "has one column"),
    File("lines of JSON", text(FRAME.to_json(orient="records", lines=True), "t.jsonl")),
    File("lines of JSON, named .json",
         text(FRAME.to_json(orient="records", lines=True), "t.json")),
    File("a JSON array", text(FRAME.to_json(orient="records"), "t.json"), NO, "in each line"),
    File("JSON of columns", text(json.dumps(FRAME.to_dict("list")), "t.json"), NO, "in each line"),
    File("Parquet", parquet(FRAME)),
    File("Parquet with categories", parquet(FRAME.assign(b=pd.Categorical(JOB))), SAYS,
         "--one-hot", {"one_hot": ["b"]}, (A, *JOBS)),
    File("Parquet with missing cells", parquet(FRAME.assign(a=MISSING)), SAYS, "--missing",
         {"missing": "median"}, (MEDIAN, B)),
    File("a Feather file", text(b"ARROW1\0\0", "t.feather"), NO, "Parquet"),
    File("a pickle", text(b"\x80\x04\x95\0\0", "t.pkl"), NO, "pickle"),
    File("HDF5", text(b"\x89HDF\r\n\x1a\n", "t.h5"), NO, "HDF5"),
    File("a MATLAB file", text(b"MATLAB 5.0 MAT-file" + b"\0" * 200, "t.mat"), NO, "MATLAB"),
    File("a Stata file", text(b"<stata_dta><header>", "t.dta"), NO, "t.dta"),
    File("ARFF", text("@relation t\n@attribute a numeric\n@data\n1\n", "t.arff"), NO, "ARFF"),
    File("an archive of X and y", archive(X=FRAME[["a", "b"]], y=Y)),
    File("an archive of other names", archive(rows=FRAME[["a", "b"]], kinds=Y), SAYS, "--data",
         {"data": "rows", "target": "kinds"}),
    File("an .npy with the label last", saved(np.column_stack([A, B, SIGNS])), labels=SIGNS),
    File("an .npy of records", saved(FRAME[["a", "b"]].to_records(index=False)), NO, "t.npy"),
    File("an .npy of objects", saved(FRAME.to_numpy()), NO, "t.npy"),
    File("svmlight", text(svmlight(), "t.txt"), labels=SIGNS),
    File("svmlight with qid", text(svmlight(" qid:3"), "t.txt"), labels=SIGNS),
    File("svmlight with comments", text(svmlight(comment=" # so"), "t.txt"), labels=SIGNS),
    File("svmlight from 0", text(svmlight(first=0), "t.txt"), labels=SIGNS),
    # Data frames.
    File("a frame of pandas", lambda _: FRAME),
    File("a frame of Polars", lambda _: pl.from_pandas(FRAME)),
    File("a frame with categories", lambda _: FRAME.assign(b=pd.Categorical(JOB)), SAYS,
         "--one-hot", {"one_hot": ["b"]}, (A, *JOBS)),
    File("a frame with missing cells", lambda _: FRAME.assign(a=MISSING), SAYS, "missing",
         {"missing": "median"}, (MEDIAN, B)),
    File("a frame with a column of lists", lambda _: FRAME.assign(b=[[1, 2]] * N), NO, "'b'"),
)  # fmt: skip
