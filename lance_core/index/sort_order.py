"""The order of values in indices: total for every type, nulls first.

Floats are in the total order of IEEE 754: NaN with a sign, -inf, ..., -0.0, 0.0, ..., inf, NaN; NaN
with different payloads differ. Strings and binary values are compared by their bytes, decimals by
value. Values of a dictionary are compared like values without one. All types are mapped to *keys*:
arrays of integers, binary values or binary values of fixed size, whose own order is the wanted one.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.numpy_values import from_numpy, numpy_dtype, to_numpy

Positions: TypeAlias = npt.NDArray[np.int64]
"""Positions of values in an array."""

_MIN_PREFIX_ROWS = 1024
"""Minimum number of texts that are sorted by their first bytes as integers."""

_MAX_SINGLE_KEYS = 16
"""Maximum keys of texts that are searched one by one."""

_SIGNED = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def is_orderable(kind: pa.DataType) -> bool:
    """True if values of a type have an order here: all types of scalars but intervals."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_orderable(kind.value_type)
    return bool(
        types.is_null(kind)
        or _is_number(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_fixed_size_binary(kind)
        or _is_text(kind)
    )


def sort_keys(values: pa.Array) -> pa.Array:
    """An array with the same nulls, whose order by integers or by bytes is that of ``values``.

    Its type is an integer type, ``binary``, ``large_binary``, ``fixed_size_binary`` or ``null``.
    Most types share the buffers of ``values``. The keys of keys are these keys.
    """
    value_type = values.type
    convert = _conversions.get(value_type.id)
    if convert is None:
        convert = _conversions.setdefault(value_type.id, _conversion(value_type))
    return convert(values)


_INTEGERS = frozenset(
    type_.id
    for type_ in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    )
)

_conversions: dict[int, Callable[[pa.Array], pa.Array]] = {}
"""The function that returns the keys of values of a type, by the number of the type in Arrow."""


def _conversion(type_: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """The function for ``type_`` and all types that differ only in their parameters."""
    if pa.types.is_dictionary(type_):
        return lambda values: sort_keys(values.dictionary_decode())
    if pa.types.is_boolean(type_):
        return lambda values: values.cast(pa.uint8())
    if pa.types.is_floating(type_):
        return _float_keys
    if pa.types.is_decimal(type_):
        return _decimal_keys
    if _is_number(type_) and not pa.types.is_integer(type_):
        return lambda values: values.view(_SIGNED[values.type.bit_width])
    if pa.types.is_string(type_):
        return lambda values: values.view(pa.binary())
    if pa.types.is_large_string(type_):
        return lambda values: values.view(pa.large_binary())
    return lambda values: values


def sort_indices(values: pa.Array) -> Positions:
    """The positions of ``values`` in ascending order, nulls first; the order of equals is kept."""
    return sort_key_indices(sort_keys(values))


def sort_key_indices(keys: pa.Array) -> Positions:
    """Like `sort_indices`, of the result of `sort_keys`."""
    is_integer = pa.types.is_integer(keys.type)
    if not is_integer and not (_is_text(keys.type) and len(keys) >= _MIN_PREFIX_ROWS):
        indices = pc.array_sort_indices(keys, null_placement="at_start")
        return to_numpy(indices).astype(np.int64)
    if keys.null_count:
        valid = keys.is_valid()
        is_valid = valid.to_numpy(zero_copy_only=False)
        present = np.flatnonzero(is_valid)
        ascending = present[sort_key_indices(keys.filter(valid))]
        return np.concatenate([np.flatnonzero(~is_valid), ascending])
    if is_integer:
        return np.argsort(_numbers(keys), kind="stable")
    return _text_indices(keys)


def bisect_keys(keys: pa.Array, key: Any, *, after: bool = False) -> int:
    """How many of the ascending ``keys`` are below ``key`` (``after``: or equal to it).

    ``key`` is the Python value of a key.
    """
    search = bisect_right if after else bisect_left
    return search(range(len(keys)), key, key=lambda position: keys[position].as_py())


def searchable(keys: pa.Array) -> npt.NDArray[Any]:
    """The result of `sort_keys`, without nulls, as a numpy array that compares in the same way.

    Integers stay integers and share memory; values of fixed size are of numpy's type ``S``, other
    binary values are objects of type `bytes`.
    """
    key_type = keys.type
    if pa.types.is_integer(key_type):
        return _numbers(keys)
    if pa.types.is_fixed_size_binary(key_type) and key_type.byte_width:
        # All values have the same length, so that numpy's padding by zero bytes has no effect.
        data = keys.buffers()[1]
        width = key_type.byte_width
        return np.frombuffer(data, f"S{width}", len(keys), keys.offset * width)
    objects = np.empty(len(keys), object)
    objects[:] = keys.to_pylist()
    return objects


def key_bytes(keys: pa.Array) -> int:
    """Bytes in memory of keys; Arrow takes longer to count those of integers."""
    if pa.types.is_integer(keys.type):
        return len(keys) * int(keys.type.bit_width) // 8
    return int(keys.nbytes)


def some_keys(keys: pa.Array, places: Positions) -> npt.NDArray[Any]:
    """The keys at ``places``, to compare them with as many of other keys; see `searchable`."""
    if pa.types.is_integer(keys.type):
        return _numbers(keys)[places]
    if len(places) > _MAX_SINGLE_KEYS:
        return searchable(keys.take(from_numpy(places)))
    objects = np.empty(len(places), object)
    objects[:] = [keys[position].as_py() for position in places.tolist()]
    return objects


def is_any_above(keys: pa.Array, others: pa.Array) -> bool:
    """True if one of ``keys`` is above the one at the same place in ``others``."""
    if pa.types.is_integer(keys.type):
        return bool((_numbers(keys) > _numbers(others)).any())
    return len(keys) > 0 and bool(pc.any(pc.greater(keys, others)).as_py())


def is_ascending(keys: pa.Array) -> bool:
    """True if none of ``keys`` is above its successor."""
    return len(keys) < 2 or not is_any_above(keys.slice(0, len(keys) - 1), keys.slice(1))


def search_keys(ordered: pa.Array, keys: pa.Array, *, after: bool = False) -> Positions:
    """For each of ``keys``, how many of ``ordered`` are below it (``after``: or equal to it)."""
    if ordered.type.id in _INTEGERS:
        return _numbers(ordered).searchsorted(_numbers(keys), "right" if after else "left")
    if len(keys) <= _MAX_SINGLE_KEYS:
        counts = [bisect_keys(ordered, key, after=after) for key in keys.to_pylist()]
        return np.array(counts, np.int64)
    # Bisection of all keys at once.
    low = np.zeros(len(keys), np.int64)
    high = np.full(len(keys), len(ordered))
    is_below = pc.less_equal if after else pc.less
    for _ in range(len(ordered).bit_length()):
        middle = (low + high) >> 1
        candidates = ordered.take(from_numpy(np.minimum(middle, len(ordered) - 1)))
        below = is_below(candidates, keys).to_numpy(zero_copy_only=False) & (low < high)
        low = np.where(below, middle + 1, low)
        high = np.where(below, high, middle)
    return low


def search_key(ordered: pa.Array, key: pa.Array) -> tuple[int, int]:
    """How many of ``ordered`` are below the only value of ``key``, and how many not above it."""
    key_type = ordered.type
    if key_type.id in _INTEGERS and len(ordered):
        # As `_numbers`, which would be two more calls of the shortest search.
        dtype = numpy_dtype(key_type)
        size = dtype.itemsize
        data, own = ordered.buffers()[1], key.buffers()[1]
        numbers = np.frombuffer(data, dtype, len(ordered), ordered.offset * size)
        number = np.frombuffer(own, dtype, 1, key.offset * size)[0]
        return int(numbers.searchsorted(number)), int(numbers.searchsorted(number, "right"))
    value = key[0].as_py()
    return bisect_keys(ordered, value), bisect_keys(ordered, value, after=True)


class SortedValues:
    """Ascending values without nulls, which are searched by bisection."""

    __slots__ = ("keys",)

    def __init__(self, values: pa.Array) -> None:
        self.keys = sort_keys(values)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return key_bytes(self.keys)

    @property
    def is_ascending(self) -> bool:
        """True if no value is above its successor, as `search` requires."""
        return is_ascending(self.keys)

    def search(self, values: pa.Array, *, after: bool = False) -> Positions:
        """For each of ``values``, which are not null, how many values are below it.

        ``after`` also counts those equal to it.
        """
        return search_keys(self.keys, sort_keys(values), after=after)


def _is_number(type_: pa.DataType) -> bool:
    """True for integers, floats, dates, times, timestamps and durations."""
    types = pa.types
    return bool(
        types.is_integer(type_)
        or types.is_floating(type_)
        or (types.is_temporal(type_) and not types.is_interval(type_))
    )


def _is_text(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(type_)
        or types.is_large_string(type_)
        or types.is_binary(type_)
        or types.is_large_binary(type_)
    )


def _numbers(keys: pa.Array) -> npt.NDArray[Any]:
    """The integers of an array; those of nulls are undefined."""
    data = keys.buffers()[1]
    dtype = numpy_dtype(keys.type)
    if data is None:
        return np.empty(0, dtype)
    width: int = keys.type.bit_width // 8
    return np.frombuffer(data, dtype, len(keys), keys.offset * width)


def _text_indices(keys: pa.Array) -> Positions:
    """`sort_key_indices` of binary values without nulls.

    Sorts by 8 bytes after the common prefix of all values, as integers: this is faster than to
    compare values. Only values that do not differ in these bytes are then compared.
    """
    bounds = pc.min_max(keys)
    ends = zip(bounds["min"].as_py(), bounds["max"].as_py(), strict=False)
    skipped = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], ends))
    numbers, lengths = _eight_bytes(keys, skipped)
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    is_equal = ascending[1:] == ascending[:-1]
    ordered_lengths = lengths[order]
    is_unknown = is_equal & (
        (ordered_lengths[1:] > 8) | (ordered_lengths[1:] != ordered_lengths[:-1])
    )
    if is_unknown.any():
        repeated = np.flatnonzero(np.append(False, is_equal) | np.append(is_equal, False))
        tied = order[repeated]
        inner = pc.array_sort_indices(keys.take(from_numpy(tied))).to_numpy()
        order[repeated] = tied[inner]
    return order


def _eight_bytes(keys: pa.Array, skipped: int) -> tuple[npt.NDArray[np.uint64], Positions]:
    """8 bytes of each value as a big-endian number, after its first ``skipped`` bytes.

    Also returns the number of bytes of each value after these. Missing bytes count as 0.
    """
    _, offsets, data = keys.buffers()
    dtype = np.dtype(np.int64 if pa.types.is_large_binary(keys.type) else np.int32)
    ends = np.frombuffer(offsets, dtype, len(keys) + 1, keys.offset * dtype.itemsize)
    ends = ends.astype(np.int64)
    starts = ends[:-1] + skipped
    lengths = ends[1:] - starts
    first = int(ends[0])
    used = np.frombuffer(data, np.uint8, int(ends[-1]) - first, first) if data else ()
    padded = np.concatenate([used, np.zeros(8, np.uint8)]).astype(np.uint8, copy=False)
    # Overlapping numbers: one starts at each byte.
    windows = np.ndarray((len(padded) - 7,), ">u8", padded, 0, (1,))
    numbers = windows[starts - first].astype(np.uint64)
    if (lengths < 8).any():
        bits = np.arange(64, -1, -8)  # bits after a value of 0 to 8 bytes
        masks = np.array([(1 << 64) - (1 << int(bit)) for bit in bits], np.uint64)
        numbers &= masks[np.minimum(lengths, 8)]
    return numbers, lengths


def _with_nulls_of(values: pa.Array, keys: pa.Array) -> pa.Array:
    """``keys``, which has no nulls, with the nulls of ``values``."""
    if not values.null_count:
        return keys
    valid = pa.array(values.is_valid())
    return pa.Array.from_buffers(keys.type, len(keys), [valid.buffers()[1], keys.buffers()[1]])


def _float_keys(values: pa.Array) -> pa.Array:
    """Signed integers: the bits of a float, all but the sign inverted for negative ones."""
    integer_type = _SIGNED[values.type.bit_width]
    bits = _numbers(values.view(integer_type))
    largest = np.array(np.iinfo(bits.dtype).max, bits.dtype)
    # The shift copies the sign into all bits.
    inverted = (bits >> (values.type.bit_width - 1)) & largest
    return _with_nulls_of(values, from_numpy(bits ^ inverted))


def _decimal_keys(values: pa.Array) -> pa.Array:
    """The big-endian bytes of a decimal, the sign bit inverted: negative ones come first."""
    width = values.type.bit_width // 8
    data = values.buffers()[1]
    if data is None:
        return pa.nulls(len(values), pa.binary(width))
    raw = np.frombuffer(data, np.uint8, len(values) * width, values.offset * width)
    swapped = np.ascontiguousarray(raw.reshape(-1, width)[:, ::-1])
    swapped[:, 0] ^= 0x80
    keys = pa.Array.from_buffers(pa.binary(width), len(values), [None, pa.py_buffer(swapped)])
    return _with_nulls_of(values, keys)
