"""Names of temporary files, which are not objects."""

from __future__ import annotations

import os

TEMPORARY_PREFIX = ".tmp"
"""Prefix of the names of temporary files; readers and listings of tables ignore them."""


def temporary_path(folder: str) -> str:
    """A unique full path in ``folder``."""
    return f"{folder}/{TEMPORARY_PREFIX}{os.urandom(9).hex()}"
