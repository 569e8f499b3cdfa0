"""Cast arrays of any nesting to another type; members of structs are matched by position."""

from __future__ import annotations

import pyarrow as pa

from lance_core.errors import ResultTooLargeError, SchemaMismatchError
from lance_core.schema.evolution import is_any_list
from lance_core.schema.rebuild import visible_children, with_children

_TOO_LARGE = "input array too large"
"""What Arrow says of values whose bytes 32-bit offsets cannot address."""


def cast(array: pa.Array, type_: pa.DataType, name: str) -> pa.Array:
    """``array`` as type ``type_``; see `lance_core.schema.evolution.can_cast`.

    Times are truncated to coarser units. Raises `SchemaMismatchError` naming the column ``name``
    for a value that does not fit, and `ResultTooLargeError` if one array cannot hold all values.
    """
    try:
        return _cast(array, type_)
    except pa.ArrowInvalid as error:
        error_class = ResultTooLargeError if _TOO_LARGE in str(error) else SchemaMismatchError
        size = f" (values of {array.nbytes} bytes)" if error_class is ResultTooLargeError else ""
        raise error_class(
            f"column {name!r} cannot be cast from {array.type} to {type_}{size}: {error}"
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise SchemaMismatchError(
            f"column {name!r} cannot be cast from {array.type} to {type_}: {error}"
        ) from error


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    if pa.types.is_struct(type_):
        fields = [type_.field(number) for number in range(type_.num_fields)]
        pairs = zip(visible_children(array), fields, strict=True)
        members = [_cast(child, field.type) for child, field in pairs]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(members, fields=fields, mask=mask)
    if is_any_list(type_):
        item = type_.value_field
        same_kind = _with_items(array.type, item)
        items = _cast(array.values, item.type)
        return with_children(array, same_kind, [items]).cast(type_)
    return _plain(array, type_)


def _plain(array: pa.Array, type_: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    if pa.types.is_timestamp(type_) and type_.tz and getattr(array.type, "tz", None) is None:
        # A time without a zone is local time of the zone, as in pylance.
        return pc.assume_timezone(_plain(array, pa.timestamp(type_.unit)), type_.tz)
    if pa.types.is_decimal(array.type) and pa.types.is_decimal(type_):
        array = _rounded(array, type_)
    options = pc.CastOptions(target_type=type_, allow_time_truncate=True, allow_float_truncate=True)
    return pc.cast(array, options=options)


def _rounded(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Decimals without more digits after the point than ``type_``; a half is rounded up."""
    import pyarrow.compute as pc

    if array.type.scale <= type_.scale:
        return array
    return pc.round(array, type_.scale, round_mode="half_towards_infinity")


def _with_items(arrow: pa.DataType, item: pa.Field) -> pa.DataType:
    """The list type ``arrow`` with other items."""
    if pa.types.is_fixed_size_list(arrow):
        return pa.list_(item, arrow.list_size)
    return pa.large_list(item) if pa.types.is_large_list(arrow) else pa.list_(item)
