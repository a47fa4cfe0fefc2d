"""The colours of steps and states, shared by the terminal, the dashboard page and the report."""

from __future__ import annotations

# Okabe and Ito's palette, which people who see few colours can tell apart; greys for waiting.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, YELLOW, GREY = "#56b4e9", "#cc79a7", "#f0e442", "#8a8f98"

STEPS = {
    "cluster": PURPLE,
    "assign": "#b79fce",
    "order": "#9a86b8",
    "pieces": "#9a86b8",
    "part": "#8f7aa8",
    "solve": BLUE,
    "improve": SKY,
    "predict": "#7fc8a9",
    "product": ORANGE,
    "recompute": RED,
    "close": "#e8935f",
    "epochs": BLUE,
    "scope": GREY,
    "commit": GREEN,
}
"""Colour of each layer, by its name."""

STATES = {"waiting": "#c9ced6", "running": ORANGE, "done": BLUE}
"""Colour of each state of a stage or block."""

SHARES = (
    "#440154",
    "#472d7b",
    "#3b528b",
    "#2c728e",
    "#21918c",
    "#28ae80",
    "#5ec962",
    "#addc30",
    "#fde725",
)
"""Colours for shares of support vectors from 0 to 1 (viridis)."""


def step_colour(layer: str) -> str:
    """Return the colour of a layer."""
    return STEPS.get(layer, GREY)


def share_colour(share: float) -> str:
    """Return the colour of a share in [0, 1]."""
    return SHARES[min(len(SHARES) - 1, int(max(share, 0.0) * len(SHARES)))]
