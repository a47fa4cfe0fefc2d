"""A headless Chromium for tests of pages."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def why_no_browser() -> str | None:
    """Return what is missing for a browser; None: nothing."""
    for program in ("chromedriver", "chromium"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return None


@contextmanager
def chromium(
    profile: Path, *, width: int = 1200, height: int = 900, dark: bool = False
) -> Iterator[Any]:
    """Open a Chromium with an empty profile; skip the test where there is none.

    Parameters
    ----------
    profile : Path
        A folder that does not exist or is empty.
    dark : bool
        Whether the browser prefers dark pages.
    """
    missing = why_no_browser()
    if missing:
        why = f"{missing}; `make browser` installs what tests of pages need"
        if os.environ.get("DCSVM_REQUIRE_BROWSER"):
            pytest.fail(why)
        pytest.skip(why)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.binary_location = str(shutil.which("chromium"))
    service = webdriver.ChromeService(str(shutil.which("chromedriver")))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        set_scheme(driver, dark=dark)
        yield driver
    finally:
        driver.quit()


def set_scheme(driver: Any, *, dark: bool) -> None:
    """Tell pages which scheme of colours their reader likes."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def console_errors(driver: Any) -> list[str]:
    """Return what pages have complained of since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def whole_page(driver: Any, file: Path) -> bytes:
    """Save a picture of the whole page and return it."""
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
    taken = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
    )
    file.write_bytes(base64.b64decode(taken["data"]))
    return file.read_bytes()


def printed(driver: Any) -> bytes:
    """Return the page printed to PDF."""
    taken = driver.execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
    )
    return base64.b64decode(taken["data"])
