"""LZ4 blocks, which do not say how long their content is, and claims of it that are checked.

Arrow decompresses a block into memory of a given size, and does not tell if less was filled. In a
frame that states the size it compares. So a block gets a frame around it, as large as frames may
be (LZ4 frame format, "Frame Descriptor").
"""

from __future__ import annotations

import struct
from functools import lru_cache

import pyarrow as pa

from lance_core.errors import CorruptFileError

_MAGIC = bytes.fromhex("04224d18")
_FLAGS = 0x68
"""Version 1, independent blocks, the size of the content is stated; no checksums of content."""

_LARGEST = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
"""What the blocks of a frame may have in bytes, compressed or not, by the code for it."""

_MARGIN = 12
"""A match does not begin within so many bytes of the end of the room that a decoder has."""

_LITERALS = 5
"""So many bytes at the end of a block are as they are in its content."""

_MASK = 0xFFFFFFFF
_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)


def lz4_block(body: pa.Buffer, size: int) -> pa.Buffer:
    """The content of the block ``body``.

    Raises `CorruptFileError` if it is damaged, or not ``size`` bytes; ``size`` bytes are allocated.
    """
    if size == 0:
        return pa.py_buffer(b"")
    needed = max(size + _MARGIN, body.size)
    code = next((code for code, most in _LARGEST.items() if needed <= most), None)
    try:
        if code is None:
            return _large(body, size)
        pieces = (_header(code, size), struct.pack("<I", body.size), body, bytes(4))
        return pa.Codec("lz4").decompress(b"".join(pieces), size)
    except OSError as error:
        raise CorruptFileError(
            f"an lz4 block cannot be decompressed to {size} bytes: {error}"
        ) from error


def _large(body: pa.Buffer, size: int) -> pa.Buffer:
    """A block that no frame can have: if it does not fit into less, it fills ``size`` bytes.

    Decoders also refuse room in which a match is too near to the end, so that up to three bytes
    could be missing: its last bytes are compared, too.
    """
    codec = pa.Codec("lz4_raw")
    plain = codec.decompress(body, size)
    try:
        codec.decompress(body, size - 1)
    except OSError:
        if plain[-_LITERALS:] == body[-_LITERALS:]:
            return plain
    raise CorruptFileError(f"an lz4 block holds less than the {size} bytes that it claims")


@lru_cache(maxsize=64)
def _header(code: int, size: int) -> bytes:
    """What a frame begins with."""
    descriptor = struct.pack("<BBQ", _FLAGS, code << 4, size)
    return _MAGIC + descriptor + bytes([_xxh32(descriptor) >> 8 & 0xFF])


def _xxh32(data: bytes) -> int:
    """The hash xxHash-32 of fewer than 16 bytes, with the seed 0."""
    first, second, third, fourth, fifth = _PRIMES
    found = fifth + len(data)
    whole = len(data) // 4 * 4
    for (lane,) in struct.iter_unpack("<I", data[:whole]):
        found = _rotated(found + lane * third, 17) * fourth
    for octet in data[whole:]:
        found = _rotated(found + octet * fifth, 11) * first
    found &= _MASK
    found = (found ^ found >> 15) * second & _MASK
    found = (found ^ found >> 13) * third & _MASK
    return found ^ found >> 16


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return number << bits | number >> (32 - bits)
