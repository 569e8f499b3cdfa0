"""Compressive encodings of files that pylance wrote: the values, and the same bytes from us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.encodings.v2_1.codecs.base import Block, PerValue, Place, Target, decode, encode
from lance_core.encodings.v2_1.codecs.values import FixedWidth, VariableWidth, as_fixed
from tests.each_case import each_case
from tests.interop.stored_pages import REGISTRY, StoredPage, context, parts_of, stored

VERSIONS = ("2.1", "2.2")
COUNT = 9000
SCHEMES = {1: "lz4", 2: "zstd"}

chance = np.random.default_rng(7)
WIDE = chance.integers(0, 1 << 62, COUNT)
STEPS = np.cumsum(chance.random(COUNT))
TEXT = pa.array([" ".join(map(str, row)) for row in chance.integers(0, 1 << 40, (COUNT, 2))])
RUNS = np.repeat(WIDE[:120], chance.integers(1, 600, 120))[:COUNT]
DENSE = np.repeat(WIDE[: COUNT // 3], 3)


def lists(values: pa.Array, *sizes: int) -> pa.Array:
    for size in reversed(sizes):
        values = pa.FixedSizeListArray.from_arrays(values, size)
    return values


def nulls(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=chance.random(len(values)) < 0.2)


CHUNKED: dict[str, tuple[pa.Array, dict[str, str]]] = {
    "flat 64": (pa.array(WIDE), {"compression": "none"}),
    "flat 32": (pa.array(WIDE.astype("i4")), {"compression": "none"}),
    "flat 128": (pa.array([b"%016d" % (n >> 20) for n in WIDE[:500]], pa.binary(16)), {}),
    "flat 256": (pa.array(WIDE).cast(pa.decimal256(40, 0)), {}),
    "bits": (pa.array(WIDE % 2 == 0), {}),
    "packed 8": (pa.array((WIDE % 13).astype("u1")), {}),
    "packed 16": (pa.array((WIDE % 1000).astype("i2")), {}),
    "packed 32": (pa.array((WIDE >> chance.integers(32, 60, COUNT)).astype("i4")), {}),
    "packed 64": (pa.array(WIDE >> chance.integers(10, 60, COUNT)), {}),
    "runs 8": (pa.array((RUNS % 7).astype("u1")), {}),
    "runs 16": (pa.array((RUNS % 700).astype("u2")), {}),
    "runs 32": (pa.array(RUNS.astype("i4")), {"rle-threshold": "1.0"}),
    "runs 64": (pa.array(RUNS), {"dict-divisor": "100000"}),
    "short runs": (pa.array(DENSE), {"rle-threshold": "1.0", "dict-divisor": "100000"}),
    "streams 32": (pa.array(STEPS.astype("f4")), {"bss": "on", "compression": "lz4"}),
    "streams 64": (pa.array(STEPS), {"bss": "on", "compression": "zstd"}),
    "text": (TEXT, {"compression": "none"}),
    "large text": (TEXT.cast(pa.large_string()), {"compression": "none"}),
    "large binary": (TEXT.cast(pa.large_binary()), {}),
    "zstd text": (TEXT, {"compression": "zstd"}),
    "lz4 text": (TEXT, {"compression": "lz4"}),
    "small chunks": (TEXT, {"compression": "none", "minichunk-size": "1024"}),
    "lists": (lists(pa.array(STEPS.astype("f4")), 3), {}),
    "lists of nulls": (lists(nulls(STEPS), 3), {}),
    "lists of bits": (lists(pa.array(WIDE % 2 == 0), 3), {}),
    "lists of null bits": (lists(nulls(WIDE % 2 == 0), 5), {}),
    "lists of lists": (lists(nulls(STEPS.astype("f4")), 5, 3), {}),
    "structs": (
        pa.StructArray.from_arrays([pa.array(WIDE), pa.array(STEPS.astype("f2"))], ["a", "b"]),
        {"packed": "true"},
    ),
}
ZIPPED: dict[str, tuple[pa.Array, dict[str, str]]] = {
    "flat": (pa.array(WIDE), {"structural-encoding": "fullzip"}),
    "bits": (pa.array(WIDE % 2 == 0), {"structural-encoding": "fullzip"}),
    "text": (TEXT, {"structural-encoding": "fullzip", "compression": "none"}),
    "zstd text": (TEXT, {"structural-encoding": "fullzip", "compression": "zstd"}),
    "lists": (lists(pa.array(STEPS), 90), {}),
    "lists of nulls": (lists(nulls(STEPS), 90), {}),
    "lists of lists": (lists(nulls(STEPS), 10, 9), {}),
}
DISTINCT: dict[str, pa.Array] = {
    "text": pa.array([f"value {n % 150}" for n in range(COUNT)]),
    "large text": pa.array([f"value {n % 150}" for n in range(COUNT)], pa.large_string()),
    "decimals": pa.array(WIDE % 120).cast(pa.decimal128(20, 0)),
    "integers": pa.array((WIDE % 100) << 50),
}


def target_of(message: Any, place: Place, **options: int) -> Target:
    """The encodings that a message consists of, as an encoder is told them."""
    chain, scheme, level = [], "zstd", None
    while True:
        key = message.WhichOneof("compression")
        chain.append(key)
        inner = getattr(message, key)
        if key == "general":
            scheme = SCHEMES[inner.compression.scheme]
            if inner.compression.HasField("level"):
                level = inner.compression.level
        if key not in ("general", "packed_struct", "fsst"):
            return Target(place, REGISTRY, tuple(chain), scheme, level, **options)
        message = inner.values


def one_page(pages: list[StoredPage]) -> StoredPage:
    (page,) = pages
    return page


@each_case("name", CHUNKED)
@each_case("version", VERSIONS)
def test_chunks_hold_the_values_and_are_written_the_same(
    name: str, version: str, tmp_path: Path
) -> None:
    array, metadata = CHUNKED[name]
    page = one_page(stored(array, tmp_path / "t", version, metadata))
    values = decode(page.values, page.chunks(), context(version))
    got = values.to_arrow(array.type)
    got.validate(full=True)
    assert got.equals(array)
    options = {"chunk_bytes": int(metadata["minichunk-size"])} if name == "small chunks" else {}
    again = encode(values, target_of(page.values, Place.MINI_BLOCK, **options))
    assert again.encoding == page.values
    assert again.counts.tolist() == page.chunks().counts.tolist()
    assert parts_of(again.chunks()) == page.chunk_parts()


@pytest.mark.parametrize("name", ZIPPED)
@pytest.mark.parametrize("version", VERSIONS)
def test_zipped_values_are_read_and_written_the_same(
    name: str, version: str, tmp_path: Path
) -> None:
    array, metadata = ZIPPED[name]
    page = one_page(stored(array, tmp_path / "t", version, metadata))
    payload = page.payload()
    values = decode(page.values, PerValue(payload), context(version))
    assert values.to_arrow(array.type).equals(array)
    if name == "bits":
        packed = np.packbits(as_fixed(values).octets(), bitorder="little")
        values = FixedWidth(pa.py_buffer(packed), 1, len(array))
    again = encode(values, target_of(page.values, Place.PER_VALUE))
    assert again.encoding == page.values
    assert again.payload is not None
    written, found = again.payload.octets(), payload.octets()
    if name in ("lists of nulls", "lists of lists"):
        # Behind the 90 bits of a list the last byte of its bitmap holds anything.
        written, found = written.reshape(len(array), -1), found.reshape(len(array), -1).copy()
        found[:, 11] &= 3
    assert written.tobytes() == found.tobytes()


@pytest.mark.parametrize("place", ["miniblock", "fullzip"])
@pytest.mark.parametrize("version", VERSIONS)
def test_symbols_of_strings_are_looked_up(place: str, version: str, tmp_path: Path) -> None:
    metadata = {"structural-encoding": place, "compression": "fsst"}
    page = one_page(stored(TEXT, tmp_path / "t", version, metadata))
    source = page.chunks() if place == "miniblock" else PerValue(page.payload())
    assert page.values.WhichOneof("compression") == "fsst"
    assert decode(page.values, source, context(version)).to_arrow(TEXT.type).equals(TEXT)


def test_structs_of_variable_width_are_read(tmp_path: Path) -> None:
    vectors = lists(pa.array(np.repeat(STEPS, 3).astype("f4")), 3)
    array = pa.StructArray.from_arrays(
        [pa.array(WIDE), TEXT, vectors, TEXT.cast(pa.large_binary())], ["a", "b", "c", "d"]
    )
    page = one_page(stored(array, tmp_path / "t", "2.2", {"packed": "true"}))
    values = decode(page.values, PerValue(page.payload()), context("2.2"))
    assert values.to_arrow(array.type).equals(array)
    again = encode(values, Target(Place.PER_VALUE, REGISTRY, ("variable_packed_struct",)))
    assert again.payload is not None
    decoded = decode(again.encoding, PerValue(again.payload), context("2.2"))
    assert decoded.to_arrow(array.type).equals(array)


def test_values_of_no_bytes_are_read(tmp_path: Path) -> None:
    array = pa.array([b""] * 10, pa.binary(0))
    page = one_page(stored(array, tmp_path / "t", "2.1"))
    values = decode(page.values, page.chunks(), context("2.1"))
    assert values.to_arrow(array.type).equals(array)


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries_are_blocks(name: str, version: str, tmp_path: Path) -> None:
    array = DISTINCT[name]
    page = one_page(stored(array, tmp_path / "t", version))
    indices = decode(page.values, page.chunks(), context(version))
    if not page.layout.HasField("dictionary"):
        assert (name, version) == ("integers", "2.1")
        return
    block = Block(pa.py_buffer(page.buffers[2]), page.layout.num_dictionary_items)
    items = decode(page.layout.dictionary, block, context(version))
    got = items.to_arrow(array.type).take(pa.array(as_fixed(indices).words()))
    assert got.equals(array)
    assert isinstance(items, FixedWidth | VariableWidth)
    again = encode(items, target_of(page.layout.dictionary, Place.BLOCK))
    assert again.encoding == page.layout.dictionary
    assert again.buffers[0].to_pybytes() == page.buffers[2]


@pytest.mark.parametrize("share", [0.0005, 0.3])
@pytest.mark.parametrize("version", VERSIONS)
def test_definition_levels_are_blocks(share: float, version: str, tmp_path: Path) -> None:
    is_null = chance.random(COUNT) < share
    is_null[5] = True
    array = pa.array(WIDE, mask=is_null)
    page = one_page(stored(array, tmp_path / "t", version, {"compression": "none"}))
    found = page.layout.def_compression
    levels = []
    for data, count in page.definition_blocks():
        values = as_fixed(decode(found, Block(pa.py_buffer(data), count), context(version)))
        again = encode(values, target_of(found, Place.BLOCK, packed_bits=1))
        assert again.buffers[0].to_pybytes() == data
        levels.append(values.words())
    assert (np.concatenate(levels) == is_null).all()
