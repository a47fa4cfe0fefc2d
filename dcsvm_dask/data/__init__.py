"""Ingest: readers' rows become a data set."""
