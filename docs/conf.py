"""How `make docs` builds the site: Markdown by MyST, docstrings by numpydoc, commands by click."""

import sys
from pathlib import Path
from typing import Any

from dcsvm_dask import __version__

sys.path.insert(0, str(Path(__file__).parent))

project = "dcsvm_dask"
author = "the dcsvm_dask developers"
copyright = f"2026, {author}"  # noqa: A001 (Sphinx calls it so)
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# The dashes of options stay two.
smartquotes = False
myst_enable_extensions = ["deflist"]
# Links to headings of other pages are checked as links to pages are.
myst_heading_anchors = 3
# Blocks without a language hold commands and what they print.
highlight_language = "none"

# In docstrings `name` is code, as in those of scikit-learn.
default_role = "literal"
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
# Every public function has a docstring, which describes its parameters and no others.
numpydoc_validation_checks = {"GL08", "PR01", "PR02"}
numpydoc_validation_exclude = {
    r"^dcsvm_dask\.(search|train)$",  # `**parameters` are described by their own names
    r"^dcsvm_dask\.Callback\.on_",  # the only parameter is the event
    r"^dcsvm_dask\.(Execution$|StageDone|StopRun$)",  # fields stand below, each with its text
}

html_theme = "pydata_sphinx_theme"
html_title = f"{project} {release}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["lines.css"]
html_sidebars = {"tutorial": []}
html_theme_options = {
    "show_prev_next": False,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}


def setup(app: Any) -> None:
    """Write the pages of the commands first."""
    from command_pages import write_pages

    app.connect("builder-inited", write_pages)
