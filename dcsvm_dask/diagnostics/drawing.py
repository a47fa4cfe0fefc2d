"""Drawing a plan as SVG: stages from top to bottom, layers from left to right."""

from __future__ import annotations

from html import escape

from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.methods.stage_plan import StagePlan
from dcsvm_dask.numbers import megabytes

BOX_WIDTH, BOX_HEIGHT, GAP, LEFT, TOP = 118, 46, 26, 170, 50
DOTS = 32


def draw(plan: Plan) -> str:
    """Return a plan drawn as SVG text."""
    rows = len(plan.stages)
    columns = max(len(stage.stage.layers) for stage in plan.stages)
    width = LEFT + columns * (BOX_WIDTH + GAP) + 200
    height = TOP + rows * (BOX_HEIGHT + GAP) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"',
        f'height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="16" y="28" font-size="15" font-weight="bold">{_title(plan)}</text>',
    ]
    for row, stage in enumerate(plan.stages):
        parts += _stage(stage, TOP + row * (BOX_HEIGHT + GAP), row + 1 < rows)
    return "\n".join([*parts, "</svg>", ""])


def _title(plan: Plan) -> str:
    tasks = sum(stage.stage.n_nodes for stage in plan.stages)
    return f"{len(plan.stages)} stages, {tasks} tasks, {megabytes(plan.worker_bytes)} a worker"


def _stage(planned: StagePlan, y: int, more: bool) -> list[str]:
    middle = y + BOX_HEIGHT / 2
    stage = planned.stage
    parts = [f'<text x="16" y="{middle + 4}" font-weight="bold">{escape(stage.name)}</text>']
    x = LEFT
    for number, layer in enumerate(stage.layers):
        if number:
            parts.append(_line(x - GAP, middle, x, middle))
        count = len(layer.nodes)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
            f'fill="{"#fde8c8" if layer.name == "commit" else "#dbe9f6"}" stroke="#50708c"/>'
        )
        text = escape(layer.name) + (f" x {count}" if count > 1 else "")
        parts.append(f'<text x="{x + 10}" y="{y + 19}">{text}</text>')
        for dot in range(min(count, DOTS)):
            cx, cy = x + 13 + dot % 16 * 6, y + 30 + dot // 16 * 7
            parts.append(f'<circle cx="{cx}" cy="{cy}" r="2" fill="#50708c"/>')
        x += BOX_WIDTH + GAP
    parts.append(
        f'<text x="{x}" y="{middle + 4}" fill="#555555">'
        f"{megabytes(planned.task_bytes)} a task</text>"
    )
    if more:
        last, below = x - GAP - BOX_WIDTH / 2, y + BOX_HEIGHT
        first = LEFT + BOX_WIDTH / 2
        turn = below + GAP / 2
        parts.append(
            f'<path d="M{last} {below} V{turn} H{first} V{below + GAP}" '
            'fill="none" stroke="#50708c"/>'
        )
    return parts


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#50708c"/>'
