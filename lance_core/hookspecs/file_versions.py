"""Everything that the author of a file version needs.

A version is described by a `FileVersionSpec`. A version with a container of its own reads and
writes files by what is here; arrays are built by `lance_core.hookspecs.arrays`, bytes are read from
and written to the stores of `lance_core.hookspecs.stores`.
"""

from lance_core.datafile.container_messages import Manifest, Metadata
from lance_core.datafile.file_output import FileOptions, FileOutput, FileWriteResult
from lance_core.datafile.metadata import MAX_DESCRIPTION
from lance_core.datafile.page_statistics import PageStatistics, ValueBounds
from lance_core.datafile.tail import Tail
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.decoding import Decoding, RowRange, Rows, run_interleaved
from lance_core.encodings.plugin_values.value_encoding import refuse_value_encodings
from lance_core.encodings.version import FORMAT_VERSIONS, FileVersionSpec
from lance_core.file_version import FileVersion, NullableTypes, StorableTypes, VersionFacts
from lance_core.schema.dictionary_values import (
    check_dictionary,
    dictionary_fields,
    serialize_dictionary,
    with_changed_dictionaries,
)
from lance_core.schema.field import DictionaryValues, Field
from lance_core.schema.logical_type import encoding_of, logical_type_of
from lance_core.schema.proto import encode_metadata
from lance_core.schema.tree import Schema

__all__ = [
    "FORMAT_VERSIONS",
    "MAX_DESCRIPTION",
    "DecodeContext",
    "Decoding",
    "DictionaryValues",
    "Field",
    "FileOptions",
    "FileOutput",
    "FileVersion",
    "FileVersionSpec",
    "FileWriteResult",
    "Manifest",
    "Metadata",
    "NullableTypes",
    "PageStatistics",
    "RowRange",
    "Rows",
    "Schema",
    "StorableTypes",
    "Tail",
    "ValueBounds",
    "VersionFacts",
    "check_dictionary",
    "dictionary_fields",
    "encode_metadata",
    "encoding_of",
    "logical_type_of",
    "refuse_value_encodings",
    "run_interleaved",
    "serialize_dictionary",
    "with_changed_dictionaries",
]
