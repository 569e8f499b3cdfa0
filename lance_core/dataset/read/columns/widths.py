"""How many bytes a row of some columns takes in memory, and how many columns there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.dataset.read.scan_tuning import tuning
from lance_core.schema.logical_type import storage_type_of

if TYPE_CHECKING:
    from lance_core.schema import Field


def num_columns(fields: Iterable[Field]) -> int:
    """The number of leaf fields in ``fields``; a struct without members counts as one."""
    return sum(
        sum(not part.children for part in field.walk()) if field.children else 1 for field in fields
    )


def probable_bytes(fields: Sequence[Field], others: int | None = None) -> int:
    """Estimated bytes of a row in memory.

    ``others``: of each field of variable width; None for the usual number.
    """
    if others is None:
        others = tuning().stream.probable_bytes
    widths = list(map(_field_bits, fields))
    return sum(8 * others if width is None else width for width in widths) // 8


def fixed_bytes(fields: Sequence[Field]) -> int | None:
    """The bytes of a row of the fields in memory, None if the width is variable."""
    widths = list(map(_field_bits, fields))
    known = [width for width in widths if width is not None]
    return sum(known) // 8 + 1 if len(known) == len(widths) else None


def _field_bits(field: Field) -> int | None:
    if field.children or field.is_struct:
        return _fixed_bits(field.storage_type)
    return _leaf_bits(field.logical_type)


@lru_cache(maxsize=256)
def _leaf_bits(text: str) -> int | None:
    """`_fixed_bits` of a logical type without child fields; a table has few of them."""
    return _fixed_bits(storage_type_of(text))


def _fixed_bits(type_: pa.DataType) -> int | None:
    if pa.types.is_fixed_size_list(type_):
        width = _fixed_bits(type_.value_type)
        return None if width is None else width * type_.list_size
    if pa.types.is_struct(type_):
        widths = [_fixed_bits(field.type) for field in type_]
        known = [width for width in widths if width is not None]
        return sum(known) if len(known) == len(widths) else None
    has_width = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_fixed_size_binary)
    if any(check(type_) for check in has_width):
        return int(type_.bit_width)
    return 0 if pa.types.is_null(type_) else None
