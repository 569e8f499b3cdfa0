"""What is encoded is decoded to the same values, in every place an encoding has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_core.encodings.context import DecodeContext
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_1.codecs.base import (
    Block,
    PerValue,
    Place,
    Source,
    Target,
    decode,
    encode,
)
from lance_core.encodings.v2_1.codecs.dictionary import distinct
from lance_core.encodings.v2_1.codecs.values import (
    FixedSizeListValues,
    FixedWidth,
    StructValues,
    Values,
    VariableWidth,
)

SOME = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
COUNTS = st.one_of(st.integers(0, 20), st.integers(1000, 5000))


def numbers(bits: int, count: int, seed: int) -> FixedWidth:
    """Numbers of all sizes, with runs."""
    chance = np.random.default_rng(seed)
    top = chance.integers(0, bits, 1 + count // 700)
    widths = np.repeat(top, 700)[:count].astype(np.uint64)
    words = chance.integers(0, 1 << 63, count, np.uint64) & ((np.uint64(1) << widths) - 1)
    longest = int(chance.integers(1, 600))
    words = np.repeat(words, chance.integers(1, longest + 1, count))[:count]
    return FixedWidth.of(words.astype(f"<u{bits // 8}"))


def bits_of(count: int, seed: int) -> FixedWidth:
    bits = np.random.default_rng(seed).integers(0, 2, count)
    return FixedWidth(pa.py_buffer(np.packbits(bits, bitorder="little")), 1, count)


def strings(count: int, seed: int, large: bool = False) -> VariableWidth:
    chance = np.random.default_rng(seed)
    words = [b"", b"one", b"twotwo", b"three" * 9, bytes([0, 255, 254]), b"x" * 300]
    texts = [words[k] for k in chance.integers(0, len(words), count)]
    offsets = np.cumsum([0, *map(len, texts)])
    data = pa.py_buffer(b"".join(texts))
    return VariableWidth(offsets if large else offsets.astype(np.int32), data)


def lists(bits: int, sizes: tuple[int, ...], count: int, seed: int) -> FixedSizeListValues:
    chance = np.random.default_rng(seed)
    validity, items = [], count
    for size in sizes:
        items *= size
        bitmap = bits_of(items, seed + size).data
        validity.append(bitmap if chance.random() < 0.6 else None)
    values = bits_of(items, seed) if bits == 1 else numbers(bits, items, seed)
    return FixedSizeListValues(tuple(validity), values, sizes, count)


def as_lists(values: Values) -> Any:
    """Something that can be compared."""
    if isinstance(values, FixedWidth):
        if values.bits == 1:
            octets = values.octets()
            return np.unpackbits(octets, bitorder="little", count=values.count).tolist()
        return values.octets().tobytes()
    if isinstance(values, VariableWidth):
        return values.to_arrow(pa.large_binary()).to_pylist()
    if isinstance(values, StructValues):
        return [as_lists(child) for child in values.children]
    counts = np.cumprod([values.count, *values.dimensions])[1:].tolist()
    bitmaps = [
        None if bitmap is None else as_lists(FixedWidth(bitmap, 1, count))
        for bitmap, count in zip(values.validity, counts, strict=True)
    ]
    return bitmaps, as_lists(values.values)


def back(values: Values, target: Target, context: DecodeContext) -> Values:
    encoded = encode(values, target)
    source: Source
    if target.place is Place.MINI_BLOCK:
        source = encoded.chunks()
    elif target.place is Place.BLOCK:
        source = Block(encoded.buffers[0], values.count)
    else:
        assert encoded.payload is not None
        source = PerValue(encoded.payload)
    return decode(encoded.encoding, source, context)


FIXED_CHAINS = [
    (Place.MINI_BLOCK, ("flat",)),
    (Place.MINI_BLOCK, ("inline_bitpacking",)),
    (Place.MINI_BLOCK, ("rle",)),
    (Place.MINI_BLOCK, ("general", "flat")),
    (Place.MINI_BLOCK, ("general", "rle")),
    (Place.MINI_BLOCK, ("general", "inline_bitpacking")),
    (Place.BLOCK, ("flat",)),
    (Place.BLOCK, ("out_of_line_bitpacking",)),
    (Place.BLOCK, ("rle",)),
    (Place.BLOCK, ("general", "rle")),
    (Place.PER_VALUE, ("flat",)),
]


@pytest.mark.parametrize(("place", "chain"), FIXED_CHAINS)
@pytest.mark.parametrize("scheme", ["lz4", "zstd"])
@SOME
@given(st.sampled_from([8, 16, 32, 64]), COUNTS, st.integers(0, 1 << 30))
def test_numbers_come_back(
    registry: EncodingRegistry,
    context: DecodeContext,
    place: Place,
    chain: tuple[str, ...],
    scheme: str,
    bits: int,
    count: int,
    seed: int,
) -> None:
    values = numbers(bits, count, seed)
    got = back(values, Target(place, registry, chain, scheme), context)
    assert as_lists(got) == as_lists(values)


@pytest.mark.parametrize("chain", [("byte_stream_split",), ("general", "byte_stream_split")])
@SOME
@given(st.sampled_from([32, 64]), COUNTS, st.integers(0, 1 << 30))
def test_split_numbers_come_back(
    registry: EncodingRegistry,
    context: DecodeContext,
    chain: tuple[str, ...],
    bits: int,
    count: int,
    seed: int,
) -> None:
    values = numbers(bits, count, seed)
    got = back(values, Target(Place.MINI_BLOCK, registry, chain), context)
    assert as_lists(got) == as_lists(values)


@SOME
@given(COUNTS, st.integers(0, 1 << 30), st.sampled_from([Place.MINI_BLOCK, Place.BLOCK]))
def test_bits_come_back(
    registry: EncodingRegistry, context: DecodeContext, count: int, seed: int, place: Place
) -> None:
    values = bits_of(count, seed)
    assert as_lists(back(values, Target(place, registry, ("flat",)), context)) == as_lists(values)


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize(
    "chain",
    [("variable",), ("fsst", "variable"), ("general", "variable"), ("general", "fsst", "variable")],
)
@SOME
@given(st.integers(0, 1500), st.integers(0, 1 << 30), st.booleans())
def test_strings_come_back(
    registry: EncodingRegistry,
    context: DecodeContext,
    place: Place,
    chain: tuple[str, ...],
    count: int,
    seed: int,
    large: bool,
) -> None:
    values = strings(count, seed, large)
    got = back(values, Target(place, registry, chain), context)
    assert as_lists(got) == as_lists(values)
    assert isinstance(got, VariableWidth)
    assert got.offset_bits == (64 if large else 32)


@pytest.mark.parametrize("place", [Place.MINI_BLOCK, Place.PER_VALUE])
@SOME
@given(
    st.sampled_from([1, 8, 32, 64]),
    st.sampled_from([(1,), (3,), (8,), (2, 3), (5, 1, 4)]),
    st.integers(0, 900),
    st.integers(0, 1 << 30),
)
def test_lists_of_fixed_size_come_back(
    registry: EncodingRegistry,
    context: DecodeContext,
    place: Place,
    bits: int,
    sizes: tuple[int, ...],
    count: int,
    seed: int,
) -> None:
    values = lists(bits, sizes, count, seed)
    got = back(values, Target(place, registry, ("fixed_size_list",)), context)
    assert as_lists(got) == as_lists(values)


@SOME
@given(COUNTS, st.integers(0, 1 << 30), st.booleans())
def test_packed_structs_come_back(
    registry: EncodingRegistry, context: DecodeContext, count: int, seed: int, compress: bool
) -> None:
    values = StructValues((numbers(64, count, seed), numbers(16, count, seed + 1)), count)
    chain = ("general",) * compress + ("packed_struct", "flat")
    got = back(values, Target(Place.MINI_BLOCK, registry, chain), context)
    assert as_lists(got) == as_lists(values)


@SOME
@given(st.integers(0, 900), st.integers(0, 1 << 30), st.booleans())
def test_packed_structs_of_variable_width_come_back(
    registry: EncodingRegistry, context: DecodeContext, count: int, seed: int, large: bool
) -> None:
    children = (strings(count, seed, large), numbers(32, count, seed), strings(count, seed + 1))
    values = StructValues(children, count)
    got = back(values, Target(Place.PER_VALUE, registry, ("variable_packed_struct",)), context)
    assert as_lists(got) == as_lists(values)


def test_equal_values_take_no_bytes(registry: EncodingRegistry, context: DecodeContext) -> None:
    values = FixedWidth.of(np.full(5000, 77, np.uint32))
    target = Target(Place.BLOCK, registry, ("constant",))
    assert encode(values, target).buffers[0].size == 0
    assert as_lists(back(values, target, context)) == as_lists(values)


def test_a_dictionary_has_each_value_once() -> None:
    for values in (strings(500, 1), strings(500, 1, True), numbers(64, 500, 1)):
        indices, items = distinct(values)
        kind = pa.binary(8) if isinstance(values, FixedWidth) else pa.large_binary()
        plain = items.to_arrow(kind)
        assert len(plain) == len(plain.unique())
        assert plain.take(pa.array(indices.words())).equals(values.to_arrow(kind))
