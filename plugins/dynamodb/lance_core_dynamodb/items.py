"""A row as an item of DynamoDB, attribute by attribute what pylance writes and reads.

``path`` counts from the bucket, ``size`` is in bytes and may be missing. ``e_tag`` is in old items:
two writers that complete the same version leave each other's, so it is not believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_core.errors import CorruptFileError
from lance_core.hookspecs import ManifestEntry
from lance_core_dynamodb.schema import BASE_URI, VERSION

COMMITTER = "lancedb"
"""What all items have as their ``committer``."""

_LONGEST = 20
"""Digits of the numbers that there can be."""


def key_of(base_uri: str, version: int) -> dict[str, Any]:
    """The key of the row of a version."""
    return {BASE_URI: {"S": base_uri}, VERSION: {"N": str(version)}}


def item_of(base_uri: str, entry: ManifestEntry) -> dict[str, Any]:
    """The item that says what ``entry`` says."""
    item = key_of(base_uri, entry.version)
    item["path"] = {"S": entry.path}
    item["committer"] = {"S": COMMITTER}
    if entry.size is not None:
        item["size"] = {"N": str(entry.size)}
    return item


def entry_of(item: Mapping[str, Any]) -> ManifestEntry:
    """What an item says; `CorruptFileError` if it is not one of a version's row."""
    version = _number(item, VERSION)
    path = item.get("path", {}).get("S")
    if version is None or not isinstance(path, str):
        raise CorruptFileError(
            "an item of the DynamoDB table has no path, or no version", field="path"
        )
    return ManifestEntry(version, path, _number(item, "size"))


def _number(item: Mapping[str, Any], name: str) -> int | None:
    if name not in item:
        return None
    text = item[name].get("N")
    if not (isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _LONGEST):
        raise CorruptFileError(
            f"an item of the DynamoDB table has a {name} that is not a whole number", field=name
        )
    return int(text)
