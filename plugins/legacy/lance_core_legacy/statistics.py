"""The page statistics of a 0.1 file: a table of one batch, with one row per batch of the file.

A column is a struct of ``null_count``, ``min_value`` and ``max_value``; its name is the decimal id
of the field. ``docs/format/file-0.1.md`` has the rules for these values. The results of this module
are valid bounds of the values that readers return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import concat_arrays, is_text, is_variable
from lance_core.hookspecs.file_versions import RowRange, Schema, ValueBounds, run_interleaved
from lance_core_legacy.bounds import text_bound
from lance_core_legacy.fields import LegacyColumns, decode_field
from lance_core_legacy.page_table import PageTable

if TYPE_CHECKING:
    from lance_core.hookspecs.arrays import Int64Array
    from lance_core.hookspecs.file_versions import DecodeContext, Decoding, Field, Metadata

_NULL_COUNT, _LOWEST, _HIGHEST = "null_count", "min_value", "max_value"


@dataclass(frozen=True, slots=True, eq=False)
class StoredStatistics:
    """Position and schema of the statistics.

    ``sizes``: number of rows of each batch. ``columns``: row of the page table by id of a
    statistics field. ``fields``: the struct of statistics by id of the described field.
    """

    table: PageTable
    sizes: Int64Array
    columns: Mapping[int, int]
    fields: Mapping[int, Field]

    @classmethod
    def of(
        cls, message: Metadata.StatisticsMetadata, edges: Int64Array, end: int
    ) -> StoredStatistics:
        """Create from the message of a file of ``end`` bytes; ``edges`` are the rows of batches.

        Raises `CorruptFileError` for statistics past ``end`` or an invalid schema.
        """
        if message.page_table_position > end:
            raise CorruptFileError(
                f"statistics at {message.page_table_position} are past the end",
                field="Metadata.statistics",
            )
        schema = Schema.from_proto(message.schema)
        first = message.fields[0] if message.fields else 0
        columns = {field_id: field_id - first for field_id in message.fields}
        fields = {
            int(field.name): field
            for field in schema.fields
            if field.name.isascii() and field.name.isdecimal() and len(field.name) < 11
        }
        table = PageTable(message.page_table_position, np.array([0, len(edges) - 1]))
        return cls(table, np.diff(edges), columns, fields)


def read_statistics(
    stored: StoredStatistics, fields: Sequence[Field], context: DecodeContext
) -> Decoding[dict[int, ValueBounds | None]]:
    """The statistics of ``fields`` by id; None for a field without statistics."""
    described = [field for field in fields if _are_about(stored.fields.get(field.id), field)]
    columns = LegacyColumns(stored.table, lambda field_id: None)
    rows = RowRange(0, stored.table.num_rows)
    decodings = [
        decode_field(stored.fields[field.id], stored.columns, columns, rows, context)
        for field in described
    ]
    read = yield from run_interleaved(decodings)
    bounds: dict[int, ValueBounds | None] = {field.id: None for field in fields}
    for field, arrays in zip(described, read, strict=True):
        bounds[field.id] = _usable(concat_arrays(arrays), field, stored.sizes)
    return bounds


def _are_about(stored: Field | None, field: Field) -> bool:
    """True if ``stored`` has bounds of the type of ``field``; other members are allowed."""
    if stored is None or not stored.is_struct:
        return False
    types = {member.name: member.storage_type for member in stored.children}
    expected = {_NULL_COUNT: pa.int64(), _LOWEST: field.storage_type, _HIGHEST: field.storage_type}
    if len(types) < len(stored.children):  # a duplicate name is ambiguous
        return False
    return all(types.get(name) == type_ for name, type_ in expected.items())


def _usable(stored: pa.StructArray, field: Field, sizes: Int64Array) -> ValueBounds:
    """Bounds of the values that readers return; a null bound is unknown.

    Readers return the stored bytes of a null value of fixed width, and bounds do not cover these
    bytes; so batches with nulls get no bounds. An empty bound is unknown. Writers truncate strings
    at different lengths, so the maximum of truncated strings is adjusted to an upper bound.
    """
    null_counts = np.asarray(stored.field(_NULL_COUNT)).astype(np.int64)
    lowest, highest = stored.field(_LOWEST), stored.field(_HIGHEST)
    if is_variable(field.storage_type):
        lowest, highest = (_without_empty(bound) for bound in (lowest, highest))
        if is_text(field.storage_type):
            highest = pa.array([text_bound(text) for text in highest.to_pylist()], highest.type)
    else:
        unknown = pa.array(null_counts != 0)
        lowest, highest = (_without(bound, unknown) for bound in (lowest, highest))
    return ValueBounds(np.clip(null_counts, 0, sizes), lowest, highest)


def _without(bound: pa.Array, unknown: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.if_else(unknown, pa.scalar(None, bound.type), bound)


def _without_empty(bound: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return _without(bound, pc.equal(pc.binary_length(bound), 0))
