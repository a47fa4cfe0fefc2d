"""The report of a run: tables of numbers, figures of them, one HTML file.

`tables` holds plain columns of numbers and knows nothing of figures; `views` holds the figures and
uses Bokeh; `page` puts them together.
"""
