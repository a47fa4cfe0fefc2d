"""Solving the whole problem: rounds of block minimisation, or of working sets."""
