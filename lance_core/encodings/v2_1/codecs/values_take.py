"""Take some values out of many, for all kinds of values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_core.encodings.arrow.coalesced_take import MAX_OFFSET, element_type
from lance_core.encodings.arrow.memory_pool import empty
from lance_core.encodings.decoding import Int64Array, Offsets
from lance_core.encodings.kernels import Kernels
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)

_FEW = 1 << 12
"""Offsets below which `astype` converts faster, since it allocates from no pool."""


def take_values(values: Values, positions: Int64Array, kernels: Kernels) -> Values:
    """The ``values`` at the valid positions ``positions``, in any order."""
    if isinstance(values, FixedWidth):
        return _fixed(values, positions)
    if isinstance(values, VariableWidth):
        return _variable(values, positions, kernels)
    if isinstance(values, StructValues):
        children = tuple(take_values(child, positions, kernels) for child in values.children)
        return StructValues(children, len(positions))
    return _lists(values, positions)


def bits_at(bitmap: pa.Buffer, positions: Int64Array) -> pa.Buffer:
    """A bitmap of the bits at ``positions`` of ``bitmap``."""
    octets = np.frombuffer(bitmap, np.uint8).take(positions >> 3)
    bits = (octets >> (positions & 7).astype(np.uint8)) & 1
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def downcast_offsets(offsets: Int64Array, bits: int) -> Offsets:
    """``offsets`` as int32 if ``bits`` is 32 and they fit, else as int64."""
    if bits == 32 and offsets[-1] <= MAX_OFFSET:
        if len(offsets) < _FEW:
            return offsets.astype(np.int32)
        narrow = empty(len(offsets), np.int32)
        np.copyto(narrow, offsets, casting="unsafe")
        return narrow
    return offsets


def _fixed(values: FixedWidth, positions: Int64Array) -> FixedWidth:
    count = len(positions)
    if values.bits == 1:
        return FixedWidth(bits_at(values.data, positions), 1, count)
    if not values.bits or not count:
        return FixedWidth(pa.py_buffer(b""), values.bits, count)
    units = np.frombuffer(values.data, element_type(values.bits // 8), values.count)
    return FixedWidth(pa.py_buffer(units.take(positions).view(np.uint8)), values.bits, count)


def _variable(values: VariableWidth, positions: Int64Array, kernels: Kernels) -> VariableWidth:
    stored = values.offsets.astype(np.int64, copy=False)
    data, offsets = kernels.take_variable(values.octets(), stored, positions)
    if values.offset_bits == 64:
        offsets = offsets.astype(np.int64, copy=False)
    return VariableWidth(offsets, data, values.is_ascii)


def _lists(values: FixedSizeListValues, positions: Int64Array) -> FixedSizeListValues:
    is_plain = len(values.dimensions) == 1 and values.validity[0] is None
    if is_plain and values.values.bits and values.values.bits % 8 == 0:
        return _plain_lists(values, positions)
    validity: list[pa.Buffer | None] = []
    items = positions
    for size, bitmap in zip(values.dimensions, values.validity, strict=True):
        # The items of each list; they are the lists of the next level.
        items = (items[:, None] * size + np.arange(size)).reshape(-1)
        validity.append(None if bitmap is None else bits_at(bitmap, items))
    inner = _fixed(values.values, items)
    return FixedSizeListValues(tuple(validity), inner, values.dimensions, len(positions))


def _plain_lists(values: FixedSizeListValues, positions: Int64Array) -> FixedSizeListValues:
    """Take fixed-size lists without bitmaps; each list is copied as one unit."""
    items, (size,) = values.values, values.dimensions
    rows = _fixed(FixedWidth(items.data, items.bits * size, values.count), positions)
    inner = FixedWidth(rows.data, items.bits, len(positions) * size)
    return FixedSizeListValues(values.validity, inner, values.dimensions, len(positions))
