"""The figures of a run, beside its result, in a few lines."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.diagnostics.sets import described
from dcsvm_dask.methods.fallbacks import fallbacks_warning
from dcsvm_dask.numbers import duration
from dcsvm_dask.storage.stage_id import MODEL, SCORE, StageId
from dcsvm_dask.tasks.scores import main_score


def figures(status: dict[str, Any]) -> list[str]:
    """Return what was reached, and what it took, a line each.

    Parameters
    ----------
    status : dict
        The result of `dcsvm_dask.diagnostics.status.status`.
    """
    lines = [] if status["stage"] is None else [f"reached    {status['stage']}"]
    if status.get("lowered"):
        lines.append(f"sizes      {status['lowered']}: lowered to fit the workers' memory")
    lines += [f"{name:<10} {text}" for name, text in _figures(status)]
    seconds = {name: value for name, value in status["seconds"].items() if value >= 0.05}
    if seconds:
        parts = ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())
        lines.append(f"seconds    {parts} (total {sum(status['seconds'].values()):.1f})")
    if status["kernel_values"]:
        ratio = status["floor_ratio"]
        before = " before the final check" if status["check_kernel_values"] else ""
        lines.append(
            f"work       {status['kernel_values']:.3g} kernel values, "
            f"{status['ns_per_kernel_value']:.2f} ns each"
            + (f", {ratio:.2f} x rows x support vectors{before}" if ratio else "")
        )
    if status.get("sets"):
        lines.append(f"sets       {described(status['sets'])}")
    if status.get("fallbacks"):
        stages = ", ".join(f"{stage} {count}" for stage, count in status["fallbacks"].items())
        told = fallbacks_warning(status["inner"], sum(status["fallbacks"].values()))
        lines.append(f"inner      {told} ({stages})")
    if status["peak_bytes"]:
        peaks = ", ".join(
            f"{host.split(':')[-1]}: {peak / 2**20:.0f} MiB"
            for host, peak in status["peak_bytes"].items()
        )
        lines.append(f"peak       {peaks}")
    if status["plan"] is not None:
        lines.append(f"planned    {_planned(status['plan'])}")
    return lines


def _planned(plan: dict[str, Any]) -> str:
    memory, seconds, values = plan["worker_bytes"], plan["seconds"], plan["kernel_values"]
    return (
        f"{memory['planned'] / 2**20:.0f} MiB a worker, {duration(seconds['planned'])}, "
        f"{values['planned']:.3g} kernel values"
    )


def is_exact(status: dict[str, Any]) -> bool:
    """Return whether the model of a run is that of the whole problem, converged or not."""
    return StageId(status["model"]).kind == MODEL and not status["approximates"]


def state_of(status: dict[str, Any]) -> str:
    """Return the state of a run with its reason."""
    state = str(status["state"])
    if state == "complete" and is_exact(status):
        state += ", converged" if status["converged"] else ", NOT converged"
    elif state == "complete" and status["stages"].get(status["model"], {}).get("solved") is False:
        state += ", NOT solved to its tolerance"
    return state + (f" ({status['message']})" if status["message"] else "")


def _figures(status: dict[str, Any]) -> list[tuple[str, str]]:
    formats: tuple[tuple[str, str, str], ...] = (
        ("objective", "objective", "{:.6f}"),
        ("gap", "gap", "{:.4g}"),
        ("violation", "violation", "{:.2e}"),
        ("support", "n_support", "{} support vectors"),
    )
    record = status["stages"].get(status["stage"], {})
    if "outputs" in record:
        return [("model", f"weights of {record['outputs']} features")]
    if "objective_estimate" in record:  # a level; its violation is that inside blocks
        objective = f"about {{:.6g}} +- {record['objective_error']:.2g}"
        gap = f"about {{:.3g}} +- {record['gap_error']:.2g}"
        formats = (("objective", "objective", objective), ("gap", "gap", gap), formats[3])
    found = [
        (label, form.format(status[key])) for label, key, form in formats if status[key] is not None
    ]
    each = record.get("of_quantiles")
    if each:
        parts = zip(each["name"], each["objective"], each["violation"], strict=True)
        shown = (f"{name}: objective {f:.6f}, violation {v:.2e}" for name, f, v in parts)
        found += [("quantiles", "; ".join(shown))]
    return found


def exact_line(status: dict[str, Any]) -> str:
    """Return the figures of the exact model and its accuracy on held-out rows in one line."""
    if not is_exact(status):
        return "exact: not reached"
    model = status["stages"][status["model"]]
    figures = (("objective", "{:.6f}"), ("gap", "{:.4g}"), ("violation", "{:.2e}"))
    known = [
        f"{name} {form.format(model[name])}"
        for name, form in figures
        if model.get(name) is not None
    ]
    score = status["stages"].get(StageId.about(SCORE, status["model"]))
    scored = "" if score is None else f"{main_score(score)} "
    return " ".join([f"exact: {scored}".rstrip(), *known, f"support vectors {model['support']}"])
