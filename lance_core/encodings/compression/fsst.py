"""FSST: each one-byte code of a string stands for a symbol of 1 to 8 bytes.

`lance_core.encodings.kernels` encodes and decodes. Code 255 is an escape: the next byte is a
literal. A stored symbol table has 2312 bytes: a u64 header (bits 63-32 the magic number, bit 24 set
if the data is compressed, bits 7-0 the number of symbols n), n symbols of 8 bytes each, n lengths
of one byte each, then zeros.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from lance_core.encodings.kernels.numpy.fsst_decode import check_lengths
from lance_core.errors import CorruptFileError

TABLE_BYTES = 8 + 256 * 8 + 256
"""Bytes of a stored symbol table."""

_MAGIC = 0x46535354
_ACTIVE = 1 << 24


class SymbolTable(NamedTuple):
    """The symbols, ordered by code. If ``active`` is false, strings are stored uncompressed."""

    symbols: tuple[bytes, ...]
    active: bool = True

    @property
    def packed(self) -> tuple[bytes, bytes]:
        """The symbols, each padded with zeros to 8 bytes, and their lengths, one byte each."""
        texts = b"".join(symbol.ljust(8, b"\0") for symbol in self.symbols)
        return texts, bytes(len(symbol) for symbol in self.symbols)

    def to_bytes(self) -> bytes:
        """The table in the stored form."""
        return stored_symbols(*self.packed, active=self.active)


def stored_symbols(texts: bytes, lengths: bytes, *, active: bool = True) -> bytes:
    """A table in the stored form; the arguments are as in `SymbolTable.packed`."""
    count = len(lengths)
    # Bits 16 to 23 are the suffix limit and bits 8 to 15 the terminator of pylance's encoder. No
    # decoder reads them.
    head = _MAGIC << 32 | active * _ACTIVE | count << 16 | count
    return (struct.pack("<Q", head) + texts + lengths).ljust(TABLE_BYTES, b"\0")


def packed_symbols(stored: bytes) -> tuple[bytes, bytes] | None:
    """`SymbolTable.packed` of a stored table; None if strings are stored uncompressed.

    Symbols keep what the file has behind their lengths. Raises `CorruptFileError`.
    """
    if len(stored) < TABLE_BYTES:
        raise CorruptFileError(
            f"an FSST symbol table has {len(stored)} bytes, expected {TABLE_BYTES}"
        )
    (head,) = struct.unpack_from("<Q", stored)
    if head >> 32 != _MAGIC:
        raise CorruptFileError("an FSST symbol table does not begin with its magic number")
    if not head & _ACTIVE:
        return None
    count = head & 0xFF
    lengths = stored[8 + 8 * count : 8 + 9 * count]
    check_lengths(lengths, CorruptFileError)
    return stored[8 : 8 + 8 * count], lengths
