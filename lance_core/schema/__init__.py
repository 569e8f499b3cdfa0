"""Table schemas: fields, field ids, and the Arrow types that store each field."""

from lance_core.schema.align import align_batch, check_nulls, to_storage
from lance_core.schema.as_json import json_to_schema, schema_to_json
from lance_core.schema.blobs.fields import (
    BLOB_V2,
    DESCRIPTION_V2,
    BlobKind,
    BlobThresholds,
    as_bytes,
    described_in_file,
    given_to_files,
    has_blobs,
    has_blobs_v2,
    is_blob_v2,
    upgraded,
)
from lance_core.schema.compatible import append_schema, missing_fields
from lance_core.schema.field import BLOB_KEY, UNASSIGNED, DictionaryValues, Field
from lance_core.schema.lance_schema import LanceField, LanceSchema, stored_schema
from lance_core.schema.path import format_path, parse_path
from lance_core.schema.proto import decode_metadata, encode_metadata
from lance_core.schema.storable import RESERVED_NAMES, check_storable
from lance_core.schema.tree import Schema
from lance_core.schema.wrap import binary_json, wrap, wrap_chunks

__all__ = [
    "BLOB_KEY",
    "BLOB_V2",
    "DESCRIPTION_V2",
    "RESERVED_NAMES",
    "UNASSIGNED",
    "BlobKind",
    "BlobThresholds",
    "DictionaryValues",
    "Field",
    "LanceField",
    "LanceSchema",
    "Schema",
    "align_batch",
    "append_schema",
    "as_bytes",
    "binary_json",
    "check_nulls",
    "check_storable",
    "decode_metadata",
    "described_in_file",
    "encode_metadata",
    "format_path",
    "given_to_files",
    "has_blobs",
    "has_blobs_v2",
    "is_blob_v2",
    "json_to_schema",
    "missing_fields",
    "parse_path",
    "schema_to_json",
    "stored_schema",
    "to_storage",
    "upgraded",
    "wrap",
    "wrap_chunks",
]
