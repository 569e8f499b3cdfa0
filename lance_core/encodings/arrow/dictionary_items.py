"""Dictionary arrays with only the items that their rows use.

Arrow joins arrays of several dictionaries by one dictionary with the items of all, used or not.
There may be more of them than the index type can number.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.schema.rebuild import visible_children, with_children


def has_dictionaries(type_: pa.DataType) -> bool:
    """Whether values of the type have a dictionary, at any depth."""
    if isinstance(type_, pa.BaseExtensionType):
        return has_dictionaries(type_.storage_type)
    if pa.types.is_dictionary(type_):
        return True
    return any(has_dictionaries(type_.field(i).type) for i in range(type_.num_fields))


def copied(array: pa.Array) -> pa.Array:
    """The rows of ``array`` in memory of their own, which starts with them.

    Of a dictionary only the indices are copied. Arrow compares the dictionaries of arrays that it
    joins, even if both are the same one: a NaN differs from itself, and items that differ are not
    joined if some are null.
    """
    if pa.types.is_dictionary(array.type):
        indices, type_ = copied(array.indices), array.type
        return pa.DictionaryArray.from_arrays(
            indices, array.dictionary, ordered=type_.ordered, safe=False
        )
    return pa.concat_arrays([array, array.slice(0, 0)])


def with_used_items(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values; each dictionary, at any depth, has the items that its chunk uses.

    Null items become null indices: Arrow does not join dictionaries that have some.
    """
    if not has_dictionaries(column.type):
        return column
    return pa.chunked_array([_cut(_trimmed(chunk)) for chunk in column.chunks], column.type)


def _trimmed(array: pa.Array) -> pa.Array:
    """With no more items of lists than those of its rows, where a copy can be made."""
    try:
        return copied(array)
    except pa.ArrowInvalid:  # a dictionary below has NaN and null items, see `copied`
        return array


def _cut(array: pa.Array) -> pa.Array:
    type_ = array.type
    if not has_dictionaries(type_):
        return array
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, _cut(array.storage))
    if pa.types.is_dictionary(type_):
        return _cut_dictionary(array)
    return with_children(array, type_, [_cut(child) for child in visible_children(array)])


def _cut_dictionary(array: pa.DictionaryArray) -> pa.DictionaryArray:
    valid = np.asarray(array.is_valid())
    items = np.asarray(array.indices.fill_null(0))
    has_value = np.asarray(array.dictionary.is_valid())
    valid &= has_value.take(items, mode="clip") if len(has_value) else False
    is_used = np.zeros(len(has_value), np.bool_)
    is_used[items[valid]] = True
    numbers = np.cumsum(is_used) - 1  # of each used item among the used ones
    indices = np.zeros(len(array), items.dtype)
    indices[valid] = numbers[items[valid]]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, array.indices.type, mask=~valid),
        array.dictionary.filter(pa.array(is_used)),
        ordered=array.type.ordered,
    )
