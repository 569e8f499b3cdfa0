"""FSST: strings as codes of one byte that stand for symbols of up to 8 bytes.

Code 255 says that the next byte is meant literally. A symbol table is stored in 2312 bytes: a u64
(bits 63-32 the magic number, bit 24 whether the data is compressed at all, bits 7-0 the number of
symbols n), n symbols of 8 bytes, n lengths of one byte, zeros.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError

ESCAPE = 255
TABLE_BYTES = 8 + 256 * 8 + 256

_MAGIC = 0x46535354
_ACTIVE = 1 << 24


class SymbolTable(NamedTuple):
    """The symbols in the order of their codes. Not ``active``: bytes are stored as they are."""

    symbols: tuple[bytes, ...]
    active: bool = True

    def to_bytes(self) -> bytes:
        """The table as files have it."""
        count = len(self.symbols)
        head = _MAGIC << 32 | self.active * _ACTIVE | count << 16 | count
        texts = b"".join(symbol.ljust(8, b"\0") for symbol in self.symbols)
        lengths = bytes(len(symbol) for symbol in self.symbols)
        return (struct.pack("<Q", head) + texts + lengths).ljust(TABLE_BYTES, b"\0")


def parse_table(data: bytes) -> SymbolTable:
    """A stored symbol table; raises `CorruptFileError`."""
    if len(data) < TABLE_BYTES:
        raise CorruptFileError(f"an FSST symbol table of {len(data)} bytes, not {TABLE_BYTES}")
    (head,) = struct.unpack_from("<Q", data)
    if head >> 32 != _MAGIC:
        raise CorruptFileError("an FSST symbol table does not begin with its magic number")
    if not head & _ACTIVE:
        return SymbolTable((), active=False)
    count = head & 0xFF
    lengths = data[8 + 8 * count : 8 + 9 * count]
    if any(not 1 <= length <= 8 for length in lengths):
        raise CorruptFileError("an FSST symbol is not 1 to 8 bytes long")
    return SymbolTable(
        tuple(data[8 + 8 * i : 8 + 8 * i + length] for i, length in enumerate(lengths))
    )


def decompress(
    table: pa.Array, count: int, codes: npt.NDArray[np.uint8], ends: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """The bytes that ``codes`` stand for, and where each string ends in them.

    ``table`` is the `lookup_table` of ``count`` symbols, ``ends`` are those of the strings among
    the codes. Raises `CorruptFileError` for a code without a symbol and a string cut in an escape.
    """
    if not len(codes):
        return pa.py_buffer(b""), ends
    escapes = escaped_places(codes)
    indices: npt.NDArray[np.uint16] = codes.astype(np.uint16)
    if len(escapes):
        before = np.searchsorted(escapes, ends)
        is_cut = (before > 0) & (escapes[before - 1] == ends - 1)
        if escapes[-1] + 1 == len(codes) or is_cut.any():
            raise CorruptFileError("an FSST string ends within an escape")
        indices[escapes + 1] += 256
        ends = ends - before
        indices = np.delete(indices, escapes)
    if ((indices >= count) & (indices < 256)).any():
        raise CorruptFileError(f"an FSST code has no symbol among {count}")
    # Arrow joins the symbols: they are values of an array, of which the codes take some.
    taken = table.take(pa.array(indices))
    _, offsets, data = taken.buffers()
    places = np.frombuffer(offsets, np.int64, len(taken) + 1)
    return data.slice(0, int(places[-1])), places.take(ends)


def lookup_table(symbols: tuple[bytes, ...]) -> pa.Array:
    """What `decompress` looks codes up in: symbols, and from 256 on the bytes meant literally."""
    unused = [b""] * (256 - len(symbols))
    literals = [bytes([octet]) for octet in range(256)]
    return pa.array([*symbols, *unused, *literals], pa.large_binary())


def escaped_places(codes: npt.NDArray[np.uint8]) -> Int64Array:
    """Where an escape is: in a run of 255s, every second one is the byte that is meant."""
    places: Int64Array = np.flatnonzero(codes == ESCAPE)
    if len(places) < 2:
        return places
    new_run = np.concatenate([[True], np.diff(places) != 1])
    numbers = np.arange(len(places))
    within = numbers - np.maximum.accumulate(np.where(new_run, numbers, 0))
    starts: Int64Array = places[within % 2 == 0]
    return starts
