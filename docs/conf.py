"""The site: `make docs` builds it, without a network, with warnings as errors."""

import shutil
import sys
from pathlib import Path

import everlearn

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "everlearn"
author = "The everlearn developers"
copyright = author
version = release = everlearn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "myst_parser",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "everlearn_site",
]
exclude_patterns = ["figures", "_*"]
templates_path = ["_templates"]
suppress_warnings = [
    "config.cache",
    "myst.header",  # entries of the glossary are small headings
]

# ------------------------------------------------------------------------------------------- Markdown pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# ----------------------------------------------------------------------------------------------- reference
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
default_role = "name"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# ------------------------------------------------------------------------------------------------- gallery
# Examples write into out/ of the current folder, so they are run in a copy.
GALLERY_SOURCES = ROOT / "build" / "gallery"


GALLERY_HEADER = """Gallery
=======

Every example runs in less than ten seconds on data that are generated or come with scikit-learn. It prints
its results and saves its pictures under ``out/``. The tests run all of them.
"""


def copy_examples() -> None:
    """Copy the examples to where they are run."""
    shutil.rmtree(GALLERY_SOURCES, ignore_errors=True)
    shutil.copytree(ROOT / "examples", GALLERY_SOURCES, ignore=shutil.ignore_patterns("out", "__pycache__"))
    (GALLERY_SOURCES / "README.md").unlink()
    (GALLERY_SOURCES / "GALLERY_HEADER.rst").write_text(GALLERY_HEADER, encoding="utf-8")


copy_examples()
sphinx_gallery_conf = {
    "examples_dirs": [str(GALLERY_SOURCES)],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"serve_demo\.py$",  # a service that does not end
    "image_scrapers": ("everlearn_site.saved_pictures",),
    "reset_modules": (),
    "within_subsection_order": "everlearn_site.in_reading_order",
    "backreferences_dir": "gallery/uses",
    "min_reported_time": 10,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

# ---------------------------------------------------------------------------------------------------- looks
html_theme = "pydata_sphinx_theme"
html_title = "everlearn"
html_static_path = ["_static"]
html_css_files = ["everlearn.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "everlearn"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    # Pages of wide figures have no second sidebar.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "algorithms": [],
        "parameters": [],
        "which-learner": [],
    },
    "footer_start": ["sphinx-version"],
    "footer_end": [],
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {page: [] for page in ("index", "tour", "which-learner")}
