"""Ingest: from the rows of readers to a data set."""
