"""The blob options of a write, from the arguments of `write_dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from lance_core.dataset.blobs.external import ExternalBlobs
from lance_core.dataset.write.fragment_writer import BlobOptions
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.schema import Schema, upgraded
from lance_core.table.manifest_parts import BasePath

REFERENCE, INGEST = "reference", "ingest"


def blob_options(base_paths: Iterable[BasePath], arguments: Mapping[str, Any]) -> BlobOptions:
    """The blob options of a write to a table with these base paths.

    Raises `InvalidInputError` for invalid arguments.
    """
    mode = arguments.get("external_blob_mode", REFERENCE)
    if mode not in (REFERENCE, INGEST):
        raise InvalidInputError(
            f"external_blob_mode must be {REFERENCE!r} or {INGEST!r}, got {mode!r}"
        )
    allow = arguments.get("allow_external_blob_outside_bases", False)
    if not isinstance(allow, bool):
        raise InvalidInputError(f"allow_external_blob_outside_bases must be a bool, got {allow!r}")
    if allow and mode == INGEST:
        raise InvalidInputError(
            "allow_external_blob_outside_bases is only for external_blob_mode='reference'"
        )
    external = ExternalBlobs.of(base_paths, allow)
    limit = arguments.get("blob_pack_file_size_threshold")
    return BlobOptions(limit, external, mode == INGEST)


def stored_schema(data: pa.Schema, version: FileVersion, table: Schema | None) -> pa.Schema:
    """The schema for storing ``data``: where files can have blobs of version 2, blobs have it.

    The exception is an append to a ``table`` with version 1 blobs.
    """
    if not version.stores.blobs_v2:
        return data
    if table is not None and (
        table.derived("has_blobs_v1", lambda: _has_blobs_v1(table))
        or data.equals(table.to_arrow(), check_metadata=True)
    ):
        return data
    return upgraded(data)


def _has_blobs_v1(table: Schema) -> bool:
    return any(field.is_blob for field in table.walk())
