"""Columns of a table that are made numbers: categories, dates, words for yes and no, missing cells.

How is learned on training rows, stored as JSON values, and applied to all later rows. What is
numbers already needs nothing of this.
"""
