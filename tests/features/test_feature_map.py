"""What all maps promise: they can be stored, and neither chunks nor threads matter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.features import Fastfood, FeatureMap, Fourier, Ltpu, Nystrom, feature_map, warm_up
from dcsvm_dask.features import fastfood as hadamard
from dcsvm_dask.kernels import Kernel

RBF = Kernel("rbf", 0.5)
MAPS: dict[str, Callable[[Any, np.random.Generator], FeatureMap]] = {
    "nystrom": lambda X, rng: Nystrom.fit(RBF, X, 40, rng, least=1e-6),
    "nystrom float64": lambda X, rng: Nystrom.fit(Kernel("rbf", 1e-3), X, 40, rng),
    "nystrom random": lambda X, rng: Nystrom.fit(RBF, X, 40, rng, landmarks="random"),
    "fourier": lambda X, rng: Fourier.draw(RBF, 54, 90, rng),
    "fourier laplacian": lambda X, rng: Fourier.draw(Kernel("laplacian", 0.1), 54, 90, rng),
    "fastfood": lambda X, rng: Fastfood.draw(RBF, 54, 180, rng),
    "ltpu": lambda X, rng: Ltpu.fit(RBF, X, 40, rng),
    "ltpu widths": lambda X, rng: Ltpu.fit(RBF, X, 40, rng, neighbours=2),
}


@pytest.fixture(params=list(MAPS))
def make(request: pytest.FixtureRequest) -> Callable[[Any, np.random.Generator], FeatureMap]:
    return MAPS[request.param]


@pytest.fixture
def made(make: Any, rows: Any) -> FeatureMap:
    return make(rows, np.random.default_rng(3))


def test_the_seed_decides(make: Any, made: FeatureMap, rows: Any) -> None:
    again = make(rows, np.random.default_rng(3))
    np.testing.assert_array_equal(again.transform(rows), made.transform(rows))
    other = make(rows, np.random.default_rng(4)).transform(rows)
    assert other.shape[1] != made.n_outputs or (other != made.transform(rows)).any()


def test_a_stored_map_gives_the_same_bits(made: FeatureMap, rows: Any) -> None:
    arrays, meta = made.to_arrays()
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    copies = {name: array.copy(order="C") for name, array in arrays.items()}
    again = FeatureMap.from_arrays(copies, json.loads(json.dumps(meta)))
    assert type(again) is type(made)
    assert (again.n_features, again.n_outputs) == (made.n_features, made.n_outputs)
    np.testing.assert_array_equal(again.transform(rows), made.transform(rows))


def test_threads_change_nothing(
    made: FeatureMap, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_map, "MOST", 100)
    np.testing.assert_array_equal(made.transform(rows, threads=3), made.transform(rows))


def test_chunks_change_no_more_than_rounding_does(
    made: FeatureMap, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made.transform(rows)
    scale = abs(whole).max()
    monkeypatch.setattr(feature_map, "MOST", 97)
    # Amplified by the smallest eigenvalue that Nystrom keeps.
    allowed = np.full_like(whole, (1e-4 if isinstance(made, Nystrom) else 2e-6) * scale)
    if isinstance(made, Fourier):  # the phases of heavy tails are large, and rounded as such
        phases = abs(rows) @ abs(made.frequencies)
        allowed += 8 * 2.0**-24 * scale * np.hstack([phases, phases])
    assert (abs(made.transform(rows) - whole) <= allowed).all()
    one = np.vstack([made.transform(rows[i : i + 1]) for i in range(5)])
    assert (abs(one - whole[:5]) <= allowed[:5]).all()


def test_chunks_do_not_change_a_bit_of_fastfood(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = MAPS["fastfood"](rows, np.random.default_rng(3))
    whole = made.transform(rows)
    monkeypatch.setattr(feature_map, "MOST", 97)
    np.testing.assert_array_equal(made.transform(rows), whole)
    np.testing.assert_array_equal(made.transform(rows[7:8]), whole[7:8])


def test_rows_are_taken_as_they_come(made: FeatureMap, rows: Any) -> None:
    whole = made.transform(rows)
    assert made.transform(rows[:0]).shape == (0, made.n_outputs)
    atol = 1e-3 * abs(whole).max()
    np.testing.assert_allclose(made.transform(rows.astype(np.float64)), whole, rtol=0, atol=atol)
    if sparse.issparse(rows):
        wide = sparse.csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), rows.shape)  # fmt: skip  # noqa: E501
        np.testing.assert_array_equal(made.transform(wide), whole)
    else:
        np.testing.assert_allclose(
            made.transform(np.asfortranarray(rows)), whole, rtol=0, atol=atol
        )


def test_fastfood_takes_rows_that_may_not_be_written_to(covtype: Any) -> None:
    made = MAPS["fastfood"](covtype, np.random.default_rng(3))
    fixed = covtype.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(made.transform(fixed), made.transform(covtype))


def test_rows_that_do_not_fit_are_refused(made: FeatureMap, rows: Any) -> None:
    with pytest.raises(InputError, match="53 features and the map was made for 54"):
        made.transform(rows[:, :53])
    with pytest.raises(InputError, match="1 axes"):
        made.transform(np.zeros(54, np.float32))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["fourier", "fastfood"])
def test_values_that_are_not_finite_are_refused(name: str, value: float, covtype: Any) -> None:
    made = MAPS[name](covtype, np.random.default_rng(0))
    X = covtype[:10].copy()
    X[3, 5] = value
    with pytest.raises(InputError, match="not finite"):
        made.transform(X)


def test_damaged_arrays_are_refused(made: FeatureMap) -> None:
    arrays, meta = made.to_arrays()
    for name, array in arrays.items():
        with pytest.raises(InputError, match=rf"lacks '{name}"):
            FeatureMap.from_arrays({k: v for k, v in arrays.items() if k != name}, meta)
        for damaged in _damage(array):
            with pytest.raises(InputError):
                FeatureMap.from_arrays({**arrays, name: damaged}, meta)


def _damage(array: Any) -> list[Any]:
    odd = array.copy()
    odd[(0,) * odd.ndim] = 1_000_000 if array.dtype.kind == "i" else np.nan
    return [array[:-1], array[..., None], array.astype("U9"), array[:0], odd]


def test_damaged_records_are_refused(made: FeatureMap) -> None:
    arrays, meta = made.to_arrays()
    with pytest.raises(InputError, match="not one of fastfood, fourier, ltpu, nystrom"):
        FeatureMap.from_arrays(arrays, {**meta, "rule": "magic"})
    for name in meta:
        with pytest.raises(InputError):
            FeatureMap.from_arrays(arrays, {k: v for k, v in meta.items() if k != name})
    for kernel in ({"name": "rbf", "gamma": -1}, {"sigma": 1}, 7, None):
        with pytest.raises(InputError):
            FeatureMap.from_arrays(arrays, {**meta, "kernel": kernel})


def test_a_permutation_that_is_none_is_refused(covtype: Any) -> None:
    arrays, meta = MAPS["fastfood"](covtype, np.random.default_rng(0)).to_arrays()
    order = arrays["order"].copy()
    order[1, 2] = order[1, 3]
    with pytest.raises(InputError, match="not a permutation"):
        FeatureMap.from_arrays({**arrays, "order": order}, meta)


def test_memory_beside_the_result_is_bounded(
    made: FeatureMap, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    write = type(made)._write

    def watch(self: Any, X: Any, out: Any) -> None:
        seen.append(X.shape[0] * self._numbers_per_row)
        write(self, X, out)

    monkeypatch.setattr(type(made), "_write", watch)
    monkeypatch.setattr(feature_map, "WORK", 1 << 15)
    made.transform(rows)
    assert len(seen) > 1
    assert max(seen) <= max(1 << 15, feature_map.FEWEST * made._numbers_per_row)


def test_after_warm_up_nothing_compiles() -> None:
    warm_up()
    entries = (hadamard.walsh_hadamard, hadamard.fastfood_products)
    before = [list(entry.signatures) for entry in entries]
    X = np.ones((70, 5), np.float32)
    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X)):
        Fastfood.draw(RBF, 5, 50, np.random.default_rng(0)).transform(rows, threads=2)
    assert before[1]
    assert [list(entry.signatures) for entry in entries] == before
