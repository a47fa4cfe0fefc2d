"""The outcome, parameters, data and versions of a run, and the command that repeats it."""

from __future__ import annotations

import shlex
from typing import Any

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.kernels import Kernel, parameters_of
from dcsvm_dask.methods.compressed import Compressed
from dcsvm_dask.methods.registry import has_levels, options_of
from dcsvm_dask.methods.search.graph import BLOCK_ROWS, Search
from dcsvm_dask.methods.settings import BLOCK_CAP, CAPS, usual_set_cap
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.storage.stage_id import SCORE, StageId
from dcsvm_dask.tasks import OF_TASKS, WITHOUT_C, task_and_type
from dcsvm_dask.tasks.scores import SCORES

NAME_VALUE = ("name", "value")
# Defaults of `train`.
DEFAULT_SAMPLES, DEFAULT_ROUNDS = 1000, 1000


def summary(records: Records) -> Table:
    """Return the results of a run as names and values.

    At a level ``objective`` and ``gap`` are estimates for the whole problem; ``seconds`` are from
    ready workers to the end (of the process that completed the run), ``work_seconds`` those of all
    processes.
    """
    status = records.status
    score = records.commits.get(StageId.about(SCORE, status["model"]), {})
    begins = [e for entries in records.journal for e in entries if e["event"] == "RunBegins"]
    found = {
        "state": status["state"],
        "message": status["message"],
        "converged": status["converged"],
        "model": status["model"],
        **({"accuracy": None} if records.task.has_classes else {}),
        **{key: score[key] for key in SCORES if key in score},
        "objective": status["objective"],
        "gap": status["gap"],
        "violation": status["violation"],
        "n_support": status["n_support"],
        "bounded": records.commits.get(str(status["model"]), {}).get("bounded"),
        "bias": (records.best or {}).get("bias"),
        "variables": status["variables"],
        "start_seconds": status["start_seconds"],
        "seconds": status["run_seconds"],
        "work_seconds": records.clock.total,
        "workers": begins[-1]["workers"] if begins else None,
        "kernel_values": status["kernel_values"],
        "peak_bytes": max(status["peak_bytes"].values(), default=None),
    }
    return _pairs(found)


def parameters(records: Records) -> Table:
    """Return the parameters of the run as names and values."""
    settings, goals = records.settings, records.run.header["goals"]
    kernel = settings["kernel"]
    name, options = options_of(settings)
    if isinstance(options, Search):
        return _pairs(_of_search(records, options))
    found = {
        "method": name,
        **options.to_json(),
        "kernel": kernel["name"],
        **{key: kernel[key] for key in parameters_of(kernel["name"])},
    }
    keys = ("C", "fit_intercept", "clusters", "n_samples_clustering", *CAPS, "level_tol")
    found |= {key: settings[key] for key in keys}
    if records.task.name in WITHOUT_C:
        del found["C"]
    if _has_many_classes(records):
        found["multiclass"] = _multiclass(settings)
    task, svm_type = task_and_type(records.task.name)
    if svm_type == "nu":
        found["svm_type"] = svm_type
    if svm_type == "nu" or not records.task.has_classes:
        found["task"] = task
    found |= {
        name: ", ".join(map(_exactly, value)) if isinstance(value, tuple) else value
        for name, value in _of_task(records).items()
    }
    if settings.get("class_weight"):
        found["class weights"] = ", ".join(f"{weight:g}" for weight in settings["class_weight"])
    found["clusters"] = ", ".join(map(str, settings["clusters"])) or "none (whole problem only)"
    if not has_levels(name):
        for needless in ("clusters", "n_samples_clustering", "level_tol"):
            del found[needless]
        goals = {"tol": goals["tol"]}
    if not options.solves:
        found, goals = {key: value for key, value in found.items() if key not in CAPS}, {}
    found = {key: value for key, value in found.items() if value is not None}
    return _pairs({**found, "seed": settings["seed"], **goals})


def _of_search(records: Records, options: Search) -> dict[str, Any]:
    settings = records.settings
    kernel = settings["kernel"]["name"]
    own = _of_task(records, options)
    searched = {
        key: ", ".join(map(_exactly, getattr(options, key))) for key in _searched(options, kernel)
    }
    kept = ("folds", "exact", "halving", "budget", "refit")
    weights = ", ".join(f"{weight:g}" for weight in settings["class_weight"])
    return {
        **({} if records.task.has_classes else {"task": records.task.name}),
        **own,
        "kernel": kernel,
        **searched,
        **{key: getattr(options, key) for key in kept},
        "block_rows": settings["block_cap"],
        "fit_intercept": settings["fit_intercept"],
        **_of_task(records),
        **({"multiclass": _multiclass(settings)} if _has_many_classes(records) else {}),
        **({"class weights": weights} if weights else {}),
        "seed": settings["seed"],
        "tol": records.run.header["goals"]["tol"],
    }


def data_set(records: Records) -> Table:
    """Return the properties of the training data as names and values."""
    data, arrange = records.data, records.commits.get("arrange", {})
    found: dict[str, Any] = {
        "data": records.run.header["data"]["url"],
        "rows": records.run.header["shape"].get("n_rows"),
    }
    if data is not None:
        found |= {
            "features": data.n_features,
            "storage": "sparse (CSR)" if data.is_sparse else "dense",
            "scaling": "none" if data.scaling is None else data.scaling.kind,
        }
        signs = (" (-1)", " (+1)") if len(data.classes) == 2 else [""] * len(data.classes)
        for label, count, sign in zip(data.classes, data.counts, signs, strict=True):
            found[f"class {label}{sign}"] = count
        if data.labels_text is not None:
            found["labels"] = data.labels_text
        elif data.targets is not None:
            low, high, mean, std = (f"{value:.6g}" for value in data.targets.values())
            found["targets"] = f"{low} to {high}, mean {mean}, standard deviation {std}"
        if data.weights is not None:
            least, most, total = (f"{data.weights[key]:g}" for key in ("least", "most", "sum"))
            found["weights of rows"] = f"{least} to {most}, {total} together"
    if arrange:
        found["repeats merged"] = arrange["rows"] - arrange["variables"]
        found["variables"] = arrange["variables"]
    found["held out"] = records.run.header.get("holdout") or "no rows"
    scored = [c["rows"] for stage, c in records.commits.items() if StageId(stage).kind == SCORE]
    if scored:
        found["held-out rows scored"] = scored[-1]
    found["fingerprint"] = records.run.header["data"]["fingerprint"]
    return _pairs(found)


def versions(records: Records) -> Table:
    """Return the versions that the run was begun with as names and values."""
    return _pairs(records.run.header["versions"])


def own(key: str, value: Any) -> str:
    """Return a method's own parameter as the value of an option."""
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


def command(records: Records) -> str:
    """Return the command that trains the same model in another folder."""
    settings, goals = records.settings, records.run.header["goals"]
    kernel = Kernel(**settings["kernel"])
    words = ["dcsvm", "train", records.run.header["data"]["url"], "--run", "AGAIN"]
    name, options = options_of(settings)
    if isinstance(options, Compressed):
        made = ["dcsvm", "compress", options.run, "AGAIN", "--bound", repr(options.bound)]
        return shlex.join([*made, "--sample", str(options.sample)])
    if isinstance(options, Search):
        return _search_command(records, options)
    words += ["--method", name] if name != DEFAULT_METHOD else []
    given = {key: value for key, value in options.to_json().items() if value is not None}
    words += [word for key, value in given.items() for word in ("-P", own(key, value))]
    words += ["--kernel", kernel.name] if kernel.name != Kernel().name else []
    if kernel.uses("gamma"):
        words += ["--gamma", _exactly(kernel.gamma)]
    words += ["--degree", str(kernel.degree)] if kernel.uses("degree") else []
    words += ["--coef0", repr(kernel.coef0)] if kernel.coef0 else []
    words += [] if records.task.name in WITHOUT_C else ["-C", _exactly(settings["C"])]
    words += _task(records)
    if settings["levels_forced"]:
        listed = ",".join(map(str, settings["clusters"]))
        words += ["--clusters", listed] if listed else ["--levels", "0"]
    words += ["--fit-intercept"] if settings["fit_intercept"] else []
    words += _class_weight(records)
    words += ["--committee"] if goals.get("committee") else []
    for option, value, usual in (
        ("--multiclass", _multiclass(settings), "ovo"),
        ("--stop-at", goals["stop_at"], 0),
        ("--tol", goals["tol"], 1e-3),
        ("--seed", settings["seed"], 0),
        ("--n-samples-clustering", settings["n_samples_clustering"], DEFAULT_SAMPLES),
        ("--block-cap", settings["block_cap"], BLOCK_CAP),
        ("--set-cap", settings["set_cap"], usual_set_cap(settings["block_cap"])),
        ("--max-rounds", goals["max_rounds"], DEFAULT_ROUNDS),
    ):
        words += [option, str(value)] if value != usual else []
    holdout = records.run.header.get("holdout")
    words += ["--holdout", holdout] if holdout else []
    return shlex.join(words)


def _task(records: Records, options: Search | None = None) -> list[str]:
    """Return the options of a task that is not the usual one of its data."""
    task = records.task
    name, svm_type = task_and_type(task.name)
    words = [] if name in ("classification", "regression") else ["--task", name]
    words += ["--svm-type", svm_type] if svm_type == "nu" else []
    for name, value in _of_task(records, options).items():
        listed = value if isinstance(value, tuple) else (value,)
        words += [f"--{name}", value if isinstance(value, str) else ",".join(map(_exactly, listed))]
    return words


def _of_task(records: Records, options: Search | None = None) -> dict[str, Any]:
    """Return the parameters of a task as users give them, but for those that a search goes over.

    None of C-SVC, whose loss is usual.
    """
    task = records.task
    if not task.to_json():
        return {}
    searched = () if options is None else _of_the_task(options)
    own = (name for name, of in OF_TASKS.items() if task.name in of and name not in searched)
    return {name: getattr(task, name) for name in own}


def _searched(options: Search, kernel: str) -> tuple[str, ...]:
    """Return the parameters that a search goes over."""
    return ("C", *parameters_of(kernel), *_of_the_task(options))


def _of_the_task(options: Search) -> tuple[str, ...]:
    return tuple(name for name in ("epsilon", "nu") if getattr(options, name))


def _search_command(records: Records, options: Search) -> str:
    """Return the command that repeats a search."""
    settings, goals, header = records.settings, records.run.header["goals"], records.run.header
    kernel, usual = settings["kernel"]["name"], Search()
    words = ["dcsvm", "search", header["data"]["url"], "--run", "AGAIN"]
    words += ["--kernel", kernel] if kernel != Kernel().name else []
    words += _task(records, options)
    for name in _searched(options, kernel):
        words += [f"--{name}", ",".join(_exactly(value) for value in getattr(options, name))]
    words += ["--validation", header["holdout"]] if header["holdout"] else []
    for option, value, default in (
        ("--cv", options.folds, usual.folds if options.folds else 0),
        ("--exact", options.exact, usual.exact),
        ("--budget", options.budget, usual.budget),
        ("--block-rows", settings["block_cap"], BLOCK_ROWS),
        ("--n-samples-clustering", settings["n_samples_clustering"], DEFAULT_SAMPLES),
        ("--multiclass", _multiclass(settings), "ovo"),
        ("--tol", goals["tol"], 1e-3),
        ("--seed", settings["seed"], 0),
    ):
        words += [option, str(value)] if value != default else []
    words += ["--halving"] if options.halving else []
    words += [] if options.refit else ["--no-refit"]
    words += ["--fit-intercept"] if settings["fit_intercept"] else []
    return shlex.join([*words, *_class_weight(records)])


def _has_many_classes(records: Records) -> bool:
    return bool(records.run.header["shape"].get("class_rows"))


def _multiclass(settings: dict[str, Any]) -> str:
    """Return the multiclass scheme; runs of older versions have one-vs-one only."""
    return str(settings.get("multiclass", "ovo"))


def _class_weight(records: Records) -> list[str]:
    if not records.settings.get("class_weight") or records.data is None:
        return []
    weights = zip(records.data.classes, records.settings["class_weight"], strict=True)
    return ["--class-weight", ",".join(f"{label}={weight!r}" for label, weight in weights)]


def _exactly(value: float) -> str:
    return f"{value:g}" if _short(value) else repr(value)


def _short(value: float) -> bool:
    return float(f"{value:g}") == value


def _pairs(found: dict[str, Any]) -> Table:
    return table(NAME_VALUE, ({"name": key, "value": value} for key, value in found.items()))
