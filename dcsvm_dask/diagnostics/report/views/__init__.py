"""The sections of a report: text, tables and figures, made with Bokeh."""
