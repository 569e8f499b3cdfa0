"""The functions of `lance_core.encodings.kernels`, in C.

What is done here is what needs Python: making room for results and naming errors. The C code
checks everything again that it relies on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core_kernels import _native

Bytes = npt.NDArray[np.uint8]
Int64Array = npt.NDArray[np.int64]
LevelArray = npt.NDArray[np.uint16]

_CHUNK = 1024
_WIDTHS = (8, 16, 32, 64)
_ROOM = 32  # what `_native.fsst_decode` needs beyond its result
_SYMBOLS = 255
_NO_LEVELS = np.empty(0, np.uint16)


def unpack_fastlanes(
    data: Bytes, width: int, bits: int, chunks: int
) -> npt.NDArray[np.unsignedinteger]:
    """See `lance_core.encodings.kernels.unpack_fastlanes`."""
    if (
        bits not in _WIDTHS
        or not 0 <= width <= bits
        or chunks < 0
        or len(data) != chunks * _CHUNK * width // 8
    ):
        raise CorruptFileError(
            f"{chunks} chunks of values of {bits} bits packed to {width} in {len(data)} bytes"
        )
    values = np.empty(chunks * _CHUNK, f"<u{bits // 8}")
    with _errors(CorruptFileError):
        _native.unpack_fastlanes(np.ascontiguousarray(data), width, bits, chunks, values)
    return values


def pack_fastlanes(values: npt.NDArray[np.unsignedinteger], width: int) -> Bytes:
    """See `lance_core.encodings.kernels.pack_fastlanes`."""
    bits = values.dtype.itemsize * 8
    if bits not in _WIDTHS or not 0 <= width <= bits:
        raise InvalidInputError(f"values of {bits} bits packed to {width}")
    if len(values) % _CHUNK:
        raise InvalidInputError(f"{len(values)} values are not whole chunks of {_CHUNK}")
    chunks = len(values) // _CHUNK
    packed = np.empty(chunks * _CHUNK * width // 8, np.uint8)
    with _errors(InvalidInputError):
        _native.pack_fastlanes(np.ascontiguousarray(values), width, bits, chunks, packed)
    return packed


def fsst_decode(
    codes: Bytes, offsets: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.fsst_decode`."""
    if not len(offsets) or not 0 <= offsets[0] <= offsets[-1] <= len(codes):
        raise CorruptFileError("offsets of FSST strings are not within the codes")
    codes, edges = np.ascontiguousarray(codes[offsets[0] : offsets[-1]]), offsets - offsets[0]
    with _errors(CorruptFileError):
        text = pa.allocate_buffer(_native.fsst_bound(codes, symbols, lengths) + _ROOM)
        text_offsets = np.empty(len(edges), np.int64)
        size = _native.fsst_decode(codes, _aligned(edges), symbols, lengths, text, text_offsets)
    return text.slice(0, size), text_offsets


def fsst_encode(
    data: Bytes, starts: Int64Array, stops: Int64Array, symbols: bytes, lengths: bytes
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.fsst_encode`."""
    data, starts, stops = np.ascontiguousarray(data), _aligned(starts), _aligned(stops)
    with _errors(InvalidInputError):
        total = _native.spans_total(data, starts, stops)
        codes = pa.allocate_buffer(2 * total, resizable=True)
        offsets = np.empty(len(starts) + 1, np.int64)
        size = _native.fsst_encode(data, starts, stops, symbols, lengths, codes, offsets)
    codes.resize(size, shrink_to_fit=True)
    return codes, offsets


def fsst_train(sample: Sequence[bytes]) -> tuple[bytes, ...]:
    """See `lance_core.encodings.kernels.fsst_train`."""
    offsets = np.zeros(len(sample) + 1, np.int64)
    np.cumsum([len(text) for text in sample], out=offsets[1:])
    symbols, lengths = bytearray(8 * _SYMBOLS), bytearray(_SYMBOLS)
    with _errors(InvalidInputError):
        count = _native.fsst_train(b"".join(sample), offsets, symbols, lengths)
    return tuple(bytes(symbols[8 * i : 8 * i + lengths[i]]) for i in range(count))


def level_items(
    repetition: LevelArray,
    definition: LevelArray | None,
    starts: Int64Array,
    depth: int,
    base: int,
) -> tuple[Int64Array, Int64Array]:
    """See `lance_core.encodings.kernels.level_items`."""
    if definition is None:
        definition = _NO_LEVELS
    elif len(definition) != len(repetition):
        raise CorruptFileError(
            f"{len(repetition)} repetition and {len(definition)} definition levels"
        )
    items = np.empty(len(repetition), np.int64)
    offsets = np.empty(len(starts) + 1, np.int64)
    repetition, definition = _levels(repetition), _levels(definition)
    with _errors(CorruptFileError):
        count = _native.level_items(
            repetition, definition, _aligned(starts), depth, base, items, offsets
        )
    return items[:count], offsets


def gather_variable(
    data: Bytes, starts: Int64Array, stops: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.gather_variable`."""
    data, starts, stops = np.ascontiguousarray(data), _aligned(starts), _aligned(stops)
    offsets = np.empty(len(starts) + 1, np.int64)
    with _errors(CorruptFileError):
        total = _native.spans_total(data, starts, stops)
        if total > len(data):
            raise CorruptFileError("spans descend or overlap")
        text = pa.allocate_buffer(total)
        _native.gather_variable(data, starts, stops, text, offsets)
    return text, offsets


def _aligned(values: Int64Array) -> Int64Array:
    return np.require(values, np.int64, ["C", "A"])


def _levels(levels: LevelArray) -> LevelArray:
    return np.require(levels, np.uint16, ["C", "A"])


@contextmanager
def _errors(kind: type[CorruptFileError] | type[InvalidInputError]) -> Iterator[None]:
    """What C code finds wrong, as an error of this project."""
    try:
        yield
    except (CorruptFileError, InvalidInputError):
        raise
    except ValueError as error:
        raise kind(str(error)) from None
