"""Where a table has its manifests."""

from __future__ import annotations

from lance_core.hookspecs.commits import ManifestName, parse_manifest_name

VERSIONS, SET_ASIDE = "_versions", "_damaged"
"""Folders of manifests: of a table and of each branch, and of those that are not part of it."""


def manifest_name(path: str) -> ManifestName | None:
    """What the name of the manifest at ``path`` says; None for other files."""
    folder, _, name = path.rpartition("/")
    return parse_manifest_name(name) if folder.rpartition("/")[2] == VERSIONS else None
