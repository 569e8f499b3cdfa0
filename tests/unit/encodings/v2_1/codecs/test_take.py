"""Values that are picked out of chunks are those that decoding all of them gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.codecs.base import (
    Chunk,
    ChunkPositions,
    Encoded,
    MiniBlockChunks,
    Place,
    Target,
    decode,
    encode,
    scalar_at,
    take,
)
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)
from lance_core.encodings.v2_1.codecs.values_take import take_values
from lance_core.encodings.v2_1.pages.level_codecs import decode_levels, take_levels
from lance_core.errors import CorruptFileError
from tests.each_case import each_case

RNG = np.random.default_rng(5)


def numbers(bits: int, count: int) -> FixedWidth:
    widths = np.repeat(RNG.integers(0, bits, 1 + count // 600), 600)[:count].astype(np.uint64)
    words = RNG.integers(0, 1 << 63, count, np.uint64) & ((np.uint64(1) << widths) - 1)
    return FixedWidth.of(
        np.repeat(words, RNG.integers(1, 5, count))[:count].astype(f"<u{bits // 8}")
    )


def flags(count: int) -> FixedWidth:
    return FixedWidth(pa.py_buffer(RNG.bytes((count + 7) // 8)), 1, count)


def strings(count: int, large: bool = False) -> VariableWidth:
    words = ["", "one", "twotwo", "three" * 9, "\u00ff\u20ac", "x" * 300]
    array = pa.array([words[k] for k in RNG.integers(0, 6, count)], pa.large_binary())
    ends = np.frombuffer(array.buffers()[1], np.int64, count + 1)
    return VariableWidth(ends if large else ends.astype(np.int32), array.buffers()[2])


def lists(bits: int, size: int, count: int, nullable: bool) -> FixedSizeListValues:
    items = flags(count * size) if bits == 1 else numbers(bits, count * size)
    validity = flags(count * size).data if nullable else None
    return FixedSizeListValues((validity,), items, (size,), count)


CASES: dict[str, tuple[Values, tuple[str, ...]]] = {
    **{f"flat {bits}": (numbers(bits, 9000), ("flat",)) for bits in (8, 16, 32, 64)},
    **{f"packed {bits}": (numbers(bits, 5000), ("inline_bitpacking",)) for bits in (8, 16, 32, 64)},
    **{f"runs {bits}": (numbers(bits, 9000), ("rle",)) for bits in (8, 16, 32, 64)},
    **{f"streams {bits}": (numbers(bits, 3000), ("byte_stream_split",)) for bits in (32, 64)},
    "zeros": (FixedWidth.of(np.zeros(3000, np.uint32)), ("inline_bitpacking",)),
    "bits": (flags(9001), ("flat",)),
    "one value": (numbers(32, 1), ("flat",)),
    "strings": (strings(3000), ("variable",)),
    "large strings": (strings(3000, large=True), ("variable",)),
    "symbols": (strings(3000), ("fsst", "variable")),
    "compressed": (numbers(32, 9000), ("general", "flat")),
    "compressed runs": (numbers(32, 9000), ("general", "rle")),
    "compressed symbols": (strings(3000), ("general", "fsst", "variable")),
    "lists": (lists(32, 3, 4000, nullable=False), ("fixed_size_list",)),
    "lists of nulls": (lists(32, 3, 4000, nullable=True), ("fixed_size_list",)),
    "lists of bits": (lists(1, 5, 4000, nullable=False), ("fixed_size_list",)),
    "structs": (
        StructValues((numbers(32, 4000), numbers(64, 4000)), 4000),
        ("packed_struct", "flat"),
    ),
}
WITHOUT_SCALARS = {"lists", "lists of nulls", "lists of bits", "structs"}


def some_of(chunks: MiniBlockChunks) -> ChunkPositions:
    """One value in seven, and the first and the last one of each chunk."""
    counts = chunks.counts
    chunk = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(chunk)) - (np.cumsum(counts) - counts)[chunk]
    keep = (RNG.random(len(chunk)) < 1 / 7) | (position == 0) | (position == counts[chunk] - 1)
    return ChunkPositions(counts, chunk[keep], position[keep])


def as_bytes(values: Values) -> object:
    if isinstance(values, FixedWidth):
        if values.bits == 1:
            return np.unpackbits(values.octets(), bitorder="little", count=values.count).tobytes()
        return values.octets().tobytes()
    if isinstance(values, VariableWidth):
        return values.to_arrow(pa.large_binary()).to_pylist()
    if isinstance(values, StructValues):
        return [as_bytes(child) for child in values.children]
    (bitmap,), items = values.validity, values.values
    return bitmap and as_bytes(FixedWidth(bitmap, 1, items.count)), as_bytes(items)


def encoded(registry: EncodingRegistry, name: str) -> Encoded:
    values, chain = CASES[name]
    return encode(values, Target(Place.MINI_BLOCK, registry, chain))


@each_case("name", CASES)
def test_picked_values_are_those_that_are_decoded(
    registry: EncodingRegistry, context: DecodeContext, name: str
) -> None:
    stored = encoded(registry, name)
    chunks = stored.chunks()
    at = some_of(chunks)
    whole = decode(stored.encoding, chunks, context)
    found = take(stored.encoding, chunks, at, context)
    assert as_bytes(found) == as_bytes(take_values(whole, at.places(), context.kernels))
    assert found.count == len(at.chunk)


@each_case("name", CASES)
def test_a_point_is_the_value_that_is_decoded(
    registry: EncodingRegistry, context: DecodeContext, name: str
) -> None:
    stored = encoded(registry, name)
    value_at = scalar_at(stored.encoding, Place.MINI_BLOCK, context)
    assert (value_at is None) == (name in WITHOUT_SCALARS)
    if value_at is None:
        return
    chunks = stored.chunks()
    at = some_of(chunks)
    found = []
    for number, position in zip(at.chunk.tolist(), at.position.tolist(), strict=True):
        starts, sizes = chunks.starts[:, number].tolist(), chunks.sizes[:, number].tolist()
        chunk = Chunk(chunks.data.data, starts, sizes, int(chunks.counts[number]))
        found.append(bytes(value_at(chunk, position)))
    expected = as_bytes(take(stored.encoding, chunks, at, context))
    assert (found if isinstance(expected, list) else b"".join(found)) == expected


LEVELS = [("flat",), ("inline_bitpacking",), ("out_of_line_bitpacking",), ("rle",)]


@pytest.mark.parametrize("chain", LEVELS)
@pytest.mark.parametrize("counts", [(1024, 900), (4096, 1030), (1,), (4096, 2040)])
def test_picked_levels_are_those_that_are_decoded(
    registry: EncodingRegistry,
    context: DecodeContext,
    chain: tuple[str, ...],
    counts: tuple[int, ...],
) -> None:
    if chain == ("inline_bitpacking",) and max(counts) > 1024:
        counts = (1024, 1024, 77)
    words = np.repeat(RNG.integers(0, 3, 5000), 4)[: sum(counts)].astype(np.uint16)
    stored, chunks = level_chunks(registry, words, counts, chain)
    place = chunks.starts[0], chunks.sizes[0]
    levels = decode_levels(stored, chunks.data, place, chunks.counts, context)
    assert levels.tolist() == words.tolist()
    at = some_of(chunks)
    found = take_levels(stored, chunks.data, place, at, context)
    assert found.tolist() == words[at.places()].tolist()
    value_at = scalar_at(stored, Place.BLOCK, context)
    assert value_at is not None
    for number, position in zip(at.chunk[::9].tolist(), at.position[::9].tolist(), strict=True):
        starts, sizes = [int(place[0][number])], [int(place[1][number])]
        chunk = Chunk(chunks.data.data, starts, sizes, counts[number])
        expected = words[sum(counts[:number]) + position]
        assert int.from_bytes(value_at(chunk, position), "little") == expected


def level_chunks(
    registry: EncodingRegistry,
    words: np.ndarray,
    counts: tuple[int, ...],
    chain: tuple[str, ...],
) -> tuple[CompressiveEncoding, MiniBlockChunks]:
    """Levels as a page has them: a block for each chunk, all of one width."""
    target = Target(Place.BLOCK, registry, chain, packed_bits=int(words.max()).bit_length())
    edges = np.cumsum([0, *counts])
    parts = [
        encode(FixedWidth.of(words[start : start + count]), target)
        for start, count in zip(edges.tolist(), counts, strict=False)
    ]
    octets = [np.frombuffer(part.buffers[0], np.uint8) for part in parts]
    sizes = np.array([len(part) for part in octets])
    starts = np.cumsum(sizes) - sizes
    chunks = MiniBlockChunks(
        np.concatenate(octets), starts[None], sizes[None], np.array(counts, np.int64)
    )
    return parts[0].encoding, chunks


@each_case("name", sorted(set(CASES) - {"zeros"}))
def test_damaged_chunks_give_a_value_or_an_error(
    registry: EncodingRegistry, context: DecodeContext, name: str
) -> None:
    stored = encoded(registry, name)
    chunks = stored.chunks()
    for _ in range(25):
        data = chunks.data.copy()
        data[RNG.integers(0, min(len(data), 64), 3)] = RNG.integers(0, 256, 3)
        damaged = MiniBlockChunks(data, chunks.starts, chunks.sizes, chunks.counts)
        at = some_of(damaged)
        try:
            assert take(stored.encoding, damaged, at, context).count == len(at.chunk)
        except CorruptFileError:
            continue
