"""A report in a browser: figures drawn, no complaint, light, dark and on paper."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from tests.browser import chromium, console_errors, printed, set_scheme, whole_page

pytestmark = [
    pytest.mark.long,
    # Selenium leaves sockets to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SECONDS = 60.0
INK = """
    const svgs = [...document.querySelectorAll('.plot > div')].map(place => {
      const root = [...place.querySelectorAll('*')].find(one => one.shadowRoot)
      const all = []
      const walk = node => {
        if (node.shadowRoot) walk(node.shadowRoot)
        for (const child of node.children || []) { all.push(child); walk(child) }
      }
      walk(place)
      return all.filter(one => ['canvas', 'svg'].includes(one.tagName.toLowerCase())).length
    })
    return svgs
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as driver:
        yield driver


def show(driver: Any, url: str) -> None:
    """Open a report and wait until its figures are there."""
    driver.get(f"file://{url}")
    end = time.monotonic() + SECONDS
    while driver.execute_script("return document.body.dataset.shown") != "yes":
        assert time.monotonic() < end, console_errors(driver)
        time.sleep(0.05)
    time.sleep(0.5)  # they are drawn in the next frames


def test_a_report_in_a_browser(trained: api.Run, browser: Any, tmp_path: Path) -> None:
    from PIL import Image

    show(browser, trained.report(tmp_path / "report.html"))
    assert console_errors(browser) == []
    drawn = browser.execute_script(INK)
    assert len(drawn) >= 20
    assert all(drawn)
    light = Image.open(io.BytesIO(whole_page(browser, tmp_path / "light.png"))).convert("L")
    set_scheme(browser, dark=True)
    time.sleep(1.0)
    dark = Image.open(io.BytesIO(whole_page(browser, tmp_path / "dark.png"))).convert("L")
    set_scheme(browser, dark=False)
    assert light.size == dark.size
    assert _mean(light) > 200
    assert _mean(dark) < 80
    # Nothing sticks out to the right.
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(wide) == 0
    pdf = printed(browser)
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 4
    _no_network(browser)


def test_runs_side_by_side_in_a_browser(trained: api.Run, browser: Any, tmp_path: Path) -> None:
    show(browser, api.compare([trained, trained], tmp_path / "comparison.html"))
    assert console_errors(browser) == []
    assert browser.execute_script(INK) == [1, 1] or all(browser.execute_script(INK))
    _no_network(browser)


def test_a_link_saves_the_numbers(trained: api.Run, browser: Any, tmp_path: Path) -> None:
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    show(browser, trained.report(tmp_path / "report.html", csv=tmp_path / "csv", compute=False))
    link = "document.querySelector('a[data-table=history]').click()"
    browser.execute_script(link)
    saved, end = tmp_path / "history.csv", time.monotonic() + SECONDS
    while not saved.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    ours = (tmp_path / "csv" / "history.csv").read_text().splitlines()
    theirs = saved.read_text().splitlines()
    assert len(ours) == len(theirs)
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1:], theirs[1:], strict=True):
        assert [_value(x) for x in a.split(",")] == [_value(x) for x in b.split(",")]


def _value(text: str) -> Any:
    if text in ("True", "true", "False", "false"):
        return text.lower()
    try:
        return float(text)
    except ValueError:
        return text


def _mean(picture: Any) -> float:
    counts = picture.histogram()
    return float(sum(value * count for value, count in enumerate(counts)) / sum(counts))


def _no_network(driver: Any) -> None:
    """Fail if a page has asked for anything but files."""
    entries = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    asked = [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    ]
    assert not [url for url in asked if url.startswith(("http:", "https:", "ws:"))]
