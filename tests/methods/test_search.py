"""The plan of a search: tasks, memory and disk of two classes and of many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.plan import Plan, plan
from dcsvm_dask.methods.search.graph import METHOD, Search, rungs
from dcsvm_dask.methods.search.held_out import PART_ROWS
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.models.weighted_sample import SAMPLE
from dcsvm_dask.runtime.capacity import check_memory
from tests.typical import COVTYPE, GOALS, SETTINGS

COSTS, GAMMAS = [0.5, 8.0, 64.0], [0.25, 4.0]


def plan_of(shape: Shape = COVTYPE, clusters: int = 227, cap: int = 4096, **options: Any) -> Plan:
    own = Search(**{"C": COSTS, "gamma": GAMMAS, **options}).to_json()
    settings = replace(
        SETTINGS,
        method=METHOD,
        options=own,
        clusters=(clusters,) if clusters else (),
        block_cap=cap,
        set_cap=2 * cap,
    )
    return plan(settings, GOALS, shape)


def stage(made: Plan, name: str) -> Any:
    return next(one for one in made.stages if one.stage.name == name)


def many_classes(k: int) -> Shape:
    return replace(COVTYPE, class_rows=(COVTYPE.n_rows // k,) * k)


def test_no_more_is_written_than_there_are_candidates() -> None:
    every, more = plan_of(exact=6), plan_of(exact=10**6)
    assert more.disk_bytes == every.disk_bytes
    assert stage(more, "exact").written_bytes == 6 * 5 * 16 * COVTYPE.n_variables


def test_machines_of_many_classes_are_planned() -> None:
    two, ten, hundred = (plan_of(many_classes(k) if k > 2 else COVTYPE) for k in (2, 10, 100))
    written = [stage(made, "exact").written_bytes for made in (two, ten, hundred)]
    assert written == [written[0], 9 * written[0], 99 * written[0]]
    for name in ("early-1", "exact"):
        needs = [stage(made, name).need.most for made in (two, ten, hundred)]
        assert needs == sorted(set(needs))
    beside = stage(hundred, "exact").need.most - stage(two, "exact").need.most
    assert beside > 4 * 98 * 8 * COVTYPE.n_variables  # alpha and gradient, and those before


def test_rows_that_are_held_out_are_decided_by_parts() -> None:
    few, many = (plan_of(folds=0, held_out=rows) for rows in (2 * PART_ROWS, 10**9))
    assert stage(few, "early-1").need == stage(many, "early-1").need
    assert stage(many, "early-1").kernel_values > stage(few, "early-1").kernel_values


def test_what_is_known_of_all_variables_is_planned() -> None:
    """Blocks stay as large: what a task holds grows with the variables."""
    many = replace(COVTYPE, **{k: 8 * getattr(COVTYPE, k) for k in ("n_rows", "n_bytes")})
    many = replace(many, n_variables=8 * COVTYPE.n_variables)
    few, more = (
        stage(plan_of(shape, clusters, cap=256), "early-1").need
        for shape, clusters in ((COVTYPE, 4_000), (many, 32_000))
    )
    assert more.n_bytes - few.n_bytes >= 70 * 7 * COVTYPE.n_variables
    # A sample of all variables meets itself, however small blocks are.
    assert few.n_bytes >= 8 * SAMPLE**2 + 70 * COVTYPE.n_variables


def test_what_does_not_fit_names_an_option_of_the_search() -> None:
    with pytest.raises(InputError, match="or lower --block-rows"):
        check_memory(plan_of(), 1 << 29)


def test_a_task_knows_that_it_is_without_others() -> None:
    for made, alone in (
        (plan_of(gamma=[1.0], clusters=0), True),
        (plan_of(clusters=0), False),
        (plan_of(gamma=[1.0], exact=1), False),
    ):
        nodes = stage(made, "early-1").stage.layers[0].nodes
        assert {node.arguments["alone"] for node in nodes} == {alone}


def test_rungs_add_up_to_all_blocks() -> None:
    options = Search(halving=True)
    assert rungs(options, 1, 100) == [(0, 1)]
    found = rungs(options, 30, 100)
    assert [first for first, _ in found] == [0, *(last for _, last in found[:-1])]
    assert found[-1][1] == 30
