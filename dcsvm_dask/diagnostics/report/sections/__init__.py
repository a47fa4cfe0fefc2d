"""The sections of the page: what is shown, in which words."""
