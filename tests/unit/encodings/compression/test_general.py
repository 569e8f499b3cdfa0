"""zstd and lz4: the framing that files have, and claims that are checked."""

from __future__ import annotations

import random
import struct
import tracemalloc

import pyarrow as pa
import pytest

from lance_core.encodings.compression.general import compress, decompress
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from tests.each_case import each_case

TEXT = b"hello" * 20 + b"x"
ZSTD = bytes.fromhex("6500000000000000") + b"(\xb5/\xfd em\x00\x000hellox\x01\x00\x8c\xa9h\x01"
LZ4 = b"e\x00\x00\x00_hello\x05\x00HPellox"
STORED = [("zstd", ZSTD), ("lz4", LZ4)]
SCHEMES = ["zstd", "lz4"]


def squeeze(scheme: str, data: bytes, level: int | None = None) -> bytes:
    packed = compress(scheme, level, pa.py_buffer(data))
    assert packed is not None
    return bytes(packed)


def expand(scheme: str, data: bytes) -> bytes:
    return bytes(decompress(scheme, pa.py_buffer(data)))


@pytest.mark.parametrize(("scheme", "stored"), STORED)
def test_bytes_of_pylance_are_read_and_written(scheme: str, stored: bytes) -> None:
    assert expand(scheme, stored) == TEXT
    assert squeeze(scheme, TEXT) == stored


@each_case("scheme", SCHEMES)
@each_case("data", [b"", b"a", bytes(100_000), bytes(range(256)) * 9])
def test_what_was_compressed_comes_back(scheme: str, data: bytes) -> None:
    assert expand(scheme, squeeze(scheme, data)) == data


def test_a_level_is_heeded_and_kept_in_bounds() -> None:
    words = [b"amber ", b"basin ", b"cedar ", b"delta ", b"ember, "]
    chance = random.Random(5)
    data = b"".join(chance.choice(words) for _ in range(20_000))
    sizes = [len(squeeze("zstd", data, level)) for level in (1, 3, 19)]
    assert sizes[0] > sizes[1] > sizes[2]
    assert squeeze("zstd", data, 99) == squeeze("zstd", data, 22)
    assert squeeze("zstd", data, 0) == squeeze("zstd", data) == squeeze("zstd", data, 3)


def test_bare_zstd_frames_of_older_writers_are_read() -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:  # does not state the size
        for _ in range(10):
            stream.write(TEXT * 1000)
    assert expand("zstd", bytes(sink.getvalue())) == TEXT * 10_000
    assert expand("zstd", ZSTD[8:]) == TEXT
    assert expand("zstd", b"") == b""


def test_a_size_that_looks_like_a_frame_is_a_size() -> None:
    size = 0xFD2FB528 | 0x10 << 32  # the magic number, then a bit that no frame has
    with pytest.raises(CorruptFileError, match=f"claims to hold {size}"):
        expand("zstd", struct.pack("<Q", size) + ZSTD[8:])


@each_case("claim", [0, 1, 100, 102, 200, 30_000])
@each_case(("scheme", "stored"), STORED)
def test_a_wrong_size_is_corruption(scheme: str, stored: bytes, claim: int) -> None:
    prefix = struct.pack("<Q" if scheme == "zstd" else "<I", claim)
    data = prefix + stored[len(prefix) :]
    if claim == 0:
        assert expand(scheme, data) == b""
    else:
        with pytest.raises(CorruptFileError):
            expand(scheme, data)


@each_case("scheme", SCHEMES)
@each_case("claim", [1 << 30, (1 << 31) - 1, (1 << 32) - 1])
def test_a_bomb_is_refused_before_memory_is_used(scheme: str, claim: int) -> None:
    stored = dict(STORED)[scheme]
    prefix = struct.pack("<Q" if scheme == "zstd" else "<I", claim)
    tracemalloc.start()
    with pytest.raises(CorruptFileError, match="claims to hold"):
        expand(scheme, prefix + stored[len(prefix) :])
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_bare_frame_that_never_ends_is_given_up() -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for _ in range(80):
            stream.write(bytes(1 << 20))
    with pytest.raises(CorruptFileError, match="holds more than"):
        expand("zstd", bytes(sink.getvalue()))


@pytest.mark.parametrize(("scheme", "stored"), STORED)
def test_damaged_bytes_are_corruption(scheme: str, stored: bytes) -> None:
    for length in range(len(stored)):
        if scheme == "zstd" and length == 0:
            continue
        with pytest.raises(CorruptFileError):
            expand(scheme, stored[:length])


def test_what_would_look_like_a_bomb_is_not_written() -> None:
    assert compress("zstd", 3, pa.py_buffer(bytes(80 << 20))) is None


def test_other_schemes_are_unsupported() -> None:
    with pytest.raises(UnsupportedFeatureError, match="'brotli'"):
        compress("brotli", None, pa.py_buffer(b""))
    with pytest.raises(UnsupportedFeatureError, match="'brotli'"):
        decompress("brotli", pa.py_buffer(b""))
