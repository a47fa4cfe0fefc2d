"""The rounds of a search within a time limit: what comes next, what is chosen."""

from __future__ import annotations

from itertools import product

import pytest

from dcsvm_dask.pipeline.rounds import (
    EDGE,
    FINE,
    FIRST_ROWS,
    GRID,
    MORE,
    MOST_EDGES,
    MOST_ROWS,
    START,
    Round,
    Scored,
    choose,
    edges,
    next_rounds,
    round_seconds,
    sample_sizes,
    training_seconds,
)


def scored(C: float, gamma: float = 1.0, score: float = 0.5, **more: object) -> Scored:
    made = {"rows": 100, "error": 0.01, "solved": True, "seconds": 1.0, **more}
    return Scored(C=C, gamma=gamma, score=score, **made)  # type: ignore[arg-type]


def played(n: int, peak: tuple[float, float], most: int = 30) -> tuple[list[Round], list[Scored]]:
    """Return rounds and candidates of a search whose score falls with the distance of a peak."""
    done: list[Round] = []
    found: dict[tuple[int, float, float], Scored] = {}
    while options := next_rounds(done, [*found.values()], n, 1.0, 1.0):
        assert len(done) < most
        done.append(options[0])
        for C, gamma in product(options[0].C, options[0].gamma):
            off = max(C / peak[0], peak[0] / C) * max(gamma / peak[1], peak[1] / gamma)
            key = options[0].rows, C, gamma
            found[key] = scored(C, gamma, 1 / off, rows=options[0].rows, error=0.0)
    return done, [*found.values()]


def test_the_usual_values_come_first_and_alone() -> None:
    assert next_rounds([], [], 9000, 2.0, 0.5) == [Round(START, FIRST_ROWS, (2.0,), (0.5,))]


def test_a_peak_inside_of_the_grid_is_found_and_confirmed_on_more_rows() -> None:
    done, found = played(50_000, (8.0, 0.5))
    assert [one.kind for one in done][:4] == [START, GRID, FINE, MORE]
    best = choose(found)
    assert (best.C, best.gamma, best.rows) == (8.0, 0.5, MOST_ROWS)
    assert not edges(found, best)


def test_of_candidates_that_are_about_equal_the_usual_one_is_chosen() -> None:
    flat = [scored(1.0, score=0.765), scored(4.0, score=0.766), scored(1024.0, score=0.767)]
    flat.append(scored(0.25, score=0.766))
    assert choose(flat).C == 1.0
    assert not edges(flat, choose(flat))
    assert choose([scored(4.0), scored(1.0), scored(16.0)]).C == 4.0
    assert choose([*flat, scored(16.0, score=0.78)]).C == 16.0
    slow = scored(1024.0, score=0.78, solved=False)
    assert choose([*flat, slow, scored(16.0, score=0.779)]).C == 16.0


def test_few_rows_are_no_sample() -> None:
    assert sample_sizes(300) == (300,)
    assert sample_sizes(7000) == (FIRST_ROWS, 7000)
    done, _ = played(300, (1.0, 1.0))
    assert {one.rows for one in done} == {300}


@pytest.mark.parametrize("peak", [(2.0**11, 1.0), (2.0**-9, 1.0), (1.0, 2.0**7), (1.0, 2.0**-10)])
def test_a_grid_whose_edge_is_best_is_extended(peak: tuple[float, float]) -> None:
    done, found = played(300, peak)
    assert EDGE in [one.kind for one in done]
    best = choose(found)
    assert (best.C, best.gamma) == peak
    assert not edges(found, best)


def test_a_peak_without_end_is_not_followed_for_ever_and_is_reported() -> None:
    done, found = played(300, (2.0**60, 1.0))
    assert [one.kind for one in done].count(EDGE) == MOST_EDGES
    assert ("C", 4.0) in edges(found, choose(found))


def test_a_grid_has_smaller_forms_for_little_time() -> None:
    options = next_rounds([Round(START, 100, (1.0,), (1.0,))], [scored(1.0)], 100, 1.0, 1.0)
    counts = [len(one.C) * len(one.gamma) for one in options]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] <= 3
    assert all(1.0 in one.C and 1.0 in one.gamma for one in options)


def test_an_edge_of_a_smaller_grid_on_more_rows_is_none_of_all_that_was_tried() -> None:
    small = [scored(C, score=1 / abs(C - 5)) for C in (0.25, 1.0, 4.0, 16.0)]
    more = [scored(4.0, score=0.8, rows=300), scored(16.0, score=0.7, rows=300)]
    best = choose([*small, *more])
    assert edges(more, best) == (("C", 0.25),)
    assert edges([*small, *more], best) == ()
    assert edges(small, small[0]) == (("C", 0.25),)


def test_beyond_an_edge_there_is_a_single_candidate_for_little_time() -> None:
    done = [Round(START, 100, (1.0,), (1.0,)), Round(GRID, 100, (1.0, 4.0), (1.0,))]
    options = next_rounds(done, [scored(1.0), scored(4.0, score=0.9)], 100, 1.0, 1.0)
    assert [one.kind for one in options] == [EDGE, EDGE]
    assert (options[-1].C, options[-1].gamma) == ((16.0,), (1.0,))


def test_a_solved_candidate_is_chosen_over_one_that_is_not_within_its_error() -> None:
    unsolved = scored(64.0, score=0.905, solved=False)
    assert choose([scored(1.0, score=0.90), unsolved]).C == 1.0
    assert choose([scored(1.0, score=0.89), unsolved]).C == 64.0


def test_a_larger_sample_decides_only_where_the_best_candidate_was_scored_on_it() -> None:
    small = [scored(1.0, score=0.8), scored(4.0, score=0.9)]
    assert choose([*small, scored(1.0, score=0.85, rows=300)]).C == 4.0
    both = [scored(1.0, score=0.85, rows=300), scored(4.0, score=0.84, rows=300)]
    assert choose([*small, *both]).C == 1.0


def test_times_grow_with_new_candidates_and_with_the_square_of_the_rows() -> None:
    known = [scored(1.0, seconds=2.0)]
    one = round_seconds(Round(GRID, 100, (1.0, 4.0), (1.0,)), known)
    two = round_seconds(Round(GRID, 100, (1.0, 4.0, 16.0), (1.0,)), known)
    more = round_seconds(Round(MORE, 300, (4.0,), (1.0,)), known)
    assert two - one == pytest.approx(more / 9 - (more - 9 * (two - one)) / 9)
    assert training_seconds(known[0], 8000, 5) - training_seconds(known[0], 80, 5) > 1000
