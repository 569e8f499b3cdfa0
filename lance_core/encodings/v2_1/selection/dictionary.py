"""Select the values to store in a dictionary beside the page; follows pylance's choices."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, isnan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.v2_1.codecs.arrow_values import values_of
from lance_core.encodings.v2_1.codecs.dictionary import as_binary, distinct
from lance_core.encodings.v2_1.codecs.values import (
    FixedWidth,
    FlatValues,
    Values,
    VariableWidth,
    as_fixed,
)
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.selection.options import FieldOptions

MIN_VALUES = 100
DIVISOR = 2
MAX_ITEMS = 100_000
SIZE_RATIO = 0.8
INDEX_BYTES = 4
_BLOCKS, _PER_BLOCK = 32, 128
MIN_SAMPLE = 1024
UNIQUE_RATIO = 0.98
_LONG = 512
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class ValuesWithDictionary:
    """``count`` distinct ``items``, and for each slot of a page the index of its item."""

    indices: FixedWidth
    items: Values
    count: int


def as_dictionary(
    values: FlatValues, options: FieldOptions, context: EncodeContext
) -> ValuesWithDictionary | None:
    """``values`` with a dictionary, if a dictionary is likely to reduce their size; else None.

    Supports variable-width and 128-bit values, from 2.2 on also 64-bit values. Raises
    `InvalidInputError` for a size ratio that is not above 0 and at most 1.
    """
    if values.count < MIN_VALUES or not _may_have(values, context.version):
        return None
    ratio = SIZE_RATIO if options.dict_size_ratio is None else options.dict_size_ratio
    if isnan(ratio):
        return None
    if not 0 < ratio <= 1:
        raise InvalidInputError(f"a dict-size-ratio of {ratio} is not above 0 and at most 1")
    most_bytes = int(_size(values) * ratio)
    divisor = DIVISOR if options.dict_divisor is None else max(options.dict_divisor, 1)
    most_items = min(values.count // divisor, MAX_ITEMS)
    if not most_items or values.count * INDEX_BYTES > most_bytes:
        return None
    if _seems_unique(values, most_items):
        return None
    if _is_too_large(values, most_items, most_bytes):
        return None
    indices, items = distinct(values)
    size = _size(items) + values.count * INDEX_BYTES
    if items.count > most_items or size > most_bytes:
        return None
    return ValuesWithDictionary(indices, items, items.count)


def of_keys(array: pa.DictionaryArray) -> ValuesWithDictionary:
    """The keys and the items of an Arrow dictionary array.

    A null keeps its stored key, which may extend a run, if an item with this key exists.
    """
    keys, count = as_fixed(values_of(array.indices)), len(array.dictionary)
    if array.indices.null_count and int(keys.words().max()) >= count:
        keys = as_fixed(values_of(array.indices.fill_null(0)))
    return ValuesWithDictionary(keys, values_of(array.dictionary), count)


def _may_have(values: FlatValues, version: FileVersion) -> bool:
    if isinstance(values, VariableWidth):
        return True
    return values.bits == 128 or (values.bits == 64 and version >= FileVersion.V2_2)


def _size(values: FlatValues) -> int:
    """Bytes of values and offsets."""
    if isinstance(values, FixedWidth):
        return values.count * values.bits // 8
    return int(values.offsets[-1]) + values.offsets.nbytes


def _seems_unique(values: FlatValues, most_items: int) -> bool:
    """True if a sample has almost no duplicates, or too many distinct values for the whole.

    Of few values the first ones are counted, which are often too many already, and of numbers then
    all: this takes less time than a dictionary.
    """
    if sample_size(values.count) < MIN_SAMPLE:
        if isinstance(values, FixedWidth) and values.bits == 64:
            words = values.words()
            first = words[: most_items + 1]
            return _num_distinct(first) > most_items or _num_distinct(words) > most_items
        return len(as_binary(values).slice(0, most_items + 1).unique()) > most_items
    positions = sample(values.count)

    def are_too_many(num_distinct: int) -> bool:
        ratio = num_distinct / len(positions)
        return ratio >= UNIQUE_RATIO or ceil(ratio * values.count) > most_items

    if isinstance(values, FixedWidth) and values.bits == 64:
        return are_too_many(_num_distinct(values.words()[positions]))
    # Arrow takes ten times as long to compare the whole values, which only few samples need.
    if are_too_many(least_distinct(values, positions)):
        return True
    return are_too_many(pc.count_distinct(as_binary(values).take(from_numpy(positions))).as_py())


def least_distinct(values: FlatValues, positions: Int64Array) -> int:
    """A lower bound of the number of distinct values at ``positions``, exact for most samples.

    Compares the lengths of values, and 8 bytes in the middle and at the end of each. Values of
    fixed width have 128 bits.
    """
    data = values.octets()
    if isinstance(values, FixedWidth):
        pairs = data.view("<u8").reshape(-1, 2)[positions]
        return _num_distinct(_mixed(pairs[:, 0]) ^ pairs[:, 1])
    if len(data) < 8:
        return 0
    starts = values.offsets[positions].astype(np.int64)
    lengths = values.offsets[positions + 1] - starts
    words = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))  # from each byte on
    rest, mask = np.maximum(lengths - 8, 0), _MASKS[np.minimum(lengths, 8)]
    marks = lengths.astype(np.uint64)
    for at in (starts + rest // 2, starts + rest):
        # The word of a short value at the end of the data begins before it.
        word = words[np.minimum(at, len(words) - 1)]
        word >>= (8 * np.maximum(at - (len(words) - 1), 0)).astype(np.uint64)
        marks = _mixed(marks ^ (word & mask))
    return _num_distinct(marks)


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Words in which each bit depends on many bits of ``words``; different ones stay different."""
    mixed = words * _MIX
    return mixed ^ (mixed >> np.uint64(32))


def _num_distinct(values: npt.NDArray[np.uint64]) -> int:
    """The number of distinct values of a sample; takes less time than `numpy.unique`."""
    ordered = np.sort(values)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, len(ordered))


def _is_too_large(values: FlatValues, most_items: int, most_bytes: int) -> bool:
    """True if lengths and eight bytes of each value prove that long values exceed the limits."""
    if isinstance(values, FixedWidth) or values.offsets[-1] < _LONG * values.count:
        return False
    lengths = np.diff(values.offsets).astype(np.int64)
    octets = values.octets()
    middles = np.clip(values.offsets[:-1] + lengths // 2 - 4, 0, len(octets) - 8)
    words = octets[middles[:, None] + np.arange(8)].view("<u8")[:, 0]
    marks = np.where(lengths < 8, 0, words) + lengths.astype(np.uint64)
    _, first = np.unique(marks, return_index=True)
    least = int(lengths[first].sum()) + values.count * INDEX_BYTES
    return len(first) > most_items or least > most_bytes


@lru_cache(maxsize=16)
def sample(count: int) -> Int64Array:
    """Positions for a sample: the first values of each of 32 equal parts.

    Cached, because the pages of a file have few different numbers of values.
    """
    starts = np.arange(_BLOCKS, dtype=np.int64) * count // _BLOCKS
    return np.add.outer(starts, np.arange(sample_size(count) // _BLOCKS)).reshape(-1)


def sample_size(count: int) -> int:
    """The number of positions of a `sample`: no part has fewer values than are taken of it."""
    return min(count, _BLOCKS * _PER_BLOCK) // _BLOCKS * _BLOCKS
