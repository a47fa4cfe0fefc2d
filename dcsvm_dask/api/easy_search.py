"""The search of `easy`: rounds of candidates in this process, until the time is used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from dcsvm_dask.api.ingesting import ingest
from dcsvm_dask.api.resuming import resume
from dcsvm_dask.api.run import Run, open_run
from dcsvm_dask.api.searching import search
from dcsvm_dask.diagnostics.search import scored_by
from dcsvm_dask.errors import RunError
from dcsvm_dask.numbers import counted
from dcsvm_dask.pipeline.rounds import (
    Round,
    Scored,
    choose,
    next_rounds,
    round_seconds,
    training_seconds,
)
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import is_data_set
from dcsvm_dask.storage.easy import TRAINING, EasyFolder
from dcsvm_dask.tasks.scores import SEARCH_SCORES

FOLDS = 5
SEARCH_SHARE = 0.25
"""Share of the time that the search has in any case."""
LEAST_BUDGET = 1.0
"""Seconds that a round has at least; its first tasks end in any case."""


class Clock:
    """The time limit of a call.

    Parameters
    ----------
    total : float
        Seconds.
    """

    def __init__(self, total: float) -> None:
        self.total, self._search = total, total
        self.since = time.time()
        """The time of the begin, from which lines count their seconds."""
        self.compiling = 0.0
        """Seconds of compilation, which is no part of what the time is for."""

    def elapsed(self) -> float:
        """Return the seconds since the begin, as lines show them."""
        return time.time() - self.since

    def spent(self) -> float:
        """Return the seconds since the begin without compilation."""
        return self.elapsed() - self.compiling

    @contextmanager
    def without_compilation(self) -> Iterator[None]:
        """Leave out the time for which code is compiled meanwhile."""
        from numba.core.event import install_timer

        def add(seconds: float) -> None:
            self.compiling += seconds

        with install_timer("numba:compile", add):
            yield

    def reserve(self, seconds: float) -> None:
        """Leave time for the training: the search's end comes nearer, but never goes away."""
        self._search = min(self._search, max(self.total - seconds, SEARCH_SHARE * self.total))

    @property
    def search_end(self) -> float:
        """Seconds from the begin, as lines show them, after which no candidate is begun."""
        return self._search + self.compiling

    def left(self) -> float:
        """Return the seconds that the search has left."""
        return self.search_end - self.elapsed()


class EasySearch:
    """A search by rounds, each a run folder.

    Parameters
    ----------
    folder : EasyFolder
    data : DataSet
        The training rows.
    usual : dict
        What all candidates have beside C and gamma.
    scoring : str or None
        The score of classes that ranks candidates, as `search` has it.
    clock : Clock
    say : callable
    """

    def __init__(
        self,
        folder: EasyFolder,
        data: DataSet,
        usual: dict[str, Any],
        scoring: str | None,
        clock: Clock,
        say: Callable[..., None],
    ) -> None:
        self._folder, self._data, self._usual = folder, data, usual
        self._scoring, self._clock, self._say = scoring, clock, say
        self._scored: dict[tuple[int, float, float], Scored] = {}

    def run(self, C: float, gamma: float) -> list[Scored]:
        """Return the scored candidates; rounds of an earlier call are read or gone on with."""
        done = [_round_of(one) for one in self._folder.state["rounds"]]
        # With more candidates the one whose training has begun might no longer be the best.
        ended = self._folder.state["state"] == TRAINING
        for number, one in enumerate(done):
            if ended:
                self._take(open_run(self._folder.search(number)), one)
            else:
                self._carry(number, one)
        if ended:
            return [*self._scored.values()]
        while True:
            found, n = [*self._scored.values()], self._data.n_rows
            options = next_rounds(done, found, n, C, gamma)
            left = self._clock.left()
            fits = [one for one in options if not found or round_seconds(one, found) <= left]
            if not fits:
                self._say(f"the search ends: {_why(len(options), left)}")
                return found
            done.append(fits[0])
            self._folder.write(rounds=[asdict(each) for each in done])
            self._carry(len(done) - 1, fits[0])

    def _carry(self, number: int, one: Round) -> None:
        """Score the candidates of a round."""
        place, sample = self._folder.search(number), self._sample(one.rows)
        budget = max(self._clock.left(), LEAST_BUDGET) if self._scored else None
        how: dict[str, Any] = {
            "execution": Execution(workers=0, time_budget=budget),
            "quiet": True,
            "report": False,
        }
        if not (place / "run.json").exists():
            run = search(
                sample,
                place,
                C=one.C,
                gamma=one.gamma,
                cv=FOLDS,
                exact="all",
                scoring=self._scoring,
                refit=False,
                **self._usual,
                **how,
            )
        else:
            run = open_run(place)
            if run.status()["state"] != "complete":
                run = resume(place, **how)
        self._take(run, one)

    def _take(self, run: Run, one: Round) -> None:
        """Keep the scores of a round, and say what is the best candidate so far."""
        new = 0
        for row in run.results():
            main = scored_by(row)
            if row[main] is None or row[f"{main}_error"] is None:
                continue
            key = (one.rows, row["C"], row["gamma"])
            new += key not in self._scored
            self._scored[key] = Scored(
                *key,
                score=row[main],
                error=row[f"{main}_error"],
                solved=bool(row["solved"]),
                seconds=row["exact_seconds"] or row["early_seconds"] or 0.0,
            )
        if not self._scored:
            raise RunError(
                f"{run.url}: no candidate could be scored; `dcsvm status {run.url}` says why"
            )
        best = choose([*self._scored.values()])
        self._clock.reserve(training_seconds(best, self._data.n_rows, FOLDS))
        score = f"{SEARCH_SCORES[scored_by(row)]} {best.score:.4f} +- {best.error:.4f}"
        self._say(
            f"search until {self._clock.search_end:.0f} s at most: {one.kind}, "
            f"{counted(new, 'new candidate')} on {one.rows:,} rows; best {score} with "
            f"C {best.C:.6g}, gamma {best.gamma:.6g}"
        )

    def _sample(self, rows: int) -> str:
        """Return the address of a random sample of the training rows, all of them where so many."""
        if rows >= self._data.n_rows:
            return self._data.url
        place = self._folder.sample(rows)
        if not is_data_set(place):
            ingest(
                self._data.url,
                place,
                train_rows=rows,
                shuffle=True,
                seed=self._usual["seed"],
                task=self._data.task,
            )
        return f"{place}/train"


def _round_of(one: dict[str, Any]) -> Round:
    return Round(one["kind"], one["rows"], tuple(one["C"]), tuple(one["gamma"]))


def _why(rounds: int, left: float) -> str:
    """Return why a search ends, given how many rounds could follow and the seconds left."""
    if not rounds:
        return "nothing is left to try"
    if left < 1.0:
        return "its time is used up"
    return f"no further round fits the remaining {left:.0f} s"
