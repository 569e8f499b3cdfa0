"""One value out of a chunk of a mini-block page, with plain integers: a row costs no array.

What an encoding means is worked out once for a page, by `point_of`. The result gives the bytes of a
value: as wide as it is, one byte for a value of one bit. It checks what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core._pb.encodings_v2_1_pb2 import (
    ByteStreamSplit,
    CompressiveEncoding,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    Rle,
    Variable,
)
from lance_core.encodings.compression.general import decompress
from lance_core.encodings.kernels.numpy.bitpacking import (
    CHUNK,
    WIDTHS,
    packed_bytes,
    places_of_rows,
)
from lance_core.encodings.v2_1.codecs.base import MAX_NESTING, find_compressive
from lance_core.encodings.v2_1.codecs.bitpacking import decode_inline, decode_out_of_line
from lance_core.encodings.v2_1.codecs.byte_stream_split import decode_byte_stream_split, stream_bits
from lance_core.encodings.v2_1.codecs.fixed_size_list import decode_fixed_size_list, plain_list
from lance_core.encodings.v2_1.codecs.flat import decode_flat, flat_bits, inner_flat
from lance_core.encodings.v2_1.codecs.fsst import decode_fsst, parsed_table
from lance_core.encodings.v2_1.codecs.general import decode_general, scheme_of
from lance_core.encodings.v2_1.codecs.rle import decode_rle
from lance_core.encodings.v2_1.codecs.variable import decode_variable, offset_bits
from lance_core.errors import CorruptFileError

if TYPE_CHECKING:
    from lance_core.encodings.context import DecodeContext
    from lance_core.encodings.kernels import Kernels

_ESCAPE = 255
_SHORT = 256
_RLE_HEAD = 8
_ROW_OF_BLOCK = tuple(places_of_rows(64)[::8].index(16 * block) * 8 for block in range(8))


class Chunk(NamedTuple):
    """The value buffers of a chunk: buffer b is ``data[starts[b]:starts[b] + sizes[b]]``.

    All of them are within ``data``; they hold ``total`` values.
    """

    data: memoryview
    starts: Sequence[int]
    sizes: Sequence[int]
    total: int


Point = Callable[[Chunk, int], bytes | memoryview]
"""The bytes of the value at a position below the chunk's total. Raises `CorruptFileError`."""


def point_of(encoding: CompressiveEncoding, context: DecodeContext, depth: int = 0) -> Point | None:
    """How to get at single values; None if all values of a chunk have to be decoded for one."""
    if depth >= MAX_NESTING:
        return None
    key, decoder = find_compressive(encoding, context)
    maker = _MAKERS.get(decoder)
    return None if maker is None else maker(getattr(encoding, key), context, depth + 1)


def level_point_of(encoding: CompressiveEncoding, context: DecodeContext) -> Point | None:
    """As `point_of`, for levels, of which a chunk has one buffer in the form of a block."""
    point = point_of(encoding, context)
    if point is None or encoding.WhichOneof("compression") != "rle":
        return point

    def level(chunk: Chunk, position: int) -> bytes | memoryview:
        _check_size(chunk, _RLE_HEAD)
        start, size = chunk.starts[0] + _RLE_HEAD, chunk.sizes[0] - _RLE_HEAD
        values = int.from_bytes(chunk.data[start - _RLE_HEAD : start], "little")
        if values > size:
            raise CorruptFileError(f"{values} bytes of runs in a block of {size}")
        starts, sizes = (start, start + values), (values, size - values)
        return point(Chunk(chunk.data, starts, sizes, chunk.total), position)

    return level


def _flat(message: Flat, context: DecodeContext, depth: int) -> Point | None:
    bits = flat_bits(message)
    width = bits // 8

    def bit(chunk: Chunk, position: int) -> bytes:
        octet, number = divmod(position, 8)
        _check_size(chunk, octet + 1)
        return b"\1" if chunk.data[chunk.starts[0] + octet] >> number & 1 else b"\0"

    def value(chunk: Chunk, position: int) -> memoryview:
        _check_size(chunk, (position + 1) * width)
        start = chunk.starts[0] + position * width
        return chunk.data[start : start + width]

    return bit if bits == 1 else value if width else None


def _inline(message: InlineBitpacking, context: DecodeContext, depth: int) -> Point | None:
    bits = message.uncompressed_bits_per_value
    if bits not in WIDTHS or message.HasField("values"):
        return None
    word = bits // 8

    def value(chunk: Chunk, position: int) -> bytes:
        _check_size(chunk, word)
        start = chunk.starts[0]
        width = int.from_bytes(chunk.data[start : start + word], "little")
        if width > bits or position >= CHUNK:
            raise CorruptFileError(f"values of {bits} bits packed to {width}")
        _check_size(chunk, word + packed_bytes(width))
        return _unpacked(chunk.data, start + word, width, bits, position)

    return value


def _unpacked(data: memoryview, start: int, width: int, bits: int, position: int) -> bytes:
    """One of the 1024 values that are packed at ``start``."""
    word, lanes = bits // 8, CHUNK // bits
    step, within = divmod(position, 128)
    block, lane = divmod(within, lanes)
    number, shift = divmod((_ROW_OF_BLOCK[block * lanes // 16] + step) * width, bits)
    at = start + number * 128 + lane * word
    if shift + width <= bits:
        found = int.from_bytes(data[at : at + word], "little") >> shift
    else:
        high = int.from_bytes(data[at + 128 : at + 128 + word], "little")
        found = int.from_bytes(data[at : at + word], "little") >> shift | high << (bits - shift)
    return (found & ((1 << width) - 1)).to_bytes(word, "little")


def _out_of_line(message: OutOfLineBitpacking, context: DecodeContext, depth: int) -> Point | None:
    """For the levels of a chunk, a block of their own."""
    bits = message.uncompressed_bits_per_value
    width = inner_flat(message.values, "packed values", any_width=True)
    if bits not in WIDTHS or width > bits:
        return None
    word, unit = bits // 8, packed_bytes(width)

    def value(chunk: Chunk, position: int) -> bytes | memoryview:
        whole, rest = divmod(chunk.total, CHUNK)
        tail = chunk.sizes[0] - whole * unit
        if tail not in (rest * word, unit if rest else 0):
            raise CorruptFileError("a chunk has not as many packed values as it says")
        number, within = divmod(position, CHUNK)
        start = chunk.starts[0] + number * unit
        if number == whole and tail == rest * word:
            return chunk.data[start + within * word : start + (within + 1) * word]
        return _unpacked(chunk.data, start, width, bits, within)

    return value


def _variable(message: Variable, context: DecodeContext, depth: int) -> Point | None:
    width = offset_bits(message) // 8
    if message.HasField("values"):
        return None

    def value(chunk: Chunk, position: int) -> memoryview:
        head = (chunk.total + 1) * width
        _check_size(chunk, head)
        start = chunk.starts[0]
        at = start + position * width
        first = int.from_bytes(chunk.data[at : at + width], "little")
        last = int.from_bytes(chunk.data[at + width : at + 2 * width], "little")
        if not head <= first <= last <= chunk.sizes[0]:
            raise CorruptFileError(
                "the offsets of a chunk do not ascend within it", field="Variable"
            )
        return chunk.data[start + first : start + last]

    return value


def _fsst(message: Fsst, context: DecodeContext, depth: int) -> Point | None:
    inner = point_of(message.values, context, depth)
    table = _symbols(message, context)
    if table is None or inner is None:
        return inner
    return lambda chunk, position: table.joined(inner(chunk, position))


class _Symbols:
    """FSST symbols by their codes."""

    __slots__ = ("_kernels", "_lengths", "_symbols", "_texts")

    def __init__(self, texts: bytes, lengths: bytes, kernels: Kernels) -> None:
        self._texts, self._lengths, self._kernels = texts, lengths, kernels
        self._symbols = [texts[8 * code : 8 * code + size] for code, size in enumerate(lengths)]

    def joined(self, codes: bytes | memoryview) -> bytes | memoryview:
        """The string that ``codes`` stand for."""
        if len(codes) > _SHORT:
            octets = np.frombuffer(codes, np.uint8)
            edges = np.array([0, len(octets)])
            text, _ = self._kernels.fsst_decode(octets, edges, self._texts, self._lengths)
            return memoryview(text)
        symbols, parts, escaped = self._symbols, [], False
        for code in bytes(codes):  # a view of an Arrow buffer has signed items
            if escaped:
                parts.append(bytes((code,)))
                escaped = False
            elif code == _ESCAPE:
                escaped = True
            elif code >= len(symbols):
                raise CorruptFileError(f"an FSST code has no symbol among {len(symbols)}")
            else:
                parts.append(symbols[code])
        if escaped:
            raise CorruptFileError("an FSST string ends within an escape")
        return b"".join(parts)


def _symbols(message: Fsst, context: DecodeContext) -> _Symbols | None:
    """None if the bytes are stored as they are."""
    table = parsed_table(message.symbol_table)
    return None if table is None else _Symbols(*table, context.kernels)


ZippedPoint = Callable[[bytes | memoryview], bytes | memoryview]
"""The bytes of a value, from those that stand behind its control word."""


def as_it_is(octets: bytes | memoryview) -> bytes | memoryview:
    """`ZippedPoint` of values that are stored as they are."""
    return octets


def zipped_point_of(
    encoding: CompressiveEncoding, context: DecodeContext, depth: int = 0
) -> ZippedPoint | None:
    """As `point_of`, for the values of full-zip pages."""
    if depth >= MAX_NESTING:
        return None
    key, decoder = find_compressive(encoding, context)
    message = getattr(encoding, key)
    if decoder is decode_flat:
        bits = flat_bits(message)
        return as_it_is if bits % 8 == 0 else None
    if decoder is decode_variable and not message.HasField("values"):
        return as_it_is
    if decoder is decode_fixed_size_list and plain_list(message) is not None:
        return as_it_is
    if decoder not in (decode_fsst, decode_general):
        return None
    inner = zipped_point_of(message.values, context, depth + 1)
    if inner is None:
        return None
    if decoder is decode_fsst:
        return _zipped_symbols(inner, message, context)
    return _zipped_bytes(inner, scheme_of(message))


def _zipped_symbols(inner: ZippedPoint, message: Fsst, context: DecodeContext) -> ZippedPoint:
    table = _symbols(message, context)
    return inner if table is None else lambda octets: table.joined(inner(octets))


def _zipped_bytes(inner: ZippedPoint, scheme: str) -> ZippedPoint:
    return lambda octets: inner(memoryview(decompress(scheme, pa.py_buffer(octets))))


def _rle(message: Rle, context: DecodeContext, depth: int) -> Point | None:
    bits = inner_flat(message.values, "runs")
    if bits not in WIDTHS or inner_flat(message.run_lengths, "lengths of runs") != 8:
        return None
    width = bits // 8

    def value(chunk: Chunk, position: int) -> memoryview:
        if len(chunk.sizes) != 2 or chunk.sizes[0] != chunk.sizes[1] * width:
            raise CorruptFileError("not as many lengths of runs as values")
        lengths = np.frombuffer(chunk.data, np.uint8, chunk.sizes[1], chunk.starts[1])
        ends = lengths.cumsum(dtype=np.int64)
        if not len(ends) or ends[-1] != chunk.total:
            raise CorruptFileError("runs are not as long as there are values")
        at = chunk.starts[0] + int(ends.searchsorted(position, "right")) * width
        return chunk.data[at : at + width]

    return value


def _byte_stream_split(
    message: ByteStreamSplit, context: DecodeContext, depth: int
) -> Point | None:
    width = stream_bits(message) // 8

    def value(chunk: Chunk, position: int) -> bytes:
        _check_size(chunk, chunk.total * width)
        start = chunk.starts[0] + position
        return bytes(chunk.data[start : start + chunk.total * width : chunk.total][:width])

    return value


def _general(message: General, context: DecodeContext, depth: int) -> Point | None:
    inner, scheme = point_of(message.values, context, depth), scheme_of(message)
    if inner is None:
        return None

    def value(chunk: Chunk, position: int) -> bytes | memoryview:
        if not chunk.sizes:
            raise CorruptFileError("compressed chunks without a buffer")
        parts = [chunk.data[a : a + size] for a, size in zip(*chunk[1:3], strict=True)]
        parts[0] = memoryview(decompress(scheme, pa.py_buffer(parts[0])))
        sizes = [len(part) for part in parts]
        starts = list(accumulate(sizes, initial=0))[:-1]
        data = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        return inner(Chunk(data, starts, sizes, chunk.total), position)

    return value


def _check_size(chunk: Chunk, needed: int) -> None:
    if len(chunk.sizes) != 1 or chunk.sizes[0] < needed:
        raise CorruptFileError("a chunk has fewer bytes than its values take")


_MAKERS: dict[Callable[..., Any], Callable[[Any, DecodeContext, int], Point | None]] = {
    decode_flat: _flat,
    decode_inline: _inline,
    decode_out_of_line: _out_of_line,
    decode_variable: _variable,
    decode_fsst: _fsst,
    decode_rle: _rle,
    decode_byte_stream_split: _byte_stream_split,
    decode_general: _general,
}
"""By decoder."""
