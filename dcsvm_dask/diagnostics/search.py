"""What a search has found so far, read from its folder alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, parameters_of
from dcsvm_dask.methods.registry import options_of
from dcsvm_dask.methods.search.blocks import SOLVE
from dcsvm_dask.methods.search.graph import EARLY, EXACT, METHOD, Search
from dcsvm_dask.methods.search.held_out import SPLIT
from dcsvm_dask.methods.search.scores import SCORES, Scores, accuracies, no_scores
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import StageId
from dcsvm_dask.storage.state import read_state


def is_search(run: RunFolder) -> bool:
    """Return whether a run is a search over parameters."""
    return bool(run.header["settings"].get("method") == METHOD)


def results(run: RunFolder) -> list[dict[str, Any]]:
    """Return a row for each candidate of a search, in the order of their numbers.

    It may be called while the search runs.

    Returns
    -------
    list of dict
        ``candidate`` (its number), ``kernel``, ``C``, ``gamma``, ``degree``, ``coef0``;
        ``accuracy`` and ``accuracy_std`` (over the folds; of the exact score where there is one),
        ``early_accuracy``, ``early_seconds`` (of a core), ``exact_accuracy``, ``exact_seconds``,
        ``support`` (support vectors of the exact SVMs, on average), ``share`` (of the held-out rows
        that the early score covers), ``solved`` (whether all SVMs reached the tolerance),
        ``splits`` (the accuracy of each fold), ``best`` (whether it is the chosen one) and ``rank``
        (from 1). Unknown values are None.

    Raises
    ------
    InputError
        If the run is no search.
    """
    name, options = options_of(run.header["settings"])
    if name != METHOD or not isinstance(options, Search):
        raise InputError(f"{run.place}: is a run of {name}; give the folder of a search")
    candidates = options.candidates(run.header["settings"]["kernel"]["name"])
    early, exact = _early(run, candidates), _exact(run, len(candidates))
    whole = _is_one_block(run)
    done = _outcome(run)
    rows = []
    for number, (kernel, C) in enumerate(candidates):
        row: dict[str, Any] = {
            "candidate": number,
            "kernel": kernel.name,
            "C": C,
            **{key: getattr(kernel, key) for key in ("gamma", "degree", "coef0")},
            "early_accuracy": None,
            "early_seconds": None,
            "exact_accuracy": None,
            "exact_seconds": None,
            "support": None,
            "share": 0.0,
            "solved": None,
            "splits": [],
        }
        for kind, found in (("exact" if whole else "early", early), ("exact", exact)):
            if found is None or not found["rows"][number].any():
                continue
            row[f"{kind}_accuracy"] = float(accuracies(found)[number])
            row[f"{kind}_seconds"] = float(found["seconds"][number])
            row["solved"] = bool(found["solved"][number])
            known = found["rows"][number] > 0
            row["splits"] = (found["right"][number][known] / found["rows"][number][known]).tolist()
            if "support" in found:
                row["support"] = float(found["support"][number])
            else:
                row["share"] = float(found["rows"][number].sum() / found["rows"].sum(axis=1).max())
        first = row["exact_accuracy"]
        row["accuracy"] = row["early_accuracy"] if first is None else first
        row["accuracy_std"] = float(np.std(row["splits"])) if row["splits"] else None
        row["best"] = number == done
        rows.append(row)
    _rank(rows)
    return rows


def _rank(rows: list[dict[str, Any]]) -> None:
    """Set the rank of each row: exact scores first, then early ones by the share of rows they
    cover.
    """

    def order(row: dict[str, Any]) -> tuple[bool, float, float]:
        accuracy = row["accuracy"]
        known = -np.inf if accuracy is None else accuracy
        return (row["exact_accuracy"] is None, -round(row["share"], 6), -known)

    for rank, row in enumerate(sorted(rows, key=order), start=1):
        row["rank"] = rank


def _outcome(run: RunFolder) -> int | None:
    """Return the candidate that was chosen; None while the search goes on."""
    left = read_state(run)
    if left.get("state") != "complete":
        return None
    node = run.find(left["stage"], "commit")
    return None if node is None else int(node.record["best"])


def _is_one_block(run: RunFolder) -> bool:
    return not run.header["settings"]["clusters"]


def _early(run: RunFolder, candidates: list[tuple[Kernel, float]]) -> Scores | None:
    """Return the early scores of the last committed rung and of committed tasks of the next one."""
    stages = sorted(
        (stage for stage in map(StageId, run.stages()) if stage.kind == EARLY),
        key=lambda stage: stage.number or 0,
    )
    found: Scores | None = None
    for stage in stages:
        commit = run.find(stage, "commit")
        if commit is not None:
            found = {name: commit.read(name) for name in SCORES}
            continue
        for name, node in run.read(stage).items():
            if not name.startswith(SOLVE):
                continue
            right = node.read("right")
            if found is None:
                found = no_scores(len(candidates), right.shape[1])
            places = node.record["candidates"]
            found["right"][places] += right
            found["rows"][places] += node.read("rows")
            found["seconds"][places] += node.read("seconds")
            found["solved"][places] &= node.read("solved")
    return found


def _exact(run: RunFolder, n: int) -> Scores | None:
    """Return the exact scores of the candidates whose folds are all scored."""
    if EXACT not in run.stages():
        return None
    commit = run.find(EXACT, "commit")
    if commit is not None:
        return {name: commit.read(name) for name in (*SCORES, "support")}
    folds = max(1, run.node(SPLIT, "commit").record["folds"])
    found = {**no_scores(n, folds), "support": np.zeros(n)}
    for node in run.read(EXACT).values():
        record = node.record
        place = record["candidate"]
        found["right"][place, record["fold"]] = record["right"]
        found["rows"][place, record["fold"]] = record["rows"]
        found["seconds"][place] += record["fit_seconds"]
        found["solved"][place] &= record["solved"]
        found["support"][place] += record["support"] / folds
    found["rows"][~(found["rows"] > 0).all(axis=1)] = 0.0
    return found


def grid(rows: list[dict[str, Any]]) -> str:
    """Return accuracies in per cent as a table, a line for each kernel and a column for each C.

    An exact score has no mark, an early one has a ~; ! marks SVMs that did not reach the tolerance.
    """
    shown = parameters_of(rows[0]["kernel"])
    varied = [key for key in shown if len({row[key] for row in rows}) > 1] or list(shown[:1])
    costs = sorted({row["C"] for row in rows})
    lines: dict[tuple[Any, ...], dict[float, str]] = {}
    for row in rows:
        lines.setdefault(tuple(row[key] for key in varied), {})[row["C"]] = _cell(row)
    head = [" ".join(varied) or "kernel", *(f"C {C:.4g}" for C in costs)]
    body = [
        [" ".join(f"{value:.4g}" for value in key) or rows[0]["kernel"], *(of[C] for C in costs)]
        for key, of in lines.items()
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(
        "  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True))
        for line in (head, *body)
    )


def described(row: dict[str, Any]) -> str:
    """Return a candidate in a few words."""
    of_kernel = "".join(f", {key} {row[key]:.6g}" for key in parameters_of(row["kernel"]))
    how = "by blocks" if row["exact_accuracy"] is None else "exact"
    if not row["solved"]:
        how += ", NOT solved: raise --budget, or use another candidate"
    return f"C {row['C']:.6g}{of_kernel}: accuracy {row['accuracy']:.4f} ({how})"


def _cell(row: dict[str, Any]) -> str:
    if row["accuracy"] is None:
        return "-"
    marks = ("" if row["exact_accuracy"] is not None else "~") + ("" if row["solved"] else "!")
    return f"{marks}{100 * row['accuracy']:.2f}" + ("*" if row["best"] else "")
