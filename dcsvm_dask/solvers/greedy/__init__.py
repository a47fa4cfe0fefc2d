"""Greedy selection of basis vectors, and Newton's method for their weights."""
