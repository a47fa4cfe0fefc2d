"""A run on a terminal: the tree with bars, a line for each commit, what came of it."""
