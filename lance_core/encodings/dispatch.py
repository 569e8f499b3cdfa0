"""Decode and encode fields of every file version. `lance_core.datafile` builds on this module.

Each function looks up the one of its name in the `FileVersionSpec` of the version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.encodings.context import EncodeContext, FieldEncoder
from lance_core.encodings.page import GroupKey

if TYPE_CHECKING:
    import pyarrow as pa
    from google.protobuf.message import Message

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Decoding, RowRange, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
    from lance_core.encodings.page import Column, EncodedPage, ForeignEncoding, Page
    from lance_core.encodings.v2_1.write.column_group import SmallColumns
    from lance_core.encodings.version import FileVersion
    from lance_core.schema import Field, Schema


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


def group_key(
    field: Field, parts: Sequence[tuple[Field, Page]], context: DecodeContext
) -> GroupKey | None:
    """The key of small columns that `decode_columns` decodes; None for other columns.

    ``parts``: the fields, ``field`` itself or parts of it, that have a column, and its only page.
    """
    key_of = context.registry.decoder(context.version).group_key
    return None if key_of is None else key_of(field, parts, context)


def decode_columns(
    field: Field,
    column_of: Mapping[int, int],
    joined: Sequence[Column],
    key: GroupKey,
    rows: AnyRows,
    context: DecodeContext,
) -> Decoding[list[list[pa.Array]]]:
    """Decode the same rows, at least one, of several fields of the type of ``field``.

    Page i of each of the ``joined`` columns is a whole column of field i; all have the same rows,
    and the fields have the `group_key` ``key``. ``column_of`` maps ids of ``field`` and its parts.
    Returns what `decode_field` returns for each field. Raises `CorruptFileError` that does not name
    the column.
    """
    decode = context.registry.decoder(context.version).decode_columns
    assert decode is not None  # a version with a `group_key` has it
    decoding: Decoding[list[list[pa.Array]]]
    decoding = decode(field, column_of, joined, key.value, rows, context)
    return decoding


def find_integers(
    field: Field,
    column_of: Mapping[int, int],
    columns: Sequence[Column],
    rows: RowRange,
    index: IntegerIndex,
    context: DecodeContext,
) -> Decoding[ValueMatches | None]:
    """The ``rows`` whose value, as an integer with the same bits, is in ``index``.

    They count from the first of ``rows``. None, before any request, if decoding all values is the
    only way to find them: the column has nulls or a nested type, or is not packed in few pages.
    Raises as `decode_field` does.
    """
    find = context.registry.decoder(context.version).find_integers
    if find is None:
        yield from ()
        return None
    found: ValueMatches | None = yield from find(field, column_of, columns, rows, index, context)
    return found


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


def small_columns(schema: Schema, context: EncodeContext, min_shared: int) -> SmallColumns | None:
    """Where rows of the small columns of a schema wait to be encoded together.

    None if the version does not support it, or if the number of columns less the number of their
    types is below ``min_shared``: only columns of one type are encoded together.
    """
    waiting = context.registry.encoders(context.version).small_columns
    if waiting is None or schema.num_fields <= min_shared:
        return None
    columns: SmallColumns = waiting(schema, context)
    return columns if columns.num_shared >= min_shared else None


def flush_together(
    columns: SmallColumns, encoder_of: Callable[[int], FieldEncoder], context: EncodeContext
) -> Iterable[Sequence[tuple[int, EncodedPage]]]:
    """Flush all fields: sequences of the number of a field and one of its pages, in order.

    The pages are those that `FieldEncoder.flush` returns. ``encoder_of`` returns the encoder of a
    field that does not wait in ``columns``.
    """
    flush = context.registry.encoders(context.version).flush_together
    assert flush is not None  # a version with `small_columns` has it
    pages: Iterable[Sequence[tuple[int, EncodedPage]]] = flush(columns, encoder_of, context)
    return pages


def parse_page_encoding(
    version: FileVersion, type_url: str, value: bytes
) -> Message | ForeignEncoding:
    """The encoding of a page from the ``Any`` message of the page.

    Raises `CorruptFileError` if ``value`` is not a valid message of type ``type_url``.
    """
    from lance_core.encodings.messages import parse_page

    return parse_page(version, type_url, value)


def parse_column_encoding(type_url: str, value: bytes) -> Message | ForeignEncoding:
    """The ``ColumnEncoding`` of a column from the ``Any`` message of the column."""
    from lance_core.encodings.messages import parse_column

    return parse_column(type_url, value)
