"""Names of files that are not yet, or no longer, objects."""

from __future__ import annotations

import os

PREFIX = ".tmp"
"""What the names of unfinished files start with; readers and listings of tables ignore them."""


def temporary_path(folder: str) -> str:
    """A full path in ``folder`` that nobody else uses."""
    return f"{folder}/{PREFIX}{os.urandom(9).hex()}"
