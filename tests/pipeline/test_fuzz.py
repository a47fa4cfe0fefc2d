"""Whatever a pipeline file holds: it reads to a pipeline, or is refused with its name."""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path

from hypothesis import strategies as st

from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.file import read_pipeline
from tests.strategies import ODD_BYTES, check_told, damaged, fuzz, inputs, noise

REAL = (resources.files("dcsvm_dask.demo") / "covtype.toml").read_bytes()
FULL = b"""[data]
source = "a.csv"
test = "b.csv"
label = -1
scale = "minmax"
positive = [1, "a"]
[method]
name = "dcsvm"
kernel = "poly"
gamma = 2.0
degree = 3
coef0 = 1
C = 8
clusters = [16, 4]
tol = 1e-3
seed = 7
[output]
run = "r"
data = "d"
"""
VALUES = (
    *("nan", "inf", "-inf", "-1", "0", "1e400", "1e308", "9" * 400, "-" + "9" * 30, "9" * 5000),
    *("true", "[]", "{}", "[[[1]]]", "[nan]", "[{}]", "''", "'auto'", "2020-01-01", "0x10", "1_0"),
    *("[" * 3000, "{a=" * 3000, '"\\u0000"', '"""', "'é'"),
)


@inputs(300)
def test_pipeline_files(count: int, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            found = read_pipeline(path)
        except InputError as error:
            check_told(error, str(path))
            return
        training = found.training
        assert 0 < training.C < math.inf
        assert 0 < training.gamma < math.inf
        assert 0 < training.tol < math.inf
        assert isinstance(found.data["source"], str)
        assert all(isinstance(word, str | int | float) for word in found.data.get("positive", ()))

    lines = FULL.splitlines()
    replaced = st.tuples(st.integers(0, len(lines) - 1), st.sampled_from(VALUES)).map(
        lambda change: b"\n".join(
            line.split(b"=")[0] + b"= " + change[1].encode() if k == change[0] else line
            for k, line in enumerate(lines)
        )
    )
    odd = [*ODD_BYTES, *(value.encode() for value in VALUES)]
    files = st.one_of(replaced, replaced, damaged(FULL, odd), damaged(REAL, odd), noise(odd))
    known = [
        FULL.replace(b"C = 8", b"C = " + b"9" * 400),
        FULL.replace(b"gamma = 2.0", b"gamma = " + b"9" * 400),
        FULL.replace(b"seed = 7", b"seed = " + b"9" * 5000),
        FULL.replace(b"[16, 4]", b"[" * 3000),
        FULL.replace(b'[1, "a"]', b"[{}]"),
    ]
    fuzz(check, files, count, known)
