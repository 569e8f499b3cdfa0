"""Schemas: fields and their ids, Arrow types and how they are stored."""

from lance_core.schema.align import align_batch, check_nulls, to_storage
from lance_core.schema.as_json import json_to_schema, schema_to_json
from lance_core.schema.compatible import append_schema
from lance_core.schema.field import BLOB_KEY, UNASSIGNED, DictionaryValues, Field
from lance_core.schema.path import format_path, parse_path
from lance_core.schema.proto import decode_metadata, encode_metadata
from lance_core.schema.storable import RESERVED_NAMES, check_storable
from lance_core.schema.tree import Schema
from lance_core.schema.wrap import wrap, wrap_chunks

__all__ = [
    "BLOB_KEY",
    "RESERVED_NAMES",
    "UNASSIGNED",
    "DictionaryValues",
    "Field",
    "Schema",
    "align_batch",
    "append_schema",
    "check_nulls",
    "check_storable",
    "decode_metadata",
    "encode_metadata",
    "format_path",
    "json_to_schema",
    "parse_path",
    "schema_to_json",
    "to_storage",
    "wrap",
    "wrap_chunks",
]
