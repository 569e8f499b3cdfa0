"""Repetition and definition levels from their bytes, raw or compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
from lance_core.encodings.layouts.codecs import decode_block, decode_part
from lance_core.encodings.layouts.layout import spans_index
from lance_core.encodings.values import Values, as_fixed
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.decoding import DecodeContext, Int64Array
    from lance_core.encodings.repdef import LevelArray

_BYTES = 2

_LIKE_VALUES = frozenset({"flat", "inline_bitpacking"})
"""Encodings that have the same form in a block as in a chunk; all chunks are decoded at once."""


def raw_levels(buffer: pa.Buffer) -> LevelArray:
    """Levels that are stored as u16."""
    if buffer.size % _BYTES:
        raise CorruptFileError(f"{buffer.size} bytes of levels")
    return np.frombuffer(buffer, "<u2")


def decode_level_block(
    encoding: CompressiveEncoding, buffer: pa.Buffer, count: int, context: DecodeContext
) -> LevelArray:
    """``count`` levels from one compressed block."""
    return _levels(decode_block(encoding, buffer, count, context), count)


def decode_levels(
    encoding: CompressiveEncoding,
    data: npt.NDArray[np.uint8],
    place: tuple[Int64Array, Int64Array],
    counts: Int64Array,
    context: DecodeContext,
) -> LevelArray:
    """The levels of chunks, joined: ``counts`` of them at the starts and of the sizes ``place``.

    Raises `CorruptFileError` if a chunk has not as many.
    """
    starts, sizes = place
    total = int(counts.sum())
    if encoding.WhichOneof("compression") == "flat" and encoding.flat.bits_per_value == 16:
        if (sizes < counts * _BYTES).any():
            raise CorruptFileError("a chunk has fewer levels than it says")
        if len(starts) == 1:
            return np.frombuffer(data, "<u2", total, int(starts[0]))
        return data[spans_index(starts, starts + counts * _BYTES)].view("<u2")
    if encoding.WhichOneof("compression") in _LIKE_VALUES:
        return _levels(decode_part(encoding, data, place, counts, context), total)
    whole = pa.py_buffer(data)
    spans = zip(starts.tolist(), sizes.tolist(), counts.tolist(), strict=True)
    blocks = [
        decode_level_block(encoding, whole.slice(start, size), count, context)
        for start, size, count in spans
    ]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _levels(values: Values, count: int) -> LevelArray:
    fixed = as_fixed(values)
    if fixed.bits != 16 or fixed.count != count:
        raise CorruptFileError(f"{fixed.count} levels of {fixed.bits} bits, not {count}")
    return fixed.words().astype(np.uint16, copy=False)
