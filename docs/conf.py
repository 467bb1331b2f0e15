"""How the site is built: `make docs`, warnings are errors."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import flipcost

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "flipcost"
author = "The flipcost developers"
copyright = author  # noqa: A001 - Sphinx's name
version = release = flipcost.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_line",
    "reference",
    "katex",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples/*", "examples/**"]
templates_path = ["_templates"]
smartquotes = False  # options begin with two dashes
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_default_options = {"exclude-members": "set_fit_request,get_metadata_routing"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

# Pages link to files of the repository that are no pages.
myst_url_schemes = {"http": None, "https": None, "mailto": None}

html_theme = "pydata_sphinx_theme"
html_title = "flipcost"
html_static_path = ["_static"]
html_css_files = ["flipcost.css"]
html_js_files = ["from_disk.js"]
html_show_sourcelink = False
html_copy_source = False
html_logo = "_static/mark.svg"
html_favicon = "_static/mark.svg"
html_sidebars = {"index": [], "guide/tutorial": [], "errata": [], "changes": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 20,
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
}
warnings.filterwarnings("ignore", message=".*non-interactive.*")
