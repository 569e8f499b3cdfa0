"""Settings of the documentation: `tox -e docs` builds it, and every warning is an error."""

from __future__ import annotations

import gc

from lance_core._version import __version__

# The trees of all pages stay until the end: to look through them again and again for garbage takes
# a fifth of the processor time of a build.
gc.set_threshold(100_000, 50, 50)

project = "lance-core"
author = "The lance-core authors"
copyright = author  # noqa: A001 - the name that Sphinx reads
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
default_role = "py:obj"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
# They are compiled, or need a Java runtime: the reference is built without them.
autodoc_mock_imports = ["pyspark"]

html_theme = "furo"
html_title = f"lance-core {release}"
