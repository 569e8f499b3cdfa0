"""Reduce the dictionaries of dictionary arrays to the items that their rows use.

When Arrow concatenates arrays with different dictionaries, it unifies all items, used or unused.
The unified dictionary may have more items than the index type can address.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import memory_pool
from lance_core.schema.rebuild import visible_children, with_children


def has_dictionaries(type_: pa.DataType) -> bool:
    """True if the type is or contains, at any depth, a dictionary type."""
    if isinstance(type_, pa.BaseExtensionType):
        return has_dictionaries(type_.storage_type)
    if pa.types.is_dictionary(type_):
        return True
    return any(has_dictionaries(type_.field(i).type) for i in range(type_.num_fields))


def bytes_of_rows(data: pa.Table | pa.RecordBatch) -> int:
    """The bytes of ``data`` that fewer rows would not have: dictionaries do not count.

    A slice of a dictionary array keeps all items, and so does a read of fewer rows of its page.
    Dictionaries inside of nested types count.
    """
    size = int(data.nbytes)
    for number, type_ in enumerate(data.schema.types):
        if pa.types.is_dictionary(type_):
            column = data.column(number)
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            size -= sum(chunk.dictionary.nbytes for chunk in chunks)
    return size


def copied(array: pa.Array) -> pa.Array:
    """A copy of the rows of ``array`` in memory that holds only these rows.

    Of dictionary arrays only the indices are copied. When Arrow concatenates arrays, it compares
    their dictionaries, even if both are the same object. A NaN differs from itself, and Arrow
    cannot unify differing dictionaries that contain nulls.
    """
    if pa.types.is_dictionary(array.type):
        indices, type_ = copied(array.indices), array.type
        return pa.DictionaryArray.from_arrays(
            indices, array.dictionary, ordered=type_.ordered, safe=False
        )
    return pa.concat_arrays([array, array.slice(0, 0)], memory_pool())


def with_used_items(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values; each dictionary, at any depth, has only the items that its chunk uses.

    Null items become null indices, because Arrow cannot unify dictionaries with null items.
    """
    if not has_dictionaries(column.type):
        return column
    return pa.chunked_array([_cut(_trimmed(chunk)) for chunk in column.chunks], column.type)


def _trimmed(array: pa.Array) -> pa.Array:
    """``array`` with its list items cut to those of its rows, if a copy is possible."""
    try:
        return copied(array)
    except pa.ArrowInvalid:  # a nested dictionary has NaN and null items, see `copied`
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
    numbers = np.cumsum(is_used) - 1  # new index of each used item
    indices = np.zeros(len(array), items.dtype)
    indices[valid] = numbers[items[valid]]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, array.indices.type, mask=~valid),
        array.dictionary.filter(pa.array(is_used)),
        ordered=array.type.ordered,
    )
