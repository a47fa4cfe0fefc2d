"""The numbers of a report: tables of a run's records, without Bokeh."""
