"""The plan as a table, as JSON and as a picture."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from dcsvm_dask.diagnostics.drawing import draw
from dcsvm_dask.diagnostics.outline import in_brief, outline
from dcsvm_dask.methods.plan import Plan, plan
from dcsvm_dask.numbers import duration
from tests.typical import COVTYPE, GOALS, SETTINGS


@pytest.fixture
def planned() -> Plan:
    return plan(SETTINGS, GOALS, COVTYPE)


def test_the_picture_is_svg_with_a_box_for_every_layer(planned: Plan) -> None:
    root = ET.fromstring(draw(planned))
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{name}svg"
    layers = sum(len(stage.stage.layers) for stage in planned.stages)
    boxes = root.findall(f"{name}rect")
    assert len(boxes) == layers + 1  # and the ground
    texts = [text.text for text in root.findall(f"{name}text")]
    assert {stage.stage.name for stage in planned.stages} <= set(texts)
    assert "solve x 128" in texts
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in boxes[1:]:
        assert 0 <= float(box.attrib["x"]) <= width - float(box.attrib["width"])
        assert 0 <= float(box.attrib["y"]) <= height - float(box.attrib["height"])


def test_the_table_has_a_line_for_every_stage(planned: Plan) -> None:
    lines = outline(planned, 2).splitlines()
    for stage, line in zip(planned.stages, lines[1:], strict=False):
        assert line.startswith(stage.stage.name)
        assert f" {stage.stage.n_nodes} " in line
    assert "a worker needs" in lines[len(planned.stages) + 1]


def test_the_time_has_that_of_the_start_in_it(planned: Plan) -> None:
    seconds = planned.seconds(2)
    whole = f"time: about {duration(seconds + 3.5)} on 2 workers ({duration(seconds)} to train, "
    assert f"\n{whole}3.5 s to start and to report)" in outline(planned, 2, 1, 3.5)
    unknown = f"time: about {duration(seconds)} on 2 workers (beside the start of the workers)"
    assert f"\n{unknown}" in outline(planned, 2)


def test_the_json_says_the_same(planned: Plan) -> None:
    found = json.loads(json.dumps(planned.to_json(2), allow_nan=False))
    assert list(found["stages"]) == [stage.stage.name for stage in planned.stages]
    arrange = found["stages"]["arrange"]
    assert sum(arrange["layers"].values()) == arrange["tasks"]
    assert found["worker_bytes"] == planned.worker_bytes
    assert found["seconds"] == planned.seconds(2)
    assert found["levels"] == 4


def test_the_line_says_time_workers_and_memory(planned: Plan) -> None:
    line = in_brief(planned.to_json(2) | {"workers": 2})
    assert "on 2 workers of about" in line
    assert f"{planned.worker_bytes / 2**20:,.0f} MiB" in line
