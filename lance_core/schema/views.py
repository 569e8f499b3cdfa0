"""Arrow's views of strings and binary values, which the format stores as plain ones."""

from __future__ import annotations

import pyarrow as pa


def without_views(type_: pa.DataType) -> pa.DataType:
    """The type with strings and binary values in place of views of them, at all levels.

    Extension types are left as they are.
    """
    types = pa.types
    if types.is_string_view(type_):
        return pa.string()
    if types.is_binary_view(type_):
        return pa.binary()
    if types.is_struct(type_):
        return pa.struct([_plain(member) for member in type_])
    if types.is_list(type_):
        return pa.list_(_plain(type_.value_field))
    if types.is_large_list(type_):
        return pa.large_list(_plain(type_.value_field))
    if types.is_fixed_size_list(type_):
        return pa.list_(_plain(type_.value_field), type_.list_size)
    if types.is_map(type_):
        return pa.map_(_plain(type_.key_field), _plain(type_.item_field), type_.keys_sorted)
    if types.is_dictionary(type_):
        values = without_views(type_.value_type)
        return pa.dictionary(type_.index_type, values, type_.ordered)
    return type_


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(without_views(field.type))
