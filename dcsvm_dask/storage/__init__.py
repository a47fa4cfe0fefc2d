"""Zarr arrays and JSON objects: data sets, runs, commits, locks, saved models.

No other room of the package knows paths.
"""
