"""How far a run is, told live or from its folder, and when it is likely to end; no pictures."""
