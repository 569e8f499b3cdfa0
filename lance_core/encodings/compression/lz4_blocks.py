"""Decompress LZ4 blocks and verify the size that the file claims for them.

An LZ4 block does not store the size of its content. Arrow decompresses a block into memory of a
given size and does not report a shorter content, except for an LZ4 frame that states the size of
its content. So this module wraps a block into a frame, up to the largest block that a frame allows
(LZ4 frame format, "Frame Descriptor").
"""

from __future__ import annotations

import struct
from functools import lru_cache

import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import memory_pool
from lance_core.errors import CorruptFileError

_MAGIC = bytes.fromhex("04224d18")
_FLAGS = 0x68
"""Frame flags: version 1, independent blocks, content size present, no content checksum."""

_MAX_BLOCK_BYTES = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
"""Maximum bytes of a block in a frame, compressed or not, by block size code."""

_MARGIN = 12
"""A match must not begin within the last 12 bytes of a block (LZ4 block format)."""

_LITERALS = 5
"""The last bytes of a block, which are always literals (LZ4 block format)."""

_MASK = 0xFFFFFFFF
_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)


def lz4_block(body: pa.Buffer, size: int) -> pa.Buffer:
    """The content of the block ``body``. Allocates ``size`` bytes.

    Raises `CorruptFileError` if the block is damaged or its content does not have ``size`` bytes.
    """
    if size == 0:
        return pa.py_buffer(b"")
    needed = max(size + _MARGIN, body.size)
    code = next((code for code, most in _MAX_BLOCK_BYTES.items() if needed <= most), None)
    try:
        if code is None:
            return _large(body, size)
        # A frame ends with a block of size 0, in four bytes.
        pieces = (_header(code, size), struct.pack("<I", body.size), body, bytes(4))
        return pa.Codec("lz4").decompress(b"".join(pieces), size, memory_pool=memory_pool())
    except OSError as error:
        raise CorruptFileError(
            f"an lz4 block cannot be decompressed to {size} bytes: {error}"
        ) from error


def _large(body: pa.Buffer, size: int) -> pa.Buffer:
    """The content of a block that is too large for a frame.

    The content has ``size`` bytes if the block does not decompress into ``size - 1`` bytes. But a
    decoder also rejects output space that ends too near to a match, so the content could be up to
    three bytes shorter. Therefore the trailing literals are compared, too.
    """
    codec = pa.Codec("lz4_raw")
    plain = codec.decompress(body, size, memory_pool=memory_pool())
    try:
        codec.decompress(body, size - 1)
    except OSError:
        if plain[-_LITERALS:] == body[-_LITERALS:]:
            return plain
    raise CorruptFileError(f"an lz4 block holds less than the {size} bytes that it claims")


@lru_cache(maxsize=64)
def _header(code: int, size: int) -> bytes:
    """The header of a frame with the block size ``code`` and a content of ``size`` bytes."""
    descriptor = struct.pack("<BBQ", _FLAGS, code << 4, size)
    # The checksum of a header is the second byte of its hash (LZ4 frame format).
    return _MAGIC + descriptor + bytes([_xxh32(descriptor) >> 8 & 0xFF])


def _xxh32(data: bytes) -> int:
    """The xxHash-32 hash of fewer than 16 bytes, with seed 0."""
    first, second, third, fourth, fifth = _PRIMES
    digest = fifth + len(data)
    whole = len(data) // 4 * 4
    for (lane,) in struct.iter_unpack("<I", data[:whole]):
        digest = _rotated(digest + lane * third, 17) * fourth
    for octet in data[whole:]:
        digest = _rotated(digest + octet * fifth, 11) * first
    digest &= _MASK
    digest = (digest ^ digest >> 15) * second & _MASK
    digest = (digest ^ digest >> 13) * third & _MASK
    return digest ^ digest >> 16


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return number << bits | number >> (32 - bits)
