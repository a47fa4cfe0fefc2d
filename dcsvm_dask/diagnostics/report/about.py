"""What a run is: its outcome, parameters, data, versions, and the command that repeats it."""

from __future__ import annotations

import shlex
from typing import Any

from dcsvm_dask.diagnostics.report.records import Records
from dcsvm_dask.diagnostics.report.table import Table, table
from dcsvm_dask.graphs.compressed import Compressed
from dcsvm_dask.graphs.methods import options_of
from dcsvm_dask.kernels import Kernel

NAME_VALUE = ("name", "value")
# What `train` takes where nothing is said.
DEFAULT_BLOCK_CAP, DEFAULT_SAMPLES, DEFAULT_ROUNDS = 8192, 1000, 1000


def summary(records: Records) -> Table:
    """Return what the run has reached, as names and values.

    At a level ``objective`` and ``gap`` are estimates for the whole problem; ``seconds`` are from
    ready workers to the end (of the process that completed the run), ``work_seconds`` those of all
    processes.
    """
    status = records.status
    accuracy = records.commits.get(f"score-{status['model']}", {}).get("accuracy")
    begins = [e for entries in records.journal for e in entries if e["event"] == "RunBegins"]
    found = {
        "state": status["state"],
        "message": status["message"],
        "converged": status["converged"],
        "model": status["model"],
        "accuracy": accuracy,
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
    """Return the parameters of the run, as names and values."""
    settings, goals = records.settings, records.run.header["goals"]
    kernel = settings["kernel"]
    used = {
        "rbf": ("gamma",),
        "laplacian": ("gamma",),
        "poly": ("gamma", "degree", "coef0"),
        "sigmoid": ("gamma", "coef0"),
        "linear": (),
    }
    name, options = options_of(settings)
    found = {
        "method": name,
        **options.to_json(),
        "kernel": kernel["name"],
        **{key: kernel[key] for key in used[kernel["name"]]},
    }
    keys = ("C", "fit_intercept", "clusters", "n_samples_clustering", "block_cap", "level_tol")
    found |= {key: settings[key] for key in keys}
    if settings.get("class_weight"):
        found["class weights"] = ", ".join(f"{weight:g}" for weight in settings["class_weight"])
    found["clusters"] = ", ".join(map(str, settings["clusters"])) or "none (conquer only)"
    if name not in ("dcsvm", "subsample"):
        for needless in ("clusters", "n_samples_clustering", "level_tol"):
            del found[needless]
        goals = {"tol": goals["tol"]}
    return _pairs({**found, "seed": settings["seed"], **goals})


def data_set(records: Records) -> Table:
    """Return what the run was trained on, as names and values."""
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
        for label, count, sign in zip(data.classes, data.counts, "-+", strict=False):
            found[f"class {label} ({sign}1)"] = count
    if arrange:
        found["repeats merged"] = arrange["rows"] - arrange["variables"]
        found["variables"] = arrange["variables"]
    found["held out"] = records.run.header.get("holdout") or "no rows"
    scored = [c["rows"] for stage, c in records.commits.items() if stage.startswith("score-")]
    if scored:
        found["held-out rows scored"] = scored[-1]
    found["fingerprint"] = records.run.header["data"]["fingerprint"]
    return _pairs(found)


def versions(records: Records) -> Table:
    """Return the versions that the run was begun with, as names and values."""
    return _pairs(records.run.header["versions"])


def own(key: str, value: Any) -> str:
    """Return a method's own parameter as its option has it."""
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


def command(records: Records) -> str:
    """Return the command that trains the same model again, in another folder."""
    settings, goals = records.settings, records.run.header["goals"]
    kernel = Kernel(**settings["kernel"])
    words = ["dcsvm", "train", records.run.header["data"]["url"], "--run", "AGAIN"]
    name, options = options_of(settings)
    if isinstance(options, Compressed):
        made = ["dcsvm", "compress", options.run, "AGAIN", "--bound", repr(options.bound)]
        return shlex.join([*made, "--sample", str(options.sample)])
    words += ["--method", name] if name != "dcsvm" else []
    words += [word for key, value in options.to_json().items() for word in ("-P", own(key, value))]
    words += ["--kernel", kernel.name] if kernel.name != "rbf" else []
    if kernel.name != "linear":
        words += ["--gamma", f"{kernel.gamma:g}" if _short(kernel.gamma) else repr(kernel.gamma)]
    words += ["--degree", str(kernel.degree)] if kernel.name == "poly" else []
    words += ["--coef0", repr(kernel.coef0)] if kernel.coef0 else []
    words += ["-C", f"{settings['C']:g}" if _short(settings["C"]) else repr(settings["C"])]
    if settings["levels_forced"]:
        listed = ",".join(map(str, settings["clusters"]))
        words += ["--clusters", listed] if listed else ["--levels", "0"]
    words += ["--fit-intercept"] if settings["fit_intercept"] else []
    if settings.get("class_weight") and records.data is not None:
        weights = zip(records.data.classes, settings["class_weight"], strict=True)
        words += ["--class-weight", ",".join(f"{label}={weight!r}" for label, weight in weights)]
    for option, value, usual in (
        ("--stop-at", goals["stop_at"], 0),
        ("--tol", goals["tol"], 1e-3),
        ("--seed", settings["seed"], 0),
        ("--n-samples-clustering", settings["n_samples_clustering"], DEFAULT_SAMPLES),
        ("--block-cap", settings["block_cap"], DEFAULT_BLOCK_CAP),
        ("--max-rounds", goals["max_rounds"], DEFAULT_ROUNDS),
    ):
        words += [option, str(value)] if value != usual else []
    holdout = records.run.header.get("holdout")
    words += ["--holdout", holdout] if holdout else []
    return shlex.join(words)


def _short(value: float) -> bool:
    return float(f"{value:g}") == value


def _pairs(found: dict[str, Any]) -> Table:
    return table(NAME_VALUE, ({"name": key, "value": value} for key, value in found.items()))
