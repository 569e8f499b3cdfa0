"""Write full-zip pages (message ``FullZipLayout``) from levels and the bytes of each value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core._pb.encodings_v2_1_pb2 import FullZipLayout, PageLayout
from lance_core.encodings.arrow.numpy_values import to_scalar
from lance_core.encodings.arrow.spans import edges_of
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.v2_1.codecs.base import Encoded
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth
from lance_core.encodings.v2_1.levels.control_words import ControlWords
from lance_core.encodings.v2_1.levels.repdef import BoolArray, Levels
from lance_core.encodings.v2_1.pages.encoded_page import LayoutPage, layers_of
from lance_core.errors import UnsupportedFeatureError

Bytes = npt.NDArray[np.uint8]


def full_zip_page(levels: Levels, values: Encoded) -> LayoutPage:
    """A page in which a control word precedes each of ``values``.

    There is a value for each visible level; variable-width values exist only for non-null levels.
    """
    kinds, payload = levels.kinds, values.payload
    if payload is None:
        raise UnsupportedFeatureError("values that are not encoded one by one cannot be zipped")
    visible = levels.visible()
    message = FullZipLayout(
        bits_rep=kinds.max_rep.bit_length(),
        bits_def=kinds.max_def.bit_length(),
        num_items=levels.count,
        num_visible_items=levels.count if visible is None else int(np.count_nonzero(visible)),
        value_compression=values.encoding,
        layers=layers_of(levels),
    )
    words = _words(levels, message.bits_rep, message.bits_def)
    starts = levels.row_starts()
    if isinstance(payload, FixedWidth):
        message.bits_per_value = payload.bits
        data, edges = _fixed(words, payload, visible)
    else:
        message.bits_per_offset = payload.offset_bits
        present = None if levels.definition is None else levels.definition == 0
        data, edges = _variable(words, payload, present)
        starts = np.arange(levels.count) if starts is None else starts
    buffers = [data]
    if starts is not None:
        buffers.append(_repetition_index(np.append(edges[starts], edges[-1])))
    return LayoutPage(PageLayout(full_zip_layout=message), buffers)


def _words(levels: Levels, bits_rep: int, bits_def: int) -> Bytes:
    """The control words of all levels, as a table of bytes with a row for each."""
    width = ControlWords(levels.kinds, bits_rep, bits_def, 0, 0).width
    word = np.zeros(levels.count, np.uint32)
    if levels.rep is not None:
        word |= levels.rep.astype(np.uint32) << np.uint32(bits_def)
    if levels.definition is not None:
        word |= levels.definition
    return np.ascontiguousarray(word.view(np.uint8).reshape(-1, 4)[:, :width])


# Keep the lowest ``width`` of the four bytes of each little-endian word.


def _fixed(
    words: Bytes, payload: FixedWidth, visible: BoolArray | None
) -> tuple[pa.Buffer, Int64Array]:
    """The page, and the start of each level followed by the end of the last one."""
    count, width = words.shape
    size = payload.bits // 8
    if visible is None:
        edges = np.arange(count + 1, dtype=np.int64) * (width + size)
        octets = payload.octets()
        if not width:
            return pa.py_buffer(octets), edges
        table = np.empty((count, width + size), np.uint8)
        table[:, :width] = words
        table[:, width:] = octets.reshape(count, size)
        return pa.py_buffer(table.reshape(-1)), edges
    heads = np.full(count, width, np.int64)
    return _zipped(words.reshape(-1), heads, payload.data, np.where(visible, size, 0))


def _variable(
    words: Bytes, payload: VariableWidth, present: BoolArray | None
) -> tuple[pa.Buffer, Int64Array]:
    """Same as `_fixed`. A level that is not ``present`` consists of its control word only."""
    count, width = words.shape
    prefix = payload.offset_bits // 8
    lengths = np.zeros(count, np.int64)
    lengths[slice(None) if present is None else present] = np.diff(payload.offsets)
    heads = np.concatenate([words, lengths[:, None].view(np.uint8)[:, :prefix]], axis=1)
    # The length follows the control word: its lowest ``prefix`` little-endian bytes.
    sizes = np.full(count, width + prefix, np.int64)
    if present is None:
        return _zipped(heads.reshape(-1), sizes, payload.data, lengths)
    sizes[~present] = width
    is_stored = np.ones(heads.shape, np.bool_)
    is_stored[:, width:] = present[:, None]
    return _zipped(heads[is_stored], sizes, payload.data, lengths)


def _zipped(
    heads: Bytes, head_sizes: Int64Array, bodies: pa.Buffer, body_sizes: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """Alternate heads and bodies; returns the bytes, the start of each head and the last end."""
    joined = pc.binary_join_element_wise(
        _binary(pa.py_buffer(heads), head_sizes),
        _binary(bodies, body_sizes),
        to_scalar(b"", pa.large_binary()),
    )
    _, offsets, data = joined.buffers()
    edges = np.frombuffer(offsets, np.int64, len(head_sizes) + 1, joined.offset * 8)
    return (data or pa.py_buffer(b"")).slice(0, int(edges[-1])), edges


def _binary(data: pa.Buffer, sizes: Int64Array) -> pa.Array:
    offsets = edges_of(sizes)
    buffers = [None, pa.py_buffer(offsets), data]
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers, 0)


def _repetition_index(edges: Int64Array) -> pa.Buffer:
    """The repetition index: the row ``edges`` in the smallest integer type that fits all."""
    width = next(width for width in (1, 2, 4, 8) if int(edges[-1]) < 1 << 8 * width)
    return pa.py_buffer(edges.astype(f"<u{width}"))
