"""Damaged messages and bytes end in a typed error or in values, and claim no memory for nothing."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError

from lance_core._pb.encodings_v2_1_pb2 import CompressiveEncoding
from lance_core.encodings.context import DecodeContext
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    Encoded,
    MiniBlockChunks,
    PerValue,
    Place,
    Source,
    Target,
    decode,
    encode,
)
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

COUNT = 2500
MUTANTS = 60
NUMBERS = FixedWidth.of(np.repeat(np.arange(COUNT // 5, dtype=np.uint32), 5))
TEXTS = [b"some text %d" % (n % 90) for n in range(COUNT)]
TEXT = VariableWidth(
    np.cumsum([0, *map(len, TEXTS)]).astype(np.int32), pa.py_buffer(b"".join(TEXTS))
)
FEW = 300
FEW_TEXTS = VariableWidth(TEXT.offsets[: FEW + 1], TEXT.data)
"""Where each value is compressed by itself."""
BITS = pa.py_buffer(bytes(range(256)) * 4)
LISTS = FixedSizeListValues((BITS, None), NUMBERS, (5, 4), COUNT // 20)
STRUCTS = StructValues((NUMBERS, NUMBERS), COUNT)
MIXED = StructValues((NUMBERS, TEXT), COUNT)

CASES: list[tuple[Place, str, Values]] = [
    (Place.MINI_BLOCK, "flat", NUMBERS),
    (Place.MINI_BLOCK, "inline_bitpacking", NUMBERS),
    (Place.MINI_BLOCK, "rle", NUMBERS),
    (Place.MINI_BLOCK, "byte_stream_split", NUMBERS),
    (Place.MINI_BLOCK, "general flat", NUMBERS),
    (Place.MINI_BLOCK, "variable", TEXT),
    (Place.MINI_BLOCK, "fsst variable", TEXT),
    (Place.MINI_BLOCK, "general fsst variable", TEXT),
    (Place.MINI_BLOCK, "fixed_size_list", LISTS),
    (Place.MINI_BLOCK, "packed_struct flat", STRUCTS),
    (Place.BLOCK, "flat", NUMBERS),
    (Place.BLOCK, "out_of_line_bitpacking", NUMBERS),
    (Place.BLOCK, "rle", NUMBERS),
    (Place.BLOCK, "variable", TEXT),
    (Place.BLOCK, "general variable", TEXT),
    (Place.BLOCK, "constant", FixedWidth.of(np.full(COUNT, 7, np.uint64))),
    (Place.PER_VALUE, "flat", NUMBERS),
    (Place.PER_VALUE, "fixed_size_list", LISTS),
    (Place.PER_VALUE, "variable", TEXT),
    (Place.PER_VALUE, "fsst variable", TEXT),
    (Place.PER_VALUE, "general variable", FEW_TEXTS),
    (Place.PER_VALUE, "variable_packed_struct", MIXED),
]


def source_of(encoded: Encoded, place: Place, count: int) -> Source:
    if place is Place.MINI_BLOCK:
        return encoded.chunks()
    if place is Place.BLOCK:
        return Block(encoded.buffers[0], count)
    assert encoded.payload is not None
    return PerValue(encoded.payload)


def damaged(octets: bytes, chance: random.Random) -> bytes:
    """With some bytes changed, taken away or added."""
    result = bytearray(octets)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(result)) if result else 0
        match chance.randrange(4):
            case 0 if result:
                result[at] ^= 1 << chance.randrange(8)
            case 1 if result:
                result[at] = chance.choice((0, 1, 127, 128, 255))
            case 2:
                del result[at : at + chance.randint(1, 9)]
            case _:
                result[at:at] = chance.randbytes(chance.randint(1, 9))
    return bytes(result)


def mutant(source: Source, chance: random.Random) -> Source:
    """Other bytes, sizes, or numbers of values; raises `CorruptFileError` for impossible ones."""
    if isinstance(source, Block):
        data = pa.py_buffer(damaged(source.data.to_pybytes(), chance))
        count = chance.choice((source.count, source.count, 0, source.count + 1, 1 << 40))
        return Block(data, count)
    if isinstance(source, PerValue):
        payload = source.payload
        data = pa.py_buffer(damaged(payload.data.to_pybytes(), chance))
        if isinstance(payload, FixedWidth):
            return PerValue(FixedWidth(data, payload.bits, payload.count))
        return PerValue(VariableWidth.checked(payload.offsets, data))
    octets = np.frombuffer(damaged(source.data.tobytes(), chance), np.uint8)
    sizes, starts, counts = source.sizes.copy(), source.starts.copy(), source.counts.copy()
    for changed in (sizes, starts, counts):
        if chance.random() < 0.2:
            place = chance.randrange(changed.size)
            changed.reshape(-1)[place] = chance.choice((0, 1, 7, 4096, 1 << 15, 1 << 40))
    return MiniBlockChunks(octets, starts, sizes, counts)


def outcome(message: CompressiveEncoding, source: Source, context: DecodeContext) -> Any:
    """The values as Arrow arrays, completely checked, or None if they were refused."""
    try:
        values = decode(message, source, context)
    except (CorruptFileError, UnsupportedFeatureError):
        return None
    assert values.count == source.count
    if isinstance(values, VariableWidth):
        values.to_arrow(pa.large_binary()).validate(full=True)
    return values


@pytest.mark.parametrize(("place", "chain", "values"), CASES)
def test_damage_ends_in_a_typed_error_or_in_values(
    registry: EncodingRegistry, context: DecodeContext, place: Place, chain: str, values: Values
) -> None:
    encoded = encode(values, Target(place, registry, tuple(chain.split()), "lz4"))
    whole = source_of(encoded, place, values.count)
    assert outcome(encoded.encoding, whole, context) is not None
    stored = encoded.encoding.SerializeToString()
    tracemalloc.start()
    for seed in range(MUTANTS):
        chance = random.Random(f"{place}{chain}{seed}")
        message, source = encoded.encoding, whole
        try:
            if seed % 2:
                message = CompressiveEncoding.FromString(damaged(stored, chance))
            if seed % 3:
                source = mutant(whole, chance)
        except (CorruptFileError, DecodeError):
            continue
        outcome(message, source, context)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 256 << 20


def test_encodings_within_each_other_without_end_are_refused(context: DecodeContext) -> None:
    message = CompressiveEncoding()
    inner = message
    for _ in range(60):
        inner = inner.fsst.values
        inner.SetInParent()
    with pytest.raises(CorruptFileError):
        decode(message, PerValue(TEXT), context)
    lists = CompressiveEncoding()
    inner = lists
    for _ in range(60):
        inner.fixed_size_list.items_per_value = 1
        inner = inner.fixed_size_list.values
    with pytest.raises(CorruptFileError, match="nested too deep"):
        decode(lists, Block(pa.py_buffer(b"1234"), 1), context)


@pytest.mark.parametrize(
    ("key", "count"), [("flat", 1 << 50), ("variable", 1 << 50), ("constant", 1 << 50)]
)
def test_a_count_that_the_bytes_are_too_few_for_is_refused(
    registry: EncodingRegistry, context: DecodeContext, key: str, count: int
) -> None:
    values: Values = TEXT if key == "variable" else FixedWidth.of(np.zeros(9, np.uint64))
    encoded = encode(values, Target(Place.BLOCK, registry, (key,)))
    with pytest.raises(CorruptFileError):
        decode(encoded.encoding, Block(encoded.buffers[0], count), context)


def test_many_compressed_chunks_cannot_claim_more_together_than_they_can_hold(
    registry: EncodingRegistry, context: DecodeContext
) -> None:
    zeros = FixedWidth.of(np.zeros(1 << 20, np.uint64))
    encoded = encode(zeros, Target(Place.MINI_BLOCK, registry, ("general", "flat"), "zstd"))
    chunks = encoded.chunks()
    data = chunks.data.copy()
    for start in chunks.starts[0].tolist():
        data[start : start + 8] = np.frombuffer((60 << 20).to_bytes(8, "little"), np.uint8)
    with pytest.raises(CorruptFileError):
        decode(encoded.encoding, replace(chunks, data=data), context)


def test_an_encoding_is_refused_where_it_does_not_occur(
    registry: EncodingRegistry, context: DecodeContext
) -> None:
    encoded = encode(NUMBERS, Target(Place.BLOCK, registry, ("out_of_line_bitpacking",)))
    with pytest.raises(UnsupportedFeatureError, match="does not occur in the values"):
        decode(encoded.encoding, PerValue(NUMBERS), context)
    with pytest.raises(UnsupportedFeatureError, match="does not occur in a block"):
        encode(NUMBERS, Target(Place.BLOCK, registry, ("byte_stream_split",)))


def test_structs_of_variable_width_are_refused_in_older_files(
    registry: EncodingRegistry, context: DecodeContext
) -> None:
    target = Target(Place.PER_VALUE, registry, ("variable_packed_struct",))
    encoded = encode(MIXED, target)
    assert encoded.payload is not None
    older = replace(context, version=FileVersion.V2_1)
    with pytest.raises(CorruptFileError, match=r"version 2\.1"):
        decode(encoded.encoding, PerValue(encoded.payload), older)
