"""Cluster files, starting workers by kind, and connecting to a scheduler."""
