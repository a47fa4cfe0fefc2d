"""What a search has found so far, read from its folder alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import parameters_of
from dcsvm_dask.methods.registry import options_of
from dcsvm_dask.methods.search.blocks import SOLVE
from dcsvm_dask.methods.search.graph import EARLY, EXACT, METHOD, Search
from dcsvm_dask.methods.search.held_out import SPLIT
from dcsvm_dask.methods.search.scores import (
    Scores,
    mean_scores,
    no_scores,
    read_scores,
    score_errors,
    sums_of,
)
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.storage.state import read_state
from dcsvm_dask.tasks import ACCURACY, WITHOUT_C, Tally, main_key, score_text, scores_in, tally_of
from dcsvm_dask.tasks.safe_choice import safest
from dcsvm_dask.tasks.scores import LOWER_IS_BETTER, SEARCH_SCORES, SHARES


def is_search(run: RunFolder) -> bool:
    """Return whether a run is a search over parameters."""
    return bool(run.header["settings"].get("method") == METHOD)


def results(run: RunFolder) -> list[dict[str, Any]]:
    """Return a row for each candidate of a search, in the order of their numbers.

    It may be called while the search runs.

    Returns
    -------
    list of dict
        ``candidate`` (its number), ``kernel``, ``C``, ``gamma``, ``degree``, ``coef0``, and
        ``epsilon`` or ``nu`` where it is searched over; ``accuracy``, ``accuracy_std`` (over the
        folds; of the exact score where there is one) and ``accuracy_error`` (the standard error of
        their mean), ``early_accuracy``, ``early_seconds`` (of a core), ``exact_accuracy``,
        ``exact_seconds``, ``support`` (support vectors of the exact SVMs, on average), ``share``
        (of the held-out rows that the early score covers), ``solved`` (whether all SVMs reached the
        tolerance), ``splits`` (the accuracy of each fold), ``best`` (whether it is the chosen one)
        and ``rank`` (from 1, which is the chosen one: the best, or the best solved one within its
        standard error where that is not solved). Where the search is scored so, there is
        ``balanced_accuracy`` or ``auc`` in the place of accuracy, which stands beside it. Of
        regression there is ``r2``, with ``mae`` and ``rmse`` beside it, of quantiles ``pinball``
        with ``coverage``.
        Unknown values are None.

    Raises
    ------
    InputError
        If the run is no search.
    """
    name, options = options_of(run.header["settings"])
    if name != METHOD or not isinstance(options, Search):
        raise InputError(f"{run.place}: is a run of {name}; give the folder of a search")
    candidates = options.candidates(run.header["settings"]["kernel"]["name"])
    tally = tally_of_run(run)
    early, exact = _early(run, len(candidates), tally), _exact(run, len(candidates), tally)
    whole, main = _is_one_block(run), tally.main
    done = _outcome(run)
    kinds = [
        (kind, found, mean_scores(found, tally), score_errors(found, tally))
        for kind, found in (("exact" if whole else "early", early), ("exact", exact))
        if found is not None
    ]
    rows, with_c = [], run.header["settings"].get("task") not in WITHOUT_C
    for number, (kernel, C, epsilon, nu) in enumerate(candidates):
        row: dict[str, Any] = {
            "candidate": number,
            "kernel": kernel.name,
            "C": C if with_c else None,
            **{key: getattr(kernel, key) for key in ("gamma", "degree", "coef0")},
            **({} if epsilon is None else {"epsilon": epsilon}),
            **({} if nu is None else {"nu": nu}),
            f"early_{main}": None,
            "early_seconds": None,
            f"exact_{main}": None,
            "exact_seconds": None,
            "support": None,
            "share": 0.0,
            "solved": None,
            "splits": [],
        }
        scores: dict[str, float | None] = dict.fromkeys(tally.names)
        row |= {f"{main}_std": None, f"{main}_error": None}
        for kind, found, mean, errors in kinds:
            if not found["rows"][number].any():
                continue
            scores = {name: _finite(mean[name][number]) for name in tally.names}
            row[f"{kind}_{main}"] = scores[main]
            row[f"{kind}_seconds"] = float(found["seconds"][number])
            row["solved"] = bool(found["solved"][number])
            known = found["rows"][number] > 0
            sums = {name: found[name][number][known] for name in tally.sums}
            each = tally.scores(sums, found["rows"][number][known])[main]
            row["splits"] = [_finite(score) for score in each]
            row[f"{main}_error"] = float(errors[number])
            if "support" in found:
                row["support"] = float(found["support"][number])
            else:
                row["share"] = float(found["rows"][number].sum() / found["rows"].sum(axis=1).max())
        row |= scores
        if row["splits"] and None not in row["splits"]:
            row[f"{main}_std"] = float(np.std(row["splits"]))
        row["best"] = number == done
        rows.append(row)
    _rank(rows)
    return rows


def tally_of_run(run: RunFolder) -> Tally:
    """Return the scores of a search's candidates, of which one ranks them."""
    settings = Settings.from_json(run.header["settings"])
    return tally_of(settings.make_task(), scoring=settings.options.get("scoring", ACCURACY))


def largest_class(run: RunFolder) -> float | None:
    """Return the accuracy of always predicting the largest class; None where it is not known."""
    split = run.find(SPLIT, "commit")
    return None if split is None else split.record.get("largest_class")


def _finite(score: float) -> float | None:
    """Return a score; None where an SVM could not be trained at all."""
    return float(score) if np.isfinite(score) else None


def _rank(rows: list[dict[str, Any]]) -> None:
    """Set the rank of each row.

    Exact scores come first, then early ones by the share of rows they cover; the row that would be
    chosen now is before all.
    """
    order = sorted(rows, key=lambda row: (*scored_on(row), -merit(row)))
    first = [row for row in order if scored_on(row) == scored_on(order[0])]
    errors = [row[f"{scored_by(row)}_error"] or 0.0 for row in first]
    solved = [bool(row["solved"]) for row in first]
    chosen = safest([merit(row) for row in first], errors, solved)
    order.insert(0, order.pop(chosen))
    for rank, row in enumerate(order, start=1):
        row["rank"] = rank


def scored_on(row: Mapping[str, Any]) -> tuple[bool, float]:
    """Return what a candidate was scored on, the most first; scores on the same compare."""
    return not is_exact(row), -round(row["share"], 6)


def merit(row: Mapping[str, Any]) -> float:
    """Return the score that ranks a candidate, with its sign: more is better."""
    main = scored_by(row)
    if row[main] is None:
        return -np.inf
    return float(-row[main] if main in LOWER_IS_BETTER else row[main])


def _outcome(run: RunFolder) -> int | None:
    """Return the candidate that was chosen; None while the search goes on."""
    left = read_state(run)
    if left.get("state") != "complete":
        return None
    node = run.find(left["stage"], "commit")
    return None if node is None else int(node.record["best"])


def _is_one_block(run: RunFolder) -> bool:
    return not run.header["settings"]["clusters"]


def _early(run: RunFolder, candidates: int, tally: Tally) -> Scores | None:
    """Return the early scores of the last committed rung and of committed tasks of the next one."""
    stages = sorted(
        (stage for stage in map(StageId, run.stages()) if stage.kind == EARLY),
        key=lambda stage: stage.number or 0,
    )
    found: Scores | None = None
    for stage in stages:
        commit = run.find(stage, "commit")
        if commit is not None:
            found = read_scores(commit, tally)
            continue
        for name, node in run.read(stage).items():
            if not name.startswith(SOLVE):
                continue
            rows = node.read("rows")
            if found is None:
                found = no_scores(candidates, rows.shape[1], tally)
            places = node.record["candidates"]
            for name_of_sum in (*tally.sums, "seconds"):
                found[name_of_sum][places] += node.read(name_of_sum)
            found["rows"][places] += rows
            found["solved"][places] &= node.read("solved")
    return found


def _exact(run: RunFolder, n: int, tally: Tally) -> Scores | None:
    """Return the exact scores of the candidates whose folds are all scored."""
    if EXACT not in run.stages():
        return None
    commit = run.find(EXACT, "commit")
    if commit is not None:
        return {**read_scores(commit, tally), "support": commit.read("support")}
    folds = max(1, run.node(SPLIT, "commit").record["folds"])
    found = {**no_scores(n, folds, tally), "support": np.zeros(n)}
    for node in run.read(EXACT).values():
        record = node.record
        place = record["candidate"]
        for name, value in sums_of(record, tally).items():
            found[name][place, record["fold"]] = value
        found["rows"][place, record["fold"]] = record["rows"]
        found["seconds"][place] += record["fit_seconds"]
        found["solved"][place] &= record["solved"]
        found["support"][place] += record["support"] / folds
    found["rows"][~(found["rows"] > 0).all(axis=1)] = 0.0
    return found


def grid(rows: list[dict[str, Any]]) -> str:
    """Return main scores as a table, a line for each kernel and epsilon, a column for each C.

    An exact score has no mark, an early one has a ~; ! marks SVMs that did not reach the tolerance.
    """
    varied = varied_in(rows)
    costs = sorted({row["C"] for row in rows})
    lines: dict[tuple[Any, ...], dict[float, str]] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in varied), {})[row["C"]] = _cell(row)
    main = SEARCH_SCORES[scored_by(rows[0])]
    head = [" ".join(varied) or "kernel", *(main if C is None else f"C {C:.4g}" for C in costs)]
    body = [
        [" ".join(f"{value:.4g}" for value in key) or rows[0]["kernel"], *(of[C] for C in costs)]
        for key, of in lines.items()
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))
        for line in (head, *body)
    )


def lines_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters of a candidate beside C, those of its kernel first."""
    own = (name for name in ("epsilon", "nu") if name in row)
    return (*parameters_of(row["kernel"]), *own)


def varied_in(rows: list[dict[str, Any]]) -> list[str]:
    """Return the parameters beside C that differ between candidates; the first where none does."""
    shown = lines_of(rows[0])
    return [key for key in shown if len({row[key] for row in rows}) > 1] or list(shown[:1])


def scored_by(row: Iterable[str]) -> str:
    """Return the key of the score that ranks candidates, given the keys of one of them."""
    main = main_key(row)
    assert main is not None
    return main


def is_exact(row: Mapping[str, Any]) -> bool:
    """Whether the score of a candidate is that of SVMs of all rows that train."""
    return row[f"exact_{scored_by(row)}"] is not None


def shown_score(name: str, value: float) -> str:
    """Return a score as a grid shows it: shares in per cent."""
    if name in SHARES:
        return f"{100 * value:.2f}"
    return f"{value:.4f}" if name == "r2" else f"{value:.4g}"


def described(row: dict[str, Any]) -> str:
    """Return a candidate in a few words."""
    others = "".join(f", {key} {row[key]:.6g}" for key in lines_of(row))
    how = "exact" if is_exact(row) else "by blocks"
    if not row["solved"]:
        how += ", NOT solved: raise --budget, or use another candidate"
    scores = ", ".join(score_text(*one) for one in scores_in(row, SEARCH_SCORES))
    own = others.removeprefix(", ") if row["C"] is None else f"C {row['C']:.6g}{others}"
    return f"{own}: {scores} ({how})"


def _cell(row: dict[str, Any]) -> str:
    main = scored_by(row)
    if row[main] is None:
        return "-" if row["solved"] is None else "!"
    marks = ("" if is_exact(row) else "~") + ("" if row["solved"] else "!")
    return f"{marks}{shown_score(main, row[main])}" + ("*" if row["best"] else "")
