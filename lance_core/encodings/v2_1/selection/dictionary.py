"""Select the values to store in a dictionary beside the page; follows pylance's choices."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, isnan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.strings import is_variable
from lance_core.encodings.v2_1.codecs.arrow_values import values_of
from lance_core.encodings.v2_1.codecs.dictionary import as_binary, distinct
from lance_core.encodings.v2_1.codecs.values import FixedWidth, Values, VariableWidth, as_fixed
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.context import EncodeContext
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.v2_1.selection.options import FieldOptions

_MIN_VALUES = 100
_DIVISOR = 2
_MAX_ITEMS = 100_000
_SIZE_RATIO = 0.8
_INDEX_BYTES = 4
_BLOCKS, _PER_BLOCK = 32, 128
_MIN_SAMPLE = 1024
_UNIQUE_RATIO = 0.98
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
    array: pa.Array, options: FieldOptions, context: EncodeContext, is_sampled: bool = False
) -> ValuesWithDictionary | None:
    """``array`` with a dictionary, if a dictionary is likely to reduce its size; else None.

    ``is_sampled``: True if `never_has_dictionary` returned False for the values themselves.
    Supports variable-width and 128-bit values, from 2.2 on also 64-bit values. Raises
    `InvalidInputError` for a size ratio that is not above 0 and at most 1.
    """
    if len(array) < _MIN_VALUES or not _may_have(array.type, context.version):
        return None
    values = values_of(array)
    assert isinstance(values, FixedWidth | VariableWidth)
    ratio = _SIZE_RATIO if options.dict_size_ratio is None else options.dict_size_ratio
    if isnan(ratio):
        return None
    if not 0 < ratio <= 1:
        raise InvalidInputError(f"a dict-size-ratio of {ratio} is not above 0 and at most 1")
    most_bytes = int(_size(values) * ratio)
    divisor = _DIVISOR if options.dict_divisor is None else max(options.dict_divisor, 1)
    most_items = min(values.count // divisor, _MAX_ITEMS)
    if not most_items or values.count * _INDEX_BYTES > most_bytes:
        return None
    if not is_sampled and _seems_unique(values, most_items):
        return None
    if _is_too_large(values, most_items, most_bytes):
        return None
    indices, items = distinct(values)
    size = _size(items) + values.count * _INDEX_BYTES
    if items.count > most_items or size > most_bytes:
        return None
    return ValuesWithDictionary(indices, items, items.count)


def never_has_dictionary(
    values: npt.NDArray[np.unsignedinteger], are_marks: bool = False
) -> npt.NDArray[np.bool_]:
    """For each row of 64-bit ``values``, True if `as_dictionary` without options returns None.

    ``are_marks``: ``values`` are `text_marks`; then the result may be False for such a row, too.
    """
    count = values.shape[1]
    most_bytes = int(count * values.itemsize * _SIZE_RATIO)
    most_items = min(count // _DIVISOR, _MAX_ITEMS)
    if count < _MIN_VALUES:
        return np.ones(len(values), np.bool_)
    places = _sample(count)
    if len(places) >= _MIN_SAMPLE:
        ratio = _num_distinct(values[:, places]) / len(places)
        never: npt.NDArray[np.bool_] = ratio >= _UNIQUE_RATIO
        never |= np.ceil(ratio * count) > most_items
        return never
    found = _num_distinct(values)
    never = found > most_items
    if not are_marks:
        never |= found * values.itemsize + count * _INDEX_BYTES > most_bytes
    return never


def text_marks(
    data: npt.NDArray[np.uint8], starts: Int64Array, lengths: Int64Array
) -> npt.NDArray[np.uint64]:
    """Numbers made of the length and the last 8 bytes of texts: equal for equal texts.

    ``data`` has at least 8 bytes after the last text.
    """
    words = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))  # from each byte on
    marks = words[starts + np.maximum(lengths - 8, 0)]
    marks &= _MASKS[np.minimum(lengths, 8)]
    marks ^= lengths.astype(np.uint64) * _MIX
    return marks


def _num_distinct(values: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int64]:
    """The number of distinct values of each row."""
    ascending = np.sort(values, axis=1)
    found: npt.NDArray[np.int64] = np.count_nonzero(ascending[:, 1:] != ascending[:, :-1], axis=1)
    return found + 1


def of_keys(array: pa.DictionaryArray) -> ValuesWithDictionary:
    """The keys and the items of an Arrow dictionary array.

    A null keeps its stored key, which may extend a run, if an item with this key exists.
    """
    keys, count = as_fixed(values_of(array.indices)), len(array.dictionary)
    if array.indices.null_count and int(keys.words().max()) >= count:
        keys = as_fixed(values_of(array.indices.fill_null(0)))
    return ValuesWithDictionary(keys, values_of(array.dictionary), count)


def _may_have(type_: pa.DataType, version: FileVersion) -> bool:
    if is_variable(type_):
        return True
    is_fixed = pa.types.is_primitive(type_) or pa.types.is_decimal(type_)
    if not is_fixed and not pa.types.is_fixed_size_binary(type_):
        return False
    return type_.bit_width == 128 or (type_.bit_width == 64 and version >= FileVersion.V2_2)


def _size(values: FixedWidth | VariableWidth) -> int:
    """Bytes of values and offsets."""
    if isinstance(values, FixedWidth):
        return values.count * values.bits // 8
    return int(values.offsets[-1]) + values.offsets.nbytes


def _seems_unique(values: FixedWidth | VariableWidth, most_items: int) -> bool:
    """True if a sample has almost no duplicates, or too many distinct values for the whole."""
    places = _sample(values.count)
    if len(places) < _MIN_SAMPLE:
        return False

    def are_too_many(found: int) -> bool:
        ratio = found / len(places)
        return ratio >= _UNIQUE_RATIO or ceil(ratio * values.count) > most_items

    if isinstance(values, FixedWidth) and values.bits == 64:
        return are_too_many(len(np.unique(values.words()[places])))
    # Arrow takes ten times as long to compare the whole values, which only few samples need.
    if isinstance(values, VariableWidth) and are_too_many(least_distinct(values, places)):
        return True
    return are_too_many(pc.count_distinct(as_binary(values).take(pa.array(places))).as_py())


def least_distinct(values: VariableWidth, places: Int64Array) -> int:
    """A lower bound of the number of distinct values at ``places``, exact for most samples.

    Compares the lengths of values, and 8 bytes in the middle and at the end of each.
    """
    data = values.octets()
    if len(data) < 8:
        return 0
    starts = values.offsets[places].astype(np.int64)
    lengths = values.offsets[places + 1] - starts
    words = np.ndarray(len(data) - 7, "<u8", data, strides=(1,))  # from each byte on
    rest, mask = np.maximum(lengths - 8, 0), _MASKS[np.minimum(lengths, 8)]
    marks = lengths.astype(np.uint64)
    for at in (starts + rest // 2, starts + rest):
        # The word of a short value at the end of the data begins before it.
        word = words[np.minimum(at, len(words) - 1)]
        word >>= (8 * np.maximum(at - (len(words) - 1), 0)).astype(np.uint64)
        marks = (marks ^ (word & mask)) * _MIX
        marks ^= marks >> np.uint64(32)
    return int(_num_distinct(marks[None])[0])


def _is_too_large(values: FixedWidth | VariableWidth, most_items: int, most_bytes: int) -> bool:
    """True if lengths and eight bytes of each value prove that long values exceed the limits."""
    if isinstance(values, FixedWidth) or values.offsets[-1] < _LONG * values.count:
        return False
    lengths = np.diff(values.offsets).astype(np.int64)
    octets = values.octets()
    middles = np.clip(values.offsets[:-1] + lengths // 2 - 4, 0, len(octets) - 8)
    words = octets[middles[:, None] + np.arange(8)].view("<u8")[:, 0]
    marks = np.where(lengths < 8, 0, words) + lengths.astype(np.uint64)
    _, first = np.unique(marks, return_index=True)
    least = int(lengths[first].sum()) + values.count * _INDEX_BYTES
    return len(first) > most_items or least > most_bytes


@lru_cache(maxsize=16)
def _sample(count: int) -> Int64Array:
    """Positions for a sample: the first values of each of 32 equal parts.

    Cached, because the pages of a file have few different numbers of values.
    """
    per_block = min(count, _BLOCKS * _PER_BLOCK) // _BLOCKS
    starts = np.arange(_BLOCKS + 1, dtype=np.int64) * count // _BLOCKS
    places = starts[:-1, None] + np.arange(per_block)
    return places[places < starts[1:, None]]
