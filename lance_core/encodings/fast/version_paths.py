"""The optional functions of a file version for many small columns, and for keys.

Each function looks up the one of its name in the `FileVersionSpec` of the version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_core.encodings.page import GroupKey
from lance_core.fast_paths import FastPath, FastPaths

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_core.encodings.arrow.ordered_rows import AnyRows
    from lance_core.encodings.context import DecodeContext, EncodeContext, FieldEncoder
    from lance_core.encodings.decoding import Decoding, RowRange, ValueMatches
    from lance_core.encodings.kernels.numpy.integer_index import IntegerIndex
    from lance_core.encodings.page import Column, EncodedPage, Page
    from lance_core.encodings.v2_1.fast.small_columns import SmallColumns
    from lance_core.schema import Field, Schema


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
) -> Decoding[ValueMatches | None] | None:
    """The ``rows`` whose value, as an integer with the same bits, is in ``index``.

    They count from the first of ``rows``. None, before any request, if decoding all values is the
    only way to find them: the version cannot search, or the column has nulls or a nested type, or
    is not packed in few pages. Raises as `decode_field` does.
    """
    find = context.registry.decoder(context.version).find_integers
    return find and find(field, column_of, columns, rows, index, context)


KEY_SEARCHES = FastPaths(FastPath.of(find_integers))
"""Which rows of a field have one of many keys; otherwise all values are decoded.

Without it, a merge of 1,000 rows into 5,000,000 takes 1.36 times the processor time.
"""


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
