"""The page of the dashboard as a browser shows it, while real runs go on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from tests.diagnostics.reader import Reader

pytestmark = pytest.mark.long

MAIN = "from dcsvm_dask.cli import main; main()"
PRELOAD = ("--preload", "dcsvm_dask.diagnostics.dashboard")
# Bokeh cannot be imported where this has been done.
NO_BOKEH = "import sys; sys.modules['bokeh'] = None; "
DASK = "from dask.__main__ import main; main()"
HOW = ("--gamma", "32", "-C", "32", "--levels", "3", "--k", "5", "--tol", "1e-6")
SOLVED = """
const figure = Bokeh.documents[0].get_model_by_name("levels");
const drawn = figure.renderers[0];
const columns = drawn.data_source.data;
const i = [...columns.text].findIndex((text, i) =>
  text.includes(", done") && columns.right[i] - columns.left[i] > 0.005);
if (i < 0) return null;
const view = [...Bokeh.index].map((root) => Bokeh.index.find_one_by_id(figure.id))[0];
const box = view.el.getBoundingClientRect();
const x = view.frame.x_scale.compute((columns.left[i] + columns.right[i]) / 2);
const y = view.frame.y_scale.compute((columns.bottom[i] + columns.top[i]) / 2);
const text = columns.text[i].split("<br>").map((line) => line.replace(/<[^>]*>/g, ""));
return {x: box.left + x, y: box.top + y, text};
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the demo's data set, 16,000 real rows."""
    out = tmp_path_factory.mktemp("data") / "covtype.zarr"
    with resources.as_file(resources.files("dcsvm_dask.demo")) as folder:
        api.ingest(
            folder / "covtype.csv.xz",
            out=out,
            label="lodgepole_pine",
            scale="minmax",
            test_fraction=0.2,
        )
    return out


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., tuple[Any, Path]]]:
    """Give a starter of processes, each with its log; none outlives the test."""
    started: list[subprocess.Popen[bytes]] = []

    def run(program: str, *words: object) -> tuple[Any, Path]:
        log = tmp_path / f"log-{len(started)}"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, words)],
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return process, log

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def found_in(log: Path, pattern: str, process: Any, seconds: float = 120.0) -> str:
    """Wait until a process has said something; return the part in parentheses."""
    end = time.monotonic() + seconds
    while (found := re.search(pattern, log.read_text())) is None:
        assert process.poll() is None, f"ended before: {log.read_text()}"
        assert time.monotonic() < end, f"waited in vain: {log.read_text()}"
        time.sleep(0.05)
    return found[1]


def scheduler(
    start: Any, folder: Path, *words: str, program: str = DASK
) -> tuple[dict[str, Any], Path]:
    """Start a scheduler; return what it says of itself, and its log."""
    file = folder / "scheduler.json"
    where = ("--host", "127.0.0.1", "--port", 0, "--dashboard-address", "127.0.0.1:0")
    process, log = start(program, "scheduler", *where, "--scheduler-file", file, *words)
    found_in(log, r"(Scheduler at)", process)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            return json.loads(file.read_text()), log
        except (OSError, ValueError):
            time.sleep(0.05)
    raise AssertionError(log.read_text())


def worker(start: Any, address: str) -> None:
    start(DASK, "worker", address, "--nthreads", 1, "--no-dashboard")


def test_the_page_follows_a_run_and_tells_of_its_blocks(
    browser: Reader, data: Path, start: Any, tmp_path: Path, faults: Any
) -> None:
    faults.hold("model-*")  # the run and its page are there for as long as they are looked at
    words = ("--run", tmp_path / "run", "--workers", 2, "--holdout", data / "test", *HOW)
    process, log = start(MAIN, "train", data, *words)
    status = found_in(log, r"running on .*dashboard (http\S+/status)", process)
    browser.open(status.replace("/status", "/dcsvm"))
    first = browser.wait_for(lambda: browser.facts() or None)
    assert first["data"].endswith("covtype.zarr/train, 16,000 rows")
    assert first["kernel"] == "rbf, gamma = 32, C = 32"
    assert first["workers"] == "2"
    # Dask's own navigation bar, with this page in it.
    bar = browser.driver.execute_script(
        "return [...document.querySelectorAll('#myTopnav a')].map(a => a.getAttribute('href'))"
    )
    assert {"status", "workers", "graph", "dcsvm"} <= set(bar)
    place = browser.wait_for(lambda: browser.driver.execute_script(SOLVED))
    browser.shoot("page-levels")
    tooltip = hover(browser, place)
    browser.shoot("page-hover")
    assert len(place["text"]) == 10
    for line in place["text"]:
        assert line.split(": ", 1)[1] in tooltip, f"{line} is not in {tooltip}"
    for name in ("support vectors", "kernel values", "retries"):
        assert name in tooltip
    assert process.poll() is None
    later = browser.wait_for(lambda: changed(browser, first))
    assert later["stage"] != first["stage"]
    browser.wait_for(lambda: "violation" in browser.facts())
    browser.shoot("page-rounds")
    faults.clear()
    # Its dashboard ends with the run, which the browser takes for a lost connection.
    errors = [said for said in browser.errors() if "WebSocket" not in said]
    assert not errors
    assert process.wait(300) == 0, log.read_text()


def changed(browser: Reader, first: dict[str, str]) -> dict[str, str] | None:
    """Return the page's figures once stage, elapsed time and support vectors are others."""
    now = browser.facts()
    names = ("stage", "elapsed", "support vectors")
    return now if all(now.get(name) != first.get(name) for name in names) else None


def hover(browser: Reader, place: dict[str, Any]) -> str:
    """Move the pointer to a place of the page; return the text that comes up."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder

    def point(by: float) -> str | None:
        action = ActionBuilder(browser.driver)
        action.pointer_action.move_to_location(round(place["x"] + by), round(place["y"]))
        action.perform()
        found = re.search(r"block: ?(.*?) retries: ?\d+", browser.text())
        return found[0] if found else None

    return str(browser.wait_for(lambda: point(0.0) or point(1.0)))


@pytest.mark.soak
def test_a_scheduler_started_by_hand_has_the_page_from_its_beginning(
    browser: Reader, data: Path, start: Any, tmp_path: Path
) -> None:
    found, _ = scheduler(start, tmp_path, *PRELOAD)
    browser.open(f"http://127.0.0.1:{found['services']['dashboard']}/dcsvm")
    browser.wait_for(lambda: "No run is active." in browser.text())
    assert browser.driver.execute_script("return document.title") == "Dask: DC-SVM"
    browser.shoot("page-no-run")
    for _ in range(2):
        worker(start, found["address"])
    words = ("--scheduler", found["address"], *HOW)
    process, log = start(MAIN, "train", data, "--run", tmp_path / "run", *words, "--tol", "1e-2")
    browser.wait_for(lambda: "Running" in browser.text())
    assert process.wait(300) == 0, log.read_text()
    browser.wait_for(lambda: "Complete: the exact model is reached" in browser.text())
    browser.shoot("page-end")
    assert not browser.errors()
    # The next run finds the page that is there, and is shown instead; it takes minutes.
    process, log = start(MAIN, "train", data, "--run", tmp_path / "next", *words, "-C", "65536")
    browser.wait_for(lambda: "Running" in browser.text())
    choose = "Bokeh.documents[0].get_model_by_name('choice').value = arguments[0]"
    browser.driver.execute_script(choose, str(tmp_path / "run"))
    browser.wait_for(lambda: "Complete: the exact model is reached" in browser.text())
    browser.driver.execute_script(choose, str(tmp_path / "next"))
    browser.wait_for(lambda: "Running" in browser.text())
    os.killpg(process.pid, signal.SIGKILL)
    browser.wait_for(lambda: "Its process has left" in browser.text())
    assert not browser.errors()


def test_a_run_goes_on_where_the_scheduler_cannot_show_pages(
    data: Path, start: Any, tmp_path: Path
) -> None:
    found, log = scheduler(start, tmp_path, *PRELOAD, program=NO_BOKEH + DASK)
    assert "no page DC-SVM: bokeh is absent here" in log.read_text()
    worker(start, found["address"])
    words = ("--run", tmp_path / "run", "--scheduler", found["address"], "--levels", 1)
    process, log = start(MAIN, "train", data, *words, "--stop-at", 1)
    assert process.wait(300) == 0, log.read_text()
    reported = [line for line in log.read_text().splitlines() if "no page" in line]
    assert len(reported) == 1
    assert "the scheduler has no bokeh; pip install bokeh there" in reported[0]
