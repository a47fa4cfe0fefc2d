"""Solvers of a working set whose kernel matrix is in memory, beside SMO."""
