"""Select the encoding of a page's values; follows pylance's choices for 2.0 files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.fixed_width import has_fixed_width
from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.compression.general import SCHEMES
from lance_core.encodings.plugin_values.value_encoding import ENCODING_KEY
from lance_core.encodings.v2_0.base import Compression, EncodeScope
from lance_core.encodings.v2_0.dictionary import encode_strings
from lance_core.encodings.v2_0.foreign import encode_foreign
from lance_core.errors import UnsupportedFeatureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding
    from lance_core.encodings.context import EncodeContext

COMPRESSION_KEY = "lance-encoding:compression"
LEVEL_KEY = "lance-encoding:compression-level"

_GENERAL = (*SCHEMES, "none")
# Indices of strings have one byte, in which 0 stands for null.
_MAX_ITEMS = 255
_SAMPLE = 1024


def encode_page(
    array: pa.Array, metadata: Mapping[str, str], context: EncodeContext
) -> tuple[ArrayEncoding, list[pa.Buffer]]:
    """Encode the values of a page; returns message and buffers. ``metadata`` is the field's."""
    requested = metadata.get(COMPRESSION_KEY, "")
    compression = None
    if requested in _GENERAL:
        compression = Compression(requested, _level(metadata.get(LEVEL_KEY)))
    scope = EncodeScope(context.registry, [], compression)
    type_ = array.type
    if ENCODING_KEY in metadata and array.null_count < len(array):
        return encode_foreign(array, metadata[ENCODING_KEY], scope), scope.buffers
    if pa.types.is_string(type_):
        encoded = few_distinct(array, context.dictionary_threshold)
        if encoded is not None:
            return encode_strings(encoded, scope), scope.buffers
    if pa.types.is_dictionary(type_):
        key = "dictionary"
    elif pa.types.is_struct(type_):
        key = "packed_struct"
    elif not is_variable(type_):
        key = "nullable"
    elif requested == "fsst" and (pa.types.is_string(type_) or pa.types.is_binary(type_)):
        key = "fsst"
    else:
        key = "binary"
    return scope.encode(key, array), scope.buffers


def _level(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def few_distinct(array: pa.Array, threshold: int) -> pa.DictionaryArray | None:
    """``array`` dictionary-encoded if it has ``threshold`` rows and fewer distinct values.

    Checks the first rows, and a sample from the whole array, so that many distinct values cost
    little time.
    """
    threshold = min(threshold, _MAX_ITEMS + 1)
    rows, most = len(array), max(threshold, 0) * 3 // 2
    if rows < threshold:
        return None
    if rows > 2 * most and len(array.slice(0, most).dictionary_encode().dictionary) >= threshold:
        return None
    if rows > 4 * _SAMPLE:
        step = rows // _SAMPLE
        sample = array.take(pa.array(range(0, rows, step)))
        if pc.count_distinct(sample).as_py() >= threshold:
            return None
    encoded = array.dictionary_encode()
    return encoded if len(encoded.dictionary) < threshold else None


def check_type(type_: pa.DataType, path: str) -> None:
    """Raise `UnsupportedFeatureError` if a column of 2.0 files cannot store ``type_``.

    ``path`` names the field in the error.
    """
    in_dictionary, in_list = pa.types.is_dictionary(type_), False
    values = type_.value_type if in_dictionary else type_
    while pa.types.is_fixed_size_list(values):
        values, in_list = values.value_type, True
    storable = has_fixed_width(values)
    if not in_list:
        storable |= is_variable(values) or pa.types.is_null(values)
    if not storable or (in_dictionary and in_list):
        raise UnsupportedFeatureError(
            f"field {path!r}: file version 2.0 cannot store values of type {type_}"
        )
