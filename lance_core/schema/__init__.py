"""Schemas: fields and their ids, Arrow types and how they are stored."""

from lance_core.schema.field import BLOB_KEY, UNASSIGNED, DictionaryValues, Field
from lance_core.schema.path import format_path, parse_path
from lance_core.schema.proto import decode_metadata, encode_metadata
from lance_core.schema.tree import Schema

__all__ = [
    "BLOB_KEY",
    "UNASSIGNED",
    "DictionaryValues",
    "Field",
    "Schema",
    "decode_metadata",
    "encode_metadata",
    "format_path",
    "parse_path",
]
