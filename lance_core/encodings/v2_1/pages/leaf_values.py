"""Convert decoded values to Arrow arrays of a leaf's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET
from lance_core.encodings.arrow.decode_budget import current_budget, spend_at_most
from lance_core.encodings.arrow.memory_pool import memory_pool
from lance_core.encodings.arrow.numpy_values import from_numpy, numpy_dtype
from lance_core.encodings.arrow.strings import (
    is_variable,
    offset_dtype,
    value_offsets,
    value_sizes,
)
from lance_core.encodings.arrow.take import take_rows
from lance_core.encodings.v2_1.codecs.values import Values, Words, as_fixed
from lance_core.errors import CorruptFileError, ResultTooLargeError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.decoding import Int64Array, ValuePositions
    from lance_core.encodings.kernels.table import Kernels
    from lance_core.encodings.v2_1.levels.repdef import BoolArray, Levels
    from lance_core.encodings.v2_1.pages.page_dictionaries import ItemRuns

FEW_INDICES = 1024
"""Maximum indices of which numpy takes numbers: the fixed cost of Arrow's kernel is larger."""


class Dictionary(NamedTuple):
    """The items of a page, or of several pages, whose indices ``runs`` then tells apart."""

    items: pa.Array
    runs: ItemRuns | None = None


def leaf_values(
    values: Values, where: ValuePositions, type_: pa.DataType, context: DecodeContext
) -> pa.Array:
    """The ``values`` at the positions ``where``, as an array of ``type_`` without nulls."""
    array = values.to_arrow(type_, None, context.validate_utf8)
    if isinstance(where, slice):
        return array.slice(where.start, where.stop - where.start)
    return take_rows(array, from_numpy(where))


def dictionary_values(
    values: Values,
    where: ValuePositions,
    levels: Levels,
    dictionary: Dictionary,
    type_: pa.DataType,
    kernels: Kernels,
) -> pa.Array:
    """The items at the indices ``values[where]``; indices of nulls may be arbitrary.

    ``type_`` is a dictionary type or the type of the items.
    """
    items, runs = dictionary
    indices = as_fixed(values).words()[where]
    # Writers store any index for a null, also one that the dictionary has not.
    missing = _missing(levels)
    if missing is not None:
        indices = np.where(missing, 0, indices)
    if runs is not None:
        indices = runs.joined(indices)
    if len(indices) and int(indices.max()) >= max(1, len(items)):
        raise CorruptFileError(
            f"index {int(indices.max())} is outside of the dictionary of {len(items)} items"
        )
    if len(indices) and not len(items):
        if missing is None or not missing.all():
            raise CorruptFileError("a page has dictionary indices, but its dictionary is empty")
        return pa.nulls(len(indices), type_)
    if not pa.types.is_dictionary(type_):
        if len(indices) <= FEW_INDICES and _is_plain(items):
            return _taken(items, indices)
        _check_size(indices, items)
        if is_variable(type_) and not items.null_count:
            return _strings(items, indices, kernels)
        return pc.take(items, from_numpy(indices), memory_pool=memory_pool())
    keys = indices.astype(numpy_dtype(type_.index_type))
    if len(keys) and (int(keys.max()) != int(indices.max()) or int(keys.min()) < 0):
        raise CorruptFileError(f"index {int(indices.max())} does not fit the index type of {type_}")
    return pa.DictionaryArray.from_arrays(
        from_numpy(keys), items, ordered=type_.ordered, safe=False
    )


def _is_plain(items: pa.Array) -> bool:
    """True for numbers of whole bytes without nulls."""
    type_ = items.type
    is_number = pa.types.is_primitive(type_) and type_.bit_width in (8, 16, 32, 64)
    return bool(is_number and not items.null_count)


def _taken(items: pa.Array, indices: Words) -> pa.Array:
    """The plain ``items`` at valid ``indices``."""
    width = items.type.bit_width // 8
    numbers = np.frombuffer(items.buffers()[1], f"<u{width}", len(items), items.offset * width)
    buffers = [None, pa.py_buffer(numbers.take(indices))]
    return pa.Array.from_buffers(items.type, len(indices), buffers, 0)


def _strings(items: pa.Array, indices: Words, kernels: Kernels) -> pa.Array:
    """The strings or binary ``items`` at valid ``indices``; together they have valid offsets."""
    data, edges = items.buffers()[2], value_offsets(items)
    octets = np.frombuffer(b"" if data is None else data, np.uint8)
    text, offsets = kernels.take_variable(octets, edges.astype(np.int64), indices)
    buffers = [None, pa.py_buffer(offsets.astype(edges.dtype, copy=False)), text]
    return pa.Array.from_buffers(items.type, len(indices), buffers, 0)


def _check_size(indices: Words, items: pa.Array) -> None:
    """Raise `ResultTooLargeError` if the offsets of the item type cannot address the result.

    Also spends the bytes of the result.
    """
    type_, budget = items.type, current_budget()
    if not is_variable(type_) or not len(items):
        return
    limit = MAX_OFFSET if offset_dtype(type_) is np.int32 else 1 << 62
    data = items.buffers()[2]
    if data is None or (budget is None and len(indices) * data.size <= limit):
        return
    sizes = value_sizes(items)
    bound = int(sizes.max()) * len(indices)
    if spend_at_most(bound, lambda: int(sizes.take(indices).sum()), limit):
        raise ResultTooLargeError(f"{len(indices)} values of 2 GiB or more do not fit into {type_}")


def _missing(levels: Levels) -> BoolArray | None:
    """A mask of the null values; None: no value is null."""
    definition = levels.definition
    if definition is None or not levels.kinds.max_visible_def:
        return None
    visible = levels.visible()
    missing: BoolArray = (definition if visible is None else definition[visible]) != 0
    return missing if missing.any() else None


def dictionary_items(values: Values, type_: pa.DataType, context: DecodeContext) -> pa.Array:
    """The items of a dictionary, for a column of ``type_``."""
    item = type_.value_type if pa.types.is_dictionary(type_) else type_
    return values.to_arrow(item, None, context.validate_utf8)


def zipped_values(values: Values, type_: pa.DataType, context: DecodeContext) -> pa.Array:
    """All ``values`` as an array of ``type_`` without nulls."""
    return values.to_arrow(type_, None, context.validate_utf8)


def present_values(array: pa.Array, present: BoolArray) -> pa.Array:
    """``array`` spread over the slots that are ``present``; the other slots are null."""
    if present.all():
        return array
    positions: Int64Array = np.cumsum(present) - 1
    return take_rows(array, pa.array(positions, mask=~present))
