"""The report of a run: tables of numbers, figures of them, one HTML file.

Files here hold one subject each. Those that make tables (plain columns of numbers) know nothing of
figures; `draw` holds the figures and knows Bokeh; `page` puts them together.
"""
