"""A page in a browser, as a reader sees it: also what lies in its shadow trees."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser import console_errors

ARTEFACTS = Path(__file__).resolve().parents[2] / ".artefacts"
# Text and figures lie in shadow trees, which the page's own query functions do not enter.
TEXT = """
const text = (node) => node.nodeType === Node.TEXT_NODE ? node.data
  : ["STYLE", "SCRIPT"].includes(node.tagName) ? ""
  : [...(node.shadowRoot ? node.shadowRoot.childNodes : []), ...node.childNodes]
      .map(text).join(" ");
return text(document.body).replace(/\\s+/g, " ");
"""
FACTS = """
const found = {};
const look = (node) => {
  if (node.tagName === "DT") found[node.textContent] = node.nextElementSibling.textContent;
  for (const child of node.shadowRoot ? node.shadowRoot.childNodes : []) look(child);
  for (const child of node.childNodes) look(child);
};
look(document.body);
return found;
"""


class Reader:
    """A headless Chromium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Go to a page."""
        self.driver.get(address)

    def text(self) -> str:
        """Return all text of the page."""
        return str(self.driver.execute_script(TEXT))

    def facts(self) -> dict[str, str]:
        """Return what stands in the page's lists of names and values."""
        return dict(self.driver.execute_script(FACTS))

    def wait_for(self, holds: Callable[[], Any], seconds: float = 120.0) -> Any:
        """Wait until something is true, and return it."""
        end = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < end, f"waited in vain; the page says: {self.text()}"
            time.sleep(0.1)
        return found

    def errors(self) -> list[str]:
        """Return the errors of the console since the last call."""
        return console_errors(self.driver)

    def shoot(self, name: str) -> None:
        """Keep a picture of the page in ``.artefacts``."""
        ARTEFACTS.mkdir(exist_ok=True)
        self.driver.save_screenshot(str(ARTEFACTS / f"{name}.png"))
