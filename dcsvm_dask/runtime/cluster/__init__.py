"""Clusters: what their files say, starting workers by kind, connecting to a scheduler."""
