"""The columns that a scan sorts by, and in which direction."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.lazy_dataclass import dataclass


@dataclass
class ColumnOrdering:
    """One column of an order: ascending, with nulls last, unless stated otherwise."""

    column_name: str
    ascending: bool = True
    nulls_first: bool = False


def as_orderings(order_by: Sequence[ColumnOrdering | str]) -> tuple[ColumnOrdering, ...]:
    """The value of the option ``order_by``; a name means ascending with nulls last."""
    if isinstance(order_by, str):
        raise InvalidTypeError(f"order_by must be a list, got the string {order_by!r}")
    orderings = [ColumnOrdering(key) if isinstance(key, str) else key for key in order_by]
    for ordering in orderings:
        # Objects of pylance have the same attributes.
        name = getattr(ordering, "column_name", None)
        if name is None:
            raise InvalidTypeError(
                f"order_by must be a list of ColumnOrdering or names, got {type(ordering)}"
            )
        if not isinstance(name, str):
            raise InvalidTypeError(f"the name of a column must be a string, got {name!r}")
    return tuple(orderings)


def check_sortable(type_: pa.DataType, name: str) -> None:
    """Raise `InvalidInputError` if rows cannot be sorted by a column of this type."""
    if pa.types.is_map(type_) or pa.types.is_interval(type_) or pa.types.is_union(type_):
        raise InvalidInputError(f"rows cannot be sorted by {name!r}: it is a {type_}")
