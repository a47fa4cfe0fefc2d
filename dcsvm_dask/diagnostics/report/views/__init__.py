"""What a report shows: sections of text, tables and figures, made with Bokeh."""
