"""The figures of a report, made with Bokeh: numbers in, a figure out."""
