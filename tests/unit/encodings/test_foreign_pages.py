"""Pages in an encoding of a plugin: what damage does, and a plugin that does not do its work."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core._pb.foreign_pb2 import ForeignValues
from lance_core.byte_ranges import ByteRange
from lance_core.encodings.decoding import RowIndices, RowRange, decode_in_memory
from lance_core.encodings.page import Column, ForeignEncoding, Page
from lance_core.encodings.plugin_values.foreign_blocks import (
    ForeignBlocks,
    encode_blocks,
    parse_foreign,
    without_nulls,
)
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion
from lance_core.errors import (
    CorruptFileError,
    LanceError,
    PluginNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.plugins.builtin import lance_encodings
from lance_core_testing.encodings.stored_field import StoredField
from lance_core_testing.mutants import mutants, mutate_message
from tests.each_case import each_case
from tests.unit.encodings.plugin_values.test_value_encoding import ASKED, SPEC, field

VERSIONS = [FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2]
ITEM = pa.field("item", pa.int64(), metadata=ASKED)
LISTS = pa.array([[1, 2], None, [], [3, None, 5]] * 50, pa.list_(ITEM))
NUMBERS = pa.array([None if n % 7 == 0 else n for n in range(500)])
SMALL = dataclasses.replace(SPEC, block_values=64)


def registry(*specs: Any) -> EncodingRegistry:
    every = [*lance_encodings(), *specs]
    return EncodingRegistry(("some", spec) for spec in every)


def stored(array: pa.Array, version: FileVersion) -> StoredField:
    asked = field(array.type, None if pa.types.is_nested(array.type) else ASKED)
    return StoredField.write(asked, [array], registry(SMALL), version)


def read(from_: StoredField) -> list[pa.Array]:
    count = from_.columns[0].num_rows
    from_.read(RowIndices(np.arange(0, count, 3)))
    return from_.read(RowRange(0, count))


def with_pages(found: StoredField, change: Callable[[Page], Page]) -> StoredField:
    """The same field with its last column's pages changed."""
    *others, last = found.columns
    pages = tuple(map(change, last.pages))
    fresh = [Column(one.pages, one.buffers, one.encoding) for one in others]
    columns = [*fresh, Column(pages, last.buffers, last.encoding)]
    return dataclasses.replace(found, columns=columns)


@each_case("version", VERSIONS, ids=str)
@each_case("array", [NUMBERS, LISTS], ids=["numbers", "lists"])
def test_damaged_pages_do_no_worse_than_an_error(array: pa.Array, version: FileVersion) -> None:
    chance = random.Random(5)
    found = stored(array, version)
    assert pa.concat_arrays(read(found)).equals(array)

    def damaged(page: Page) -> Page:
        encoding = type(page.encoding)()
        encoding.CopyFrom(page.encoding)  # type: ignore[arg-type]
        mutate_message(encoding, chance)  # type: ignore[arg-type]
        return dataclasses.replace(page, encoding=encoding)

    for _ in range(150):
        check(with_pages(found, damaged))
    for mutant in mutants(found.data, 150, seed=3):
        check(dataclasses.replace(with_pages(found, lambda page: page), data=mutant.data))


def check(found: StoredField) -> None:
    try:
        for array in read(found):
            array.validate(full=True)
    except LanceError:
        pass


@each_case(
    "change",
    [
        {"values_per_block": 0},
        {"values_per_block": 1 << 30},
        {"num_values": 1 << 60},
        {"num_values": 65},
        {"num_values": 129},
    ],
    ids=str,
)
def test_a_message_that_contradicts_itself_is_refused(change: dict[str, int]) -> None:
    message, _ = encode_blocks(pa.array(range(128)), SMALL)
    assert parse_foreign(message.SerializeToString()) == message
    for name, value in change.items():
        setattr(message, name, value)
    if change == {"num_values": 65}:  # as many blocks, but fewer values: seen from around
        assert parse_foreign(message.SerializeToString()).num_values == 65
        return
    with pytest.raises(CorruptFileError):
        parse_foreign(message.SerializeToString())


def test_blocks_that_are_longer_than_their_buffer_are_refused() -> None:
    message, data = encode_blocks(pa.array(range(128)), SMALL)
    ForeignBlocks.of(message, SMALL, pa.int64(), ByteRange(0, data.size))
    with pytest.raises(CorruptFileError, match="blocks take 1024 bytes, but their buffer has 1023"):
        ForeignBlocks.of(message, SMALL, pa.int64(), ByteRange(0, data.size - 1))
    message.block_bytes[0] = (1 << 64) - 1
    with pytest.raises(CorruptFileError):
        ForeignBlocks.of(message, SMALL, pa.int64(), ByteRange(0, data.size))


def test_not_a_message_is_refused() -> None:
    with pytest.raises(CorruptFileError, match="not a valid ForeignValues"):
        parse_foreign(b"\xff")


@each_case(
    "decoder",
    [
        lambda data, type_, count: None,
        lambda data, type_, count: pa.array([1] * (count - 1)),
        lambda data, type_, count: pa.array([1.5] * count),
        lambda data, type_, count: pa.array([None] * count, type_),
        lambda data, type_, count: 1 / 0,
        lambda data, type_, count: np.empty(1 << 60),
    ],
)
def test_a_plugin_that_gives_something_else_ends_in_an_error(decoder: Any) -> None:
    spec = dataclasses.replace(SPEC, decoder=decoder)
    message, data = encode_blocks(pa.array(range(128)), spec)
    blocks = ForeignBlocks.of(message, spec, pa.int64(), ByteRange(0, data.size))
    with pytest.raises(CorruptFileError, match="encoding '/example"):
        decode_in_memory(blocks.decode(slice(0, 128), 0), data)


def test_single_values_are_taken_where_the_plugin_can_and_few_are_wanted() -> None:
    taken: list[list[int]] = []

    def take(data: pa.Buffer, type_: pa.DataType, count: int, at: np.ndarray) -> pa.Array:
        taken.append(at.tolist())
        return pa.array(np.frombuffer(data, np.int64)[at], type_)

    spec = dataclasses.replace(SMALL, take=take)
    message, data = encode_blocks(pa.array(range(640)), spec)
    blocks = ForeignBlocks.of(message, spec, pa.int64(), ByteRange(0, data.size))
    for where in (slice(65, 66), slice(63, 66), np.array([0, 7, 639]), np.arange(64, 128, 8)):
        found = decode_in_memory(blocks.decode(where, 0), data).to_pylist()
        assert found == np.arange(640)[where].tolist()
    assert taken == [[1], [63], [0, 1], [0, 7], [63]]
    odd = dataclasses.replace(SMALL, take=lambda *_: pa.array([None], pa.int64()))
    blocks = ForeignBlocks.of(message, odd, pa.int64(), ByteRange(0, data.size))
    with pytest.raises(CorruptFileError, match="encoding '/example"):
        decode_in_memory(blocks.decode(slice(0, 1), 0), data)


def test_only_the_blocks_of_wanted_values_are_read() -> None:
    message, data = encode_blocks(pa.array(range(640)), SMALL)
    blocks = ForeignBlocks.of(message, SMALL, pa.int64(), ByteRange(1000, 1000 + data.size))
    assert list(next(blocks.decode(slice(65, 66), 0))) == [ByteRange(1512, 2024)]
    asked = list(next(blocks.decode(np.array([0, 63, 639]), 0)))
    assert asked == [ByteRange(1000, 1512), ByteRange(5608, 6120)]
    assert decode_in_memory(blocks.decode(slice(7, 7), 0), data).equals(pa.array([], pa.int64()))


def test_a_null_is_stored_as_the_value_before_it() -> None:
    assert without_nulls(pa.array([None, 4, None, None, 6])).to_pylist() == [4, 4, 4, 4, 6]
    with pytest.raises(UnsupportedFeatureError):
        without_nulls(pa.nulls(3, pa.int64()))


@each_case("version", VERSIONS, ids=str)
def test_without_the_plugin_the_error_says_what_to_install(version: FileVersion) -> None:
    found = dataclasses.replace(stored(LISTS, version), registry=registry())
    wanted = r"field 'x\.item'.*'/example\.org/plain'.*pip install lance-core-plain"
    with pytest.raises(PluginNotFoundError, match=wanted):
        read(found)


@each_case("version", VERSIONS, ids=str)
def test_a_page_described_by_a_message_of_others_is_not_taken_for_damage(
    version: FileVersion,
) -> None:
    foreign = ForeignEncoding("/example.org.Page", b"")
    found = with_pages(
        stored(NUMBERS, version), lambda page: dataclasses.replace(page, encoding=foreign)
    )
    with pytest.raises(PluginNotFoundError, match=r"field 'x'.*'/example\.org\.Page'"):
        read(found)


def test_the_message_says_what_is_in_the_page() -> None:
    message, data = encode_blocks(pa.array(range(100)), SMALL)
    assert message == ForeignValues(
        type_url="/example.org/plain",
        distribution="lance-core-plain",
        num_values=100,
        values_per_block=64,
        block_bytes=[512, 800 - 512],
    )
    assert data.size == 800
