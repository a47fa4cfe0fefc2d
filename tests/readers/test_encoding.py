"""Encodings of text: a mark or a name decides, and no byte is ever replaced."""

from __future__ import annotations

import codecs
import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import files
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.open import open_source

TEXT = "größe,länge,ort\n" + "1.5,2,Jä\n3,-4e2,Jö\n" * 5
ORTE = ["Jä", "Jö"] * 5


def read(path: Path, encoding: str | None = None) -> tuple[list[str] | None, list[str]]:
    source = open_source(path, encoding=encoding)
    labels = [y for _, y in source.blocks() if y is not None]
    return source.feature_names, np.concatenate(labels).tolist()


@pytest.mark.parametrize(
    ("encoding", "given"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-32", None),
        ("cp1252", "cp1252"),
        ("latin-1", "latin1"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-le", "utf-16"),
        ("utf-16-be", "UTF_16_BE"),
        ("mac-roman", "macroman"),
        ("utf-8-sig", "cp1252"),  # the mark decides
        ("utf-16", "cp1252"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", [24, 1 << 20])
def test_text_in_an_encoding(
    encoding: str,
    given: str | None,
    packed: bool,
    block: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files.text_blocks, "__defaults__", (block,))
    monkeypatch.setattr("dcsvm_dask.readers.encoding._PIECE", 7)
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    content = TEXT.encode(encoding)
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read(path, given) == (["größe", "länge"], ORTE)


def test_utf16_in_the_other_byte_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"))
    assert read(tmp_path / "a.csv")[1] == ORTE
    (tmp_path / "a.svm").write_bytes("1 1:2 # ä\n-1 1:3\n".encode("utf-16"))
    ((rows, labels),) = open_source(tmp_path / "a.svm").blocks()
    np.testing.assert_array_equal(rows.toarray(), [[0, 2], [0, 3]])
    np.testing.assert_array_equal(labels, [1, -1])


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(("a,ort\n" + "1,x\n" * 3 + "2,Jä\n3,Jö\n").encode("latin-1"))
    message = re.escape(f"{path}, line 5: the byte 0xe4 is not utf-8; give the encoding: ")
    with pytest.raises(InputError, match=message + "--encoding cp1252"):
        read(path)
    # Beyond what is looked at first.
    path.write_bytes(b"a,ort\n" + b"1.00000,x\n" * 200_000 + b"2,J\xe4\n")
    with pytest.raises(InputError, match=r"line 200002: the byte 0xe4 is not utf-8"):
        read(path)


def test_other_bytes_that_an_encoding_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,ort\n1,x\n2,J\x81\n")
    with pytest.raises(InputError, match=r"a.csv, line 3: the byte 0x81 is not cp1252"):
        read(path, "cp1252")
    path.write_bytes(TEXT.encode("utf-16") + b"\0")
    with pytest.raises(InputError, match=r"a.csv, line 12: the byte 0x00 is not utf-16"):
        read(path)
    path.write_bytes(TEXT.encode("utf-16-le"))
    with pytest.raises(InputError, match=r"needs --encoding utf-16-le or utf-16-be"):
        read(path)


@pytest.mark.parametrize("name", ["klingon", "base64", "rot13", "utf-8\0"])
def test_what_is_no_encoding(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    with pytest.raises(InputError, match=r"encoding .* is not known; give for example utf-8"):
        open_source(tmp_path / "a.csv", encoding=name)


def test_labels_in_bytes() -> None:
    table = LabelTable("y")
    table.add(np.char.encode(np.array(ORTE), "utf-8"))
    assert table.labels == ["Jä", "Jö"]
    with pytest.raises(InputError, match=r"y: the label b'J\\xe4' is not UTF-8; decode"):
        LabelTable("y").add(np.char.encode(np.array(ORTE), "latin-1"))
