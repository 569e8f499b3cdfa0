"""Sort orders: values of every Arrow type as numpy arrays that sort in the requested order.

The order is that of pylance: NaN above all other floats and -0.0 below 0.0, text by its UTF-8
bytes, structs by their children, lists by their items, and rows that are equal in table order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.dataset.read.columns.ordering import ColumnOrdering
from lance_core.encodings.arrow.combine_chunks import combine_chunks
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.encodings.arrow.spans import edges_of
from lance_core.errors import UnsupportedFeatureError
from lance_core.index.sort_order import searchable, sort_keys

Keys = list[npt.NDArray[Any]]
"""Arrays of one length, the most significant first; smaller values come first."""

_SIGN = np.uint64(1 << 63)


def sort_order(
    columns: Sequence[pa.ChunkedArray], by: Sequence[ColumnOrdering]
) -> npt.NDArray[Any]:
    """Row numbers that sort the rows; ``columns[i]`` holds the values for ``by[i]``.

    Equal rows keep their order.
    """
    keys = [
        key
        for column, ordering in zip(columns, by, strict=True)
        for key in _keys_of(column, ordering)
    ]
    return _order(keys)


def _order(keys: Keys) -> npt.NDArray[np.intp]:
    return keys[0].argsort(kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])


def _keys_of(column: pa.ChunkedArray, by: ColumnOrdering) -> Keys:
    return _keys(combine_chunks(column), bool(by.ascending), bool(by.nulls_first))


def may_precede(
    column: pa.ChunkedArray, worst: pa.ChunkedArray, by: ColumnOrdering, inclusive: bool
) -> npt.NDArray[np.bool_] | None:
    """True for each value of ``column`` that comes before the one value in ``worst``.

    ``inclusive``: also for an equal value. None if finding out costs as much as sorting.
    """
    if not (is_numeric(column.type) or is_text(column.type)):
        return None
    values, last = combine_chunks(column), combine_chunks(worst)
    is_null = _nulls(values)
    if last.null_count:
        others = np.full(len(values), not by.nulls_first)
        return others if is_null is None else np.where(is_null, inclusive, others)
    before = _compared(values, last, bool(by.ascending), inclusive)
    return before if is_null is None else np.where(is_null, bool(by.nulls_first), before)


def _compared(
    values: pa.Array, last: pa.Array, ascending: bool, inclusive: bool
) -> npt.NDArray[np.bool_]:
    if is_numeric(values.type):
        left, right = _ranks(values), _ranks(last)
        if ascending:
            return left <= right if inclusive else left < right
        return left >= right if inclusive else left > right
    import pyarrow.compute as pc

    if ascending:
        compare = pc.less_equal if inclusive else pc.less
    else:
        compare = pc.greater_equal if inclusive else pc.greater
    return np.asarray(compare(values, last[0]).fill_null(False))


def is_numeric(type_: pa.DataType) -> bool:
    """True for types whose values are integers or floats, such as dates."""
    types = pa.types
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_temporal)
    return any(check(type_) for check in checks) and not types.is_interval(type_)


def is_text(type_: pa.DataType) -> bool:
    """True for strings and binary values of variable width."""
    types = pa.types
    checks = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(check(type_) for check in checks)


def _keys(array: pa.Array, ascending: bool, nulls_first: bool) -> Keys:
    """The keys of ``array``; nulls are equal to each other."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    is_null = _nulls(array)
    keys = list(_value_keys(array, ascending, nulls_first))
    if is_null is None:
        return keys
    for number, key in enumerate(keys):
        keys[number] = np.where(is_null, key.dtype.type(0), key)
    return [~is_null if nulls_first else is_null, *keys]


def _value_keys(array: pa.Array, ascending: bool, nulls_first: bool) -> Iterator[Any]:
    if isinstance(array, pa.StructArray):
        for child in array.flatten():
            yield from _keys(child, ascending, nulls_first)
        return
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        array = sort_bytes(array, nulls_first if ascending else not nulls_first)
    ranks = _ranks(array)
    yield ranks if ascending else ~ranks


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    return np.asarray(array.is_null()) if array.null_count else None


def _ranks(array: pa.Array) -> npt.NDArray[np.uint64]:
    """Numbers in the order of the values, comparable between arrays of a numeric type only."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.uint64)
    if not is_numeric(array.type):
        return _dense_ranks(array)
    values = searchable(sort_keys(array))
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    return values.astype(np.int64).view(np.uint64) ^ _SIGN


def _dense_ranks(array: pa.Array) -> npt.NDArray[np.uint64]:
    import pyarrow.compute as pc

    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_binary())
    try:
        return np.asarray(pc.rank(array, tiebreaker="dense"))
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise UnsupportedFeatureError(f"rows cannot be sorted by {array.type}") from error


def row_bytes(columns: Sequence[pa.ChunkedArray], by: Sequence[ColumnOrdering]) -> pa.Array:
    """A byte string for each row, whose order is that of the rows; comparable between tables."""
    import pyarrow.compute as pc

    parts = []
    for column, ordering in zip(columns, by, strict=True):
        ascending, nulls_first = bool(ordering.ascending), bool(ordering.nulls_first)
        part = sort_bytes(combine_chunks(column), nulls_first == ascending)
        parts.append(part if ascending else _inverted(part))
    return pc.binary_join_element_wise(*parts, _EMPTY) if len(parts) > 1 else parts[0]


def sort_bytes(array: pa.Array, nulls_first: bool) -> pa.Array:
    """Byte strings in the order of the values, none of which is the start of another one."""
    import pyarrow.compute as pc

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if isinstance(array, pa.StructArray):
        parts = [sort_bytes(child, nulls_first) for child in array.flatten()]
    elif isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        parts = [_list_bytes(array, nulls_first)]
    else:
        parts = [_leaf_bytes(array)]
    valid = pc.binary_join_element_wise(_VALID, *parts, _EMPTY)
    null = to_scalar(b"\0" if nulls_first else b"\2", pa.large_binary())
    return pc.if_else(array.is_valid(), valid, null) if array.null_count else valid


_EMPTY = to_scalar(b"", pa.large_binary())
_VALID = to_scalar(b"\1", pa.large_binary())
"""The first byte of a value that is not null."""


def _list_bytes(array: pa.Array, nulls_first: bool) -> pa.Array:
    """The bytes of all items, and a byte that is below the first one of an item."""
    import pyarrow.compute as pc

    marked = pa.RecordBatch.from_arrays([array.flatten()], [""]).to_struct_array()
    items = sort_bytes(marked, nulls_first)
    ends = edges_of(np.asarray(pc.list_value_length(array).fill_null(0)))
    _, offsets, data = items.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ends]
    joined = pa.Array.from_buffers(
        pa.large_binary(), len(array), [None, pa.py_buffer(bounds), data]
    )
    end = to_scalar(b"\0", pa.large_binary())
    return pc.binary_join_element_wise(joined, end, _EMPTY)


def _leaf_bytes(array: pa.Array) -> pa.Array:
    """The bytes of values that have no children; empty for null."""
    import pyarrow.compute as pc

    type_ = array.type
    if is_numeric(type_) or pa.types.is_null(type_):
        ranks = _ranks(array).astype(">u8")
        offsets = np.arange(0, 8 * len(ranks) + 1, 8, dtype=np.int64)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(ranks)]
        return pa.Array.from_buffers(pa.large_binary(), len(ranks), buffers)
    if pa.types.is_decimal(type_):
        array = sort_keys(array)
    try:
        values = array.cast(pa.large_binary()).fill_null(b"")
    except pa.ArrowException as error:
        raise UnsupportedFeatureError(f"rows cannot be sorted by {type_}") from error
    if pa.types.is_fixed_size_binary(array.type):
        return values
    # A zero byte ends a value, so those in values are followed by a byte that is above all ends.
    escaped = pc.replace_substring(values, b"\0", b"\0\xff")
    return pc.binary_join_element_wise(escaped, to_scalar(b"\0\0", pa.large_binary()), _EMPTY)


def _inverted(array: pa.Array) -> pa.Array:
    """The same byte strings with all bits inverted, so that they sort in descending order."""
    _, offsets, data = array.buffers()
    inverted = data if data is None else pa.py_buffer(~np.frombuffer(data, np.uint8))
    buffers = [None, offsets, inverted]
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)
