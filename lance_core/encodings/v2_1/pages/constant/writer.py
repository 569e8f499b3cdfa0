"""Write constant pages (message ``ConstantLayout``): all values null, or all values equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    REPDEF_NULLABLE_ITEM,
    CompressiveEncoding,
    ConstantLayout,
    PageLayout,
)
from lance_core.encodings.arrow.numpy_values import from_numpy
from lance_core.encodings.v2_1.codecs.arrow_values import flat_values_of, values_of
from lance_core.encodings.v2_1.codecs.values import FixedWidth, FlatValues, VariableWidth
from lance_core.encodings.v2_1.levels.repdef import BoolArray, LevelArray, Levels
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage, layers_of

_MAX_INLINE = 32
_SAMPLE = 64
_NOTHING = pa.py_buffer(b"")

BlockEncoder = Callable[[FixedWidth], tuple[CompressiveEncoding, pa.Buffer]]


def empty_struct_page() -> LayoutPage:
    """A page of structs without members; its message is that of a page of nulls."""
    return LayoutPage(PageLayout(constant_layout=ConstantLayout(layers=[REPDEF_NULLABLE_ITEM])), [])


def null_page(levels: Levels, encode_block: BlockEncoder | None) -> LayoutPage:
    """A page in which no level has a value. Levels are stored raw if ``encode_block`` is None."""
    message = ConstantLayout(layers=layers_of(levels))
    if levels.kinds.kinds == (REPDEF_NULLABLE_ITEM,):
        return LayoutPage(PageLayout(constant_layout=message), [])
    buffers = [_raw(levels.rep), _raw(levels.definition)]
    if encode_block is not None and levels.rep is not None:
        encoding, buffers[0] = encode_block(FixedWidth.of(levels.rep))
        message.rep_compression.CopyFrom(encoding)
        message.num_rep_values = levels.count
    if encode_block is not None and levels.definition is not None:
        encoding, buffers[1] = encode_block(FixedWidth.of(levels.definition))
        message.def_compression.CopyFrom(encoding)
        message.num_def_values = levels.count
    return LayoutPage(PageLayout(constant_layout=message), buffers)


def constant_page(levels: Levels, value: pa.Array) -> LayoutPage:
    """A page whose values all equal ``value``, an array of length 1; ``levels`` have the nulls."""
    message = ConstantLayout(layers=layers_of(levels))
    buffers = []
    values = values_of(value)
    if isinstance(values, FixedWidth) and values.bits <= 8 * _MAX_INLINE:
        message.inline_value = values.octets().tobytes()
    elif isinstance(values, FixedWidth):
        buffers.append(_scalar([values.octets()]))
    elif isinstance(values, VariableWidth):
        buffers.append(_scalar([values.offsets.view(np.uint8), values.octets()]))
    if levels.rep is not None or levels.definition is not None:
        buffers += [_raw(levels.rep), _raw(levels.definition)]
    return LayoutPage(PageLayout(constant_layout=message), buffers)


def constant_of(
    array: pa.Array, valid: BoolArray | None, values: FlatValues | None
) -> pa.Array | None:
    """The value of all ``valid`` slots, at least one, as an array of length 1.

    ``values``: `flat_values_of` the array. None if the values differ in any bit, and for types that
    constant pages do not support.
    """
    if valid is not None:
        # Most columns are told by a sample, before all of their values are copied.
        first_valid = np.flatnonzero(valid[: 16 * _SAMPLE])[:_SAMPLE]
        sample = array.take(from_numpy(first_valid))
        if not _are_same(sample, flat_values_of(sample)):
            return None
        array = array.filter(from_numpy(valid))
        values = flat_values_of(array)
    return array.slice(0, 1) if _are_same(array, values) else None


def _are_same(array: pa.Array, values: FlatValues | None) -> bool:
    """True if all values are equal; False for types that constant pages do not support."""
    if values is None:
        return False
    if values.count < 2:
        return True
    if isinstance(values, VariableWidth):
        return texts_are_same(values)
    if values.bits != 1:
        return _all_rows_same(values.octets(), values.count)
    return array.true_count in (0, len(array))


def texts_are_same(values: VariableWidth) -> bool:
    """True if all values, at least one, are equal."""
    offsets = values.offsets
    size = int(offsets[1])
    if offsets[-1] != size * values.count:
        return False
    if (offsets[1:] - offsets[:-1] != size).any():
        return False
    return _all_rows_same(values.octets(), values.count)


def _all_rows_same(octets: np.ndarray, count: int) -> bool:
    """True if all ``count`` rows of bytes are equal."""
    width = len(octets) // count
    first, last = octets[:width].tobytes(), octets[len(octets) - width :].tobytes()
    sample = octets[: _SAMPLE * width]
    if first != last or not (sample[width:] == sample[: len(sample) - width]).all():
        return False
    # Each row equals the one before it.
    return bool((octets[width:] == octets[: len(octets) - width]).all())


def _scalar(parts: list[np.ndarray]) -> pa.Buffer:
    sizes = np.array([len(parts), *map(len, parts)], "<u4")
    return pa.py_buffer(np.concatenate([sizes.view(np.uint8), *parts]))


def _raw(levels: LevelArray | None) -> pa.Buffer:
    return _NOTHING if levels is None else pa.py_buffer(levels.astype("<u2", copy=False))
