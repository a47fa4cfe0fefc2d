"""More than two classes: one tree of levels for all binary SVMs, then each on all of its rows."""
