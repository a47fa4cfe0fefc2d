"""The parameters of `train`, checked, and what they mean for a data set."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, check_rule, gamma_by
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.options import NoOptions, Options
from dcsvm_dask.methods.registry import METHODS, options_of
from dcsvm_dask.methods.run_data import seen_by
from dcsvm_dask.methods.settings import BLOCK_CAP, CAPS, Settings, usual_set_cap
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.parameters import DEFAULT_METHOD, check_parameters, described
from dcsvm_dask.pipeline.data_checks import (
    check_classes,
    check_largest,
    class_weights,
    shape_of,
)
from dcsvm_dask.pipeline.goals import check_goals
from dcsvm_dask.pipeline.levels import check_levels, clusters_of
from dcsvm_dask.pipeline.parameters import TrainingParameters
from dcsvm_dask.pipeline.task_parameters import TaskParameters
from dcsvm_dask.solvers import largest_machine
from dcsvm_dask.solvers.working_sets import INNER_FLOOR
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_variance import variance_of

CHUNKS = 8
LEAST_CHUNK_ROWS, MOST_CHUNK_ROWS = 2560, 16_384
OF_INGEST = ("weights", "sample_weight")
"""Names by which a training may be asked for weights of rows, which it does not take."""
OF_COLUMNS = ("columns", "one_hot", "ordinal", "missing", "missing_words", "dates", "decimal")
"""Choices of columns, which are made when data are ingested."""


@dataclass(frozen=True, slots=True)
class Training(TrainingParameters):
    """Checked parameters of a training, with those of its method."""

    options: Options = field(default_factory=NoOptions)
    """The parameters of the method; see `dcsvm_dask.methods.registry`."""
    chooses: bool = False
    """Whether no method was named: a linear kernel may have another; see `pipeline.linear`."""

    def __post_init__(self) -> None:
        check_parameters(self)
        check_rule(self.gamma)
        gamma = Kernel().gamma if isinstance(self.gamma, str) else self.gamma
        Kernel(self.kernel, gamma, self.degree, self.coef0)
        self.options.check_kernel(self.kernel)
        self.options.check_bias(self.fit_intercept)
        self.options.check_installed()
        check_goals(self.goals)
        self.of_task.check()
        check_levels(self)

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> Training:
        """Return the training that some keyword arguments describe.

        Raises
        ------
        InputError
            If one is unknown or impossible.
        """
        name = parameters.get("method", DEFAULT_METHOD)
        described = method_named(name)
        known = parameter_names(name)
        for word in parameters:
            if word not in known:
                if word in OF_INGEST:
                    raise InputError(
                        f"{word}: weights of rows belong to the data set; give them to "
                        "dcsvm_dask.ingest(..., weights=...), and train its result"
                    )
                if word in OF_COLUMNS:
                    raise InputError(
                        f"{word}: what becomes of columns belongs to the data set; give it to "
                        f"dcsvm_dask.ingest(..., {word}=...), and train its result"
                    )
                raise InputError(
                    f"{word}: there is no such parameter of {name}; there are "
                    f"{', '.join(known)} (workers and scheduler belong to execution=Execution(...))"
                )
        own = {one.name for one in fields(described.options)}
        own_words = {word: value for word, value in parameters.items() if word in own}
        others = {word: value for word, value in parameters.items() if word not in own}
        options = described.options(**own_words)
        return cls(**others, options=options, chooses="method" not in parameters)

    def words(self) -> dict[str, Any]:
        """Return the keyword arguments that describe it."""
        found = {
            name: getattr(self, name)
            for name in parameter_names(self.method)
            if hasattr(self, name)
        }
        return found | self.options.to_json()

    @property
    def goals(self) -> Goals:
        """How far the run goes."""
        return Goals(float(self.tol), int(self.stop_at), int(self.max_rounds), bool(self.committee))

    def settle(self, data: DataSet, *, holdout: bool = False) -> tuple[Settings, Goals, Shape]:
        """Return what the words mean for a data set.

        Parameters
        ----------
        data : DataSet
            Training rows.
        holdout : bool, default False
            Whether every model is scored on held-out rows.

        Raises
        ------
        InputError
            If the data has one class, or more than two where the method is for two, or targets
            where the task or the method needs classes; there are more clusters than rows, or the
            level to stop at does not exist.
        """
        task = self.of_task.task(data)
        if task.has_classes:
            check_classes(data, self.method, committee=self.committee)
            self.options.check_classes(len(data.classes))
        if data.weights is not None and not self.options.takes_weights:
            raise InputError(
                f"{data.url}: its rows have weights, which method {self.method} cannot take into "
                "account; take another method, or ingest the rows without weights"
            )
        check_largest(data, self.options.largest_value)
        seen = seen_by(data, self.options.to_json(), int(self.seed))
        n = seen.n_distinct
        most = largest_machine(data.counts, self.multiclass) if task.has_classes else n
        clusters, forced = clusters_of(self, n, most)
        if clusters and clusters[0] > n:
            raise InputError(
                f"clusters: {clusters[0]} clusters for {n} distinct rows of {data.url}; "
                "give fewer clusters or levels"
            )
        least = self.options.least_rows
        if n < least:
            raise InputError(
                f"{self.method}: needs {least} distinct rows, {data.url} has {n}; ask for less"
            )
        check_goals(self.goals, len(clusters))
        block_cap = BLOCK_CAP if self.block_cap is None else int(self.block_cap)
        settings = Settings(
            kernel=Kernel(
                str(self.kernel), self.gamma_for(data), int(self.degree), float(self.coef0)
            ),
            C=float(self.C),
            fit_intercept=bool(self.fit_intercept) or task.has_sum,
            multiclass=self.options.scheme_of(self.multiclass) if len(data.classes) > 2 else "ovo",
            class_weight=class_weights(self.class_weight, data.classes, data.counts),
            clusters=clusters,
            levels_forced=forced,
            n_samples_clustering=int(self.n_samples_clustering),
            block_cap=block_cap,
            set_cap=usual_set_cap(block_cap) if self.set_cap is None else int(self.set_cap),
            level_tol=float(max(self.level_tol * task.unit, self.tol)),
            alone_tol=INNER_FLOOR * float(self.tol),
            seed=int(self.seed),
            chunk_rows=min(max(math.ceil(n / CHUNKS), LEAST_CHUNK_ROWS), MOST_CHUNK_ROWS),
            method=self.method,
            inner=self.inner,
            task=task.name,
            task_options=task.to_json(),
            options=self.options.of_task(task).of_data(seen).to_json(),
        )
        return settings, self.goals, shape_of(seen, holdout, classes=task.has_classes)

    def gamma_for(self, data: DataSet) -> float:
        """Return gamma as a number: a rule is applied to the rows as they are stored.

        Of a kernel without gamma the number has no influence; it is 1 where a rule is given.
        """
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if not Kernel(self.kernel).uses("gamma"):
            return Kernel().gamma
        return gamma_by(self.gamma, data.n_features, variance_of(data))

    def gamma_note(self, data: DataSet) -> str | None:
        """Return the number that a rule gives for gamma, in a sentence; None of a number."""
        if not (isinstance(self.gamma, str) and Kernel(self.kernel).uses("gamma")):
            return None
        rule = "1 / features" if self.gamma == "auto" else "1 / (features x variance of X)"
        return f"gamma is {self.gamma_for(data):.6g} by the rule {self.gamma}: {rule}"

    def differences(self, settings: dict[str, Any], data: DataSet) -> dict[str, tuple[Any, Any]]:
        """Return in what a run with these settings, as its header has them, was begun otherwise.

        Sizes that were not given (of blocks, working sets and chunks) are those that it began with.

        Returns
        -------
        dict
            By name what the run has and what this training has.
        """
        # As this version reads them: an older one had fewer.
        settings = Settings.from_json(settings).to_json()
        settings["options"] = options_of(settings)[1].to_json()
        own = self.settle(data)[0].to_json()
        settled = {name for name in CAPS if getattr(self, name) is None}
        options = options_of(own)[1]
        if settings.get("options") in [one.to_json() for one in options.lighter()]:
            settled.add("options")
        if settings["method"] != own["method"]:
            return {"method": (settings["method"], own["method"])}
        found = _flat({key: value for key, value in settings.items() if key not in settled})
        wanted = _flat({key: value for key, value in own.items() if key not in settled})
        return {
            name: (found.get(name), wanted.get(name))
            for name in sorted(found.keys() | wanted.keys())
            if found.get(name) != wanted.get(name)
        }

    @property
    def of_task(self) -> TaskParameters:
        """The parameters of its task."""
        return TaskParameters(self, self.options)


def method_named(name: object) -> Method:
    """Return a method by its name.

    Raises
    ------
    InputError
        If there is none.
    """
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    raise InputError(f"method: {name!r:.80} is unknown; known: {', '.join(METHODS)}")


def parameter_names(method: str) -> list[str]:
    """Return the parameters that a method has."""
    of = METHODS[method]
    own = [one.name for one in fields(of.options)]
    common = [
        one.name
        for one, about in described(Training)
        if (of.sets_levels or not about.of_levels) and (of.many_classes or not about.of_classes)
    ]
    # What a method has of its own under the same name, as the loss of linear SVMs, goes first.
    return [*(name for name in common if name not in own), *own]


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with those of the kernel and of the method's own beside the others."""
    inner = {key: value for key, value in settings.items() if isinstance(value, dict)}
    kernel = inner.pop("kernel", {})
    flat = {"kernel" if key == "name" else key: value for key, value in kernel.items()}
    for options in inner.values():
        flat |= options
    return {**{key: value for key, value in settings.items() if key not in inner}, **flat}
