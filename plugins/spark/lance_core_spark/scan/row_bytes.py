"""Estimates of the bytes of a row in memory, from the manifest alone.

Values of fixed width count as much as they take. The manifest has the sizes of files, not of
columns: texts, lists and other values of variable size share equally what remains of their file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

import lance_core
from lance_core_spark.types.arrow_types import struct_fields

ROW_BYTES = 8
"""Estimated bytes of a row besides its values, for its conversion by Spark."""

MIN_VARIABLE_BYTES = 16
"""The minimum that a value of variable size counts: compressed texts are larger in memory."""


@dataclass(frozen=True, slots=True)
class Width:
    """The bytes of values of fixed width in a row, and the number of values of variable size."""

    fixed: float
    variable: int

    @classmethod
    def of(cls, fields: Iterable[pa.Field]) -> Width:
        """The width of a row of ``fields``."""
        widths = [_width(field.type) for field in fields]
        return cls(sum(width.fixed for width in widths), sum(width.variable for width in widths))


def stored_bytes(fragment: lance_core.LanceFragment) -> int:
    """Total size of a fragment's data files in bytes. A file of unknown size counts as empty."""
    return sum(file.file_size_bytes or 0 for file in fragment.metadata.files)


def estimated_bytes(dataset: lance_core.LanceDataset, columns: Sequence[str] | None) -> float:
    """Estimated bytes in memory of all rows; ``columns``: some of the table, None means all."""
    schema, fragments = dataset.schema, dataset.get_fragments()
    fields = [field for field in schema if columns is None or field.name in columns]
    sizes = row_bytes(fragments, schema, fields)
    rows = [fragment.physical_rows - fragment.num_deletions for fragment in fragments]
    return sum(count * size for count, size in zip(rows, sizes, strict=True))


def row_bytes(
    fragments: Sequence[lance_core.LanceFragment], schema: pa.Schema, columns: Iterable[pa.Field]
) -> list[float]:
    """Estimated bytes in memory of one row, per fragment, when reading ``columns``.

    ``schema`` is that of the table.
    """
    table, read = Width.of(schema), Width.of(columns)
    return [_fragment_row_bytes(fragment, table, read) for fragment in fragments]


def _fragment_row_bytes(fragment: lance_core.LanceFragment, table: Width, read: Width) -> float:
    per_row = stored_bytes(fragment) / max(fragment.physical_rows, 1)
    variable = max(MIN_VARIABLE_BYTES, (per_row - table.fixed) / max(table.variable, 1))
    return ROW_BYTES + read.fixed + read.variable * variable


def _width(arrow: pa.DataType) -> Width:
    if isinstance(arrow, pa.BaseExtensionType):
        return _width(arrow.storage_type)
    if pa.types.is_struct(arrow):
        return Width.of(struct_fields(arrow))
    if pa.types.is_fixed_size_list(arrow):
        item = _width(arrow.value_type)
        return Width(item.fixed * arrow.list_size, item.variable)
    try:
        return Width(arrow.bit_width / 8, 0)
    except ValueError:
        return Width(0, 1)
