"""Zarr arrays and JSON objects: data sets, runs, commits, locks, saved models.

Nothing else in the package knows a path.
"""
