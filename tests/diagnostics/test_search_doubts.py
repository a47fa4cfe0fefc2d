"""What the summary of a search warns of."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.search_doubts import doubts


def candidate(C: float, gamma: float, score: float, *, solved: bool = True) -> dict[str, Any]:
    return {
        "kernel": "rbf",
        "C": C,
        "gamma": gamma,
        "degree": 3,
        "coef0": 0.0,
        "accuracy": score,
        "accuracy_std": 0.02,
        "accuracy_error": 0.01,
        "splits": [score] * 5,
        "share": 1.0,
        "solved": solved,
        "exact_accuracy": score,
        "early_accuracy": None,
        "support": None,
    }


def ranked(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    order = sorted(rows, key=lambda row: -row["accuracy"])
    return [{**row, "rank": order.index(row) + 1, "best": row is order[0]} for row in rows]


def test_a_best_value_inside_the_grid_is_beyond_doubt() -> None:
    rows = [candidate(C, g, 0.9 - abs(C - 2) - abs(g - 2)) for C in (1, 2, 4) for g in (1, 2, 4)]
    assert doubts(ranked(*rows)) == []


def test_where_no_candidate_is_better_than_the_largest_class_no_direction_is_shown() -> None:
    rows = ranked(*(candidate(C, 1.0, 0.84 - 0.001 * C) for C in (1, 2, 4)))
    (said,) = doubts(rows, 0.835)
    assert "always predicting the largest class" in said
    assert "try smaller ones" in doubts(rows, 0.8)[0]


def test_a_best_value_at_the_edge_is_shown_with_the_way_out() -> None:
    rows = [candidate(C, g, 0.01 * C - 0.01 * g) for C in (1, 2, 4) for g in (1, 2)]
    assert doubts(ranked(*rows)) == [
        "the best C is the largest that was tried; try larger ones, too",
        "the best gamma is the least that was tried; try smaller ones, too",
    ]
    assert doubts(ranked(candidate(1.0, 1.0, 0.5))) == []  # there is no grid


def test_a_chosen_candidate_stands_beside_a_better_one_that_is_not_solved() -> None:
    rows = [
        candidate(1.0, 1.0, 0.895),
        candidate(2.0, 1.0, 0.90, solved=False),
        candidate(4.0, 1.0, 0.80),
    ]
    chosen = [{**row, "rank": rank} for row, rank in zip(rows, (1, 2, 3), strict=True)]
    (said,) = [one for one in doubts(chosen) if "C is the least" not in one]
    assert said.startswith("the chosen candidate is the best solved one within the standard error")
    assert "C 2" in said
    assert "NOT solved: raise --budget" in said
    (said,) = doubts(ranked(rows[1], candidate(1.0, 1.0, 0.7), candidate(4.0, 1.0, 0.8)))
    assert said.startswith("the best candidate is not solved to its tolerance")
    assert "raise --budget" in said
