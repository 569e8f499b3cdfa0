"""Compress whole buffers with zstd or lz4, including the framing of the format.

zstd: u64 uncompressed size, then a zstd frame; older writers store a bare frame. lz4: u32
uncompressed size, then an LZ4 block. An empty buffer stays empty with zstd.
"""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.decode_budget import spend
from lance_core.encodings.arrow.memory_pool import empty, memory_pool
from lance_core.encodings.compression.lz4_blocks import lz4_block
from lance_core.encodings.compression.raw_frames import raw_blocks
from lance_core.encodings.compression.zstd_frames import joined_contents
from lance_core.encodings.decoding import Int64Array
from lance_core.encodings.kernels import Kernels
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

SCHEMES = ("zstd", "lz4")

_SIZE_BYTES = {"zstd": 8, "lz4": 4}
"""Bytes of the uncompressed size before the compressed data."""

_ALWAYS_PLAUSIBLE = 64 << 20
_MAX_RATIO = 1000
_LZ4_RATIO = 255
_ZSTD_LEVEL = 3
_ZSTD_HIGHEST = 22
_ZSTD_MAGIC = 0xFD2FB528
_RESERVED_BIT = 0x10
_CHUNK = 1 << 20
_MAX_CLAIM = 1 << 40


def compress(scheme: str, level: int | None, data: pa.Buffer) -> pa.Buffer | None:
    """``data`` compressed and framed; None if the caller must store ``data`` uncompressed.

    The result is None if the compression ratio is so high that `decompress` would reject the buffer
    as a decompression bomb. Raises `UnsupportedFeatureError` for an unknown scheme.
    """
    if scheme == "zstd":
        codec = pa.Codec("zstd", compression_level=_zstd_level(level))
        prefix = struct.pack("<Q", data.size)
    elif scheme == "lz4":
        if data.size >= 1 << 31:
            raise UnsupportedFeatureError("lz4 cannot compress a page of 2 GiB or more")
        codec = _lz4()
        prefix = struct.pack("<I", data.size)
    else:
        raise UnsupportedFeatureError(f"compression {scheme!r} is not supported")
    body = codec.compress(data, asbytes=True)
    if not _plausible(data.size, len(body)):
        return None
    return pa.py_buffer(prefix + body)


@cache
def _lz4() -> pa.Codec:
    """The codec of LZ4 blocks, which has no state."""
    return pa.Codec("lz4_raw")


class Budget:
    """The total uncompressed size allowed for buffers of ``compressed`` bytes in total."""

    def __init__(self, compressed: int) -> None:
        self._left = max(_ALWAYS_PLAUSIBLE, compressed * _MAX_RATIO)

    def spend(self, size: int) -> None:
        """Count ``size`` uncompressed bytes; raise `CorruptFileError` if the budget is exceeded."""
        self._left -= size
        if self._left < 0:
            raise CorruptFileError("compressed buffers claim to hold too many bytes")


def decompress(scheme: str, data: pa.Buffer, budget: Budget | None = None) -> pa.Buffer:
    """The data from which `compress` made ``data``; bare zstd frames are accepted, too.

    Raises `CorruptFileError` if the bytes are damaged, or if the claimed size is implausible for
    the size of ``data`` or exceeds the ``budget``. Claims are checked before memory is allocated.
    """
    budget = budget or Budget(data.size)
    if scheme == "zstd":
        return _decompress_zstd(data, budget)
    if scheme == "lz4":
        return _decompress_lz4(data, budget)
    raise UnsupportedFeatureError(f"compression {scheme!r} is not supported")


def decompress_spans(
    scheme: str,
    data: npt.NDArray[np.uint8],
    starts: Int64Array,
    sizes: Int64Array,
    kernels: Kernels,
) -> tuple[pa.Buffer, Int64Array]:
    """The decompressed spans of ``data``, concatenated, and the size of each.

    ``starts`` ascend, and all spans are within ``data``. Raises as `decompress` does; the limit on
    claimed sizes applies to all spans together.
    """
    if scheme == "zstd":
        raw = raw_blocks(data, starts, starts + sizes)
        if raw is not None:
            return kernels.gather_variable(data, raw.starts, raw.stops)[0], raw.sizes
    budget = Budget(int(sizes.sum()))
    claimed = _claimed(scheme, data, starts, sizes)
    if claimed is None or not _plausible(int(claimed.sum()), int(sizes.sum())):
        pieces = []
        for span in zip(starts, sizes, strict=True):
            pieces.append(_piece(scheme, data, span, budget))
            spend(pieces[-1].size)
        lengths = np.array([piece.size for piece in pieces], np.int64)
        return pa.py_buffer(b"".join(pieces)), lengths
    spend(int(claimed.sum()))
    contents = joined_contents(data, starts, starts + sizes, kernels) if scheme == "zstd" else None
    if contents is not None:
        return contents, claimed
    joined, position = empty(int(claimed.sum()), np.uint8), 0
    for number, span in enumerate(zip(starts, sizes, strict=True)):
        # Copy each piece at once: it is still in the CPU cache, and its memory is then reused.
        piece = _piece(scheme, data, span, budget)
        if piece.size != claimed[number]:
            raise CorruptFileError("a decompressed value does not have the size that it claims")
        joined[position : position + piece.size] = np.frombuffer(piece, np.uint8)
        position += piece.size
    return pa.py_buffer(joined), claimed


def _piece(
    scheme: str, data: npt.NDArray[np.uint8], span: tuple[np.int64, np.int64], budget: Budget
) -> pa.Buffer:
    start, size = span
    return decompress(scheme, pa.py_buffer(data[start : start + size]), budget)


def _claimed(
    scheme: str, data: npt.NDArray[np.uint8], starts: Int64Array, sizes: Int64Array
) -> Int64Array | None:
    """The uncompressed size that each span claims; None if any span does not state one."""
    width = _SIZE_BYTES.get(scheme)
    if width is None or not len(starts) or (sizes < width + 1).any():
        return None
    head = data[starts[:, None] + np.arange(width)]
    if scheme == "zstd":
        is_bare = head[:, :4].copy().view("<u4").ravel() == _ZSTD_MAGIC
        if (is_bare & (head[:, 4] & _RESERVED_BIT == 0)).any():
            return None
    stated = head.copy().view(f"<u{width}").ravel()
    return None if (stated > _MAX_CLAIM).any() else stated.astype(np.int64)


def _zstd_level(level: int | None) -> int:
    if not level:
        return _ZSTD_LEVEL
    lowest = int(pa.Codec.minimum_compression_level("zstd"))
    return max(lowest, min(_ZSTD_HIGHEST, level))


def _plausible(size: int, compressed: int) -> bool:
    return size <= max(_ALWAYS_PLAUSIBLE, compressed * _MAX_RATIO)


def _is_bare_frame(data: pa.Buffer) -> bool:
    if data.size < 8:
        return True
    head = data.slice(0, 5).to_pybytes()
    return int.from_bytes(head[:4], "little") == _ZSTD_MAGIC and not head[4] & _RESERVED_BIT


def _decompress_zstd(data: pa.Buffer, budget: Budget) -> pa.Buffer:
    if data.size == 0:
        return data
    if _is_bare_frame(data):
        return _read_frame(data, budget)
    (size,) = struct.unpack("<Q", data.slice(0, 8).to_pybytes())
    body = data.slice(8)
    if not _plausible(size, body.size):
        raise CorruptFileError(f"a zstd buffer of {body.size} bytes claims to hold {size}")
    budget.spend(size)
    return _one_shot(body, size)


def _read_frame(data: pa.Buffer, budget: Budget) -> pa.Buffer:
    """The content of a frame whose header may lack the content size, decompressed in pieces."""
    pieces, size = [], 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            while piece := stream.read(_CHUNK):
                pieces.append(piece)
                size += len(piece)
                if not _plausible(size, data.size):
                    raise CorruptFileError(
                        f"a zstd frame of {data.size} bytes holds more than {size} bytes"
                    )
                budget.spend(len(piece))
    except CorruptFileError:
        raise
    except (OSError, ValueError) as error:
        raise CorruptFileError(f"a zstd frame cannot be decompressed: {error}") from error
    return pa.py_buffer(b"".join(pieces))


def _decompress_lz4(data: pa.Buffer, budget: Budget) -> pa.Buffer:
    if data.size < 4:
        raise CorruptFileError(f"an lz4 buffer has only {data.size} bytes")
    (size,) = struct.unpack("<I", data.slice(0, 4).to_pybytes())
    body = data.slice(4)
    if size > body.size * _LZ4_RATIO or not _plausible(size, body.size):
        raise CorruptFileError(f"an lz4 block of {body.size} bytes claims to hold {size}")
    budget.spend(size)
    return lz4_block(body, size)


def _one_shot(body: pa.Buffer, size: int) -> pa.Buffer:
    if size == 0:
        return pa.py_buffer(b"")
    try:
        return pa.Codec("zstd").decompress(body, size, memory_pool=memory_pool())
    except (OSError, ValueError) as error:
        raise CorruptFileError(f"a zstd buffer cannot be decompressed: {error}") from error
