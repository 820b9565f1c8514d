"""The site: `make docs` builds it into build/site. The pages are the Markdown of this folder."""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

version_of = runpy.run_path(str(HERE.parent / "src" / "whippletree" / "_version.py"))
stage = importlib.import_module("extensions.gallery").stage

project = "Whippletree"
author = "The Whippletree developers"
copyright = "The Whippletree developers"
version = release = version_of["__version__"]

extensions = [
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "extensions.mathml",
    "extensions.pages",
    "extensions.reference",
    "extensions.gallery",
]
exclude_patterns = ["gallery.md", "extensions", "pictures/examples", "api.txt"]
suppress_warnings = ["config.cache"]
default_role = "code"
nitpicky = False
toc_object_entries_show_parents = "hide"
add_module_names = False

myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 4

html_theme = "pydata_sphinx_theme"
html_title = f"Whippletree {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "_static/whippletree.svg"
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Whippletree", "alt_text": "Whippletree, the start page"},
    "collapse_navigation": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

sphinx_gallery_conf = {
    "examples_dirs": stage(),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "plot_gallery": os.environ.get("WHIPPLETREE_GALLERY", "run") == "run",
    "parallel": int(os.environ.get("WHIPPLETREE_JOBS", "1")),
    "abort_on_example_error": True,
    "image_scrapers": ("extensions.gallery.draw",),
    "reset_modules": ("extensions.gallery.begin",),
    "reset_argv": "extensions.gallery.arguments",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "write_computation_times": False,
    "download_all_examples": False,
}
