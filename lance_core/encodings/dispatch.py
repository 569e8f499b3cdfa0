"""Decode and encode fields of every file version. `lance_core.datafile` builds on this module.

Each function looks up the one of its name in the `FileVersionSpec` of the version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.encodings.context import EncodeContext, FieldEncoder

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding
    from lance_core.encodings.page import Column
    from lance_core.schema import Field


def decode_field(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[pa.Array]]:
    """Decode some rows of a field, which may be reduced to a part of its children.

    ``column_of`` maps field ids to physical columns. The arrays have the storage type of the field,
    follow the order of ``rows``, and are not empty; each page gives at most a few of them.
    Raises `CorruptFileError` if the bytes contradict the format.
    """
    decoder = context.registry.decoder(context.version)
    decoding: Decoding[list[pa.Array]]
    decoding = decoder.decode_field(field, column_of, columns, rows, context)
    return decoding


def field_encoder(field: Field, context: EncodeContext) -> FieldEncoder:
    """An encoder for one top-level field.

    Raises `UnsupportedFeatureError` with the field's path if the file version cannot store the
    field, and `PluginNotFoundError` if the field requests an encoding that no plugin provides.
    """
    from lance_core.encodings.plugin_values.value_encoding import check_value_encodings

    check_value_encodings(field, context.registry)
    encoder: FieldEncoder
    encoder = context.registry.encoders(context.version).field_encoder(field, context)
    return encoder
