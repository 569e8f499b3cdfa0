"""Files without checksums: those that have some are refused before a reader sees other damage."""

from unittest.mock import patch

from lance_core.checksums import environment

without_checksums = patch.object(environment, "WRITTEN", "no")
"""Decorates functions that write files."""
