"""BLOOMFILTER: hashes, filters, the rows that queries find, merges, and damaged files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core_indices.bloom_filter as module
from lance_core.encodings.version import FileVersion
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.index.base import IndexPart, Precision
from lance_core.index.queries import InRange, IsIn, IsNull, StartsWith
from lance_core.index.split_block_filter import build_filters, filter_bytes
from lance_core.index.xxhash64 import hash_array
from lance_core.table.indices.row_set import EMPTY
from lance_core_indices.bloom_filter import FILE, BloomFilter, OpenBloomFilter
from tests.indices.bitmap_folders import Rows
from tests.indices.zone_rows import (
    BuiltIndex,
    Compaction,
    addresses,
    build,
    live_rows,
)

KIND = BloomFilter()


def some_values(count: int, seed: int) -> dict[str, pa.Array]:
    """Values of each type of filters, in clusters, with nulls."""
    random = np.random.default_rng(seed)
    numbers = np.sort(random.integers(-100, 100, count))
    absent = random.random(count) < 0.15
    absent[10:30] = True
    texts = [f"{number}" * (number % 30) for number in (numbers + 100).tolist()]
    return {
        "int8": pa.array(numbers.astype(np.int8), mask=absent),
        "uint16": pa.array((numbers + 100).astype(np.uint16), mask=absent),
        "float32": pa.array(numbers.astype(np.float32) / 4, mask=absent),
        "float64": pa.array(np.where(numbers == 0, np.nan, numbers / 4), mask=absent),
        "time32": pa.array((numbers + 100).astype(np.int32), pa.time32("s"), mask=absent),
        "timestamp": pa.array(numbers, pa.timestamp("us", "UTC"), mask=absent),
        "date64": pa.array(numbers * 86_400_000, pa.date64(), mask=absent),
        "large_string": pa.array(texts, pa.large_string(), mask=absent),
        "binary": pa.array([text.encode() for text in texts], mask=absent),
    }


def check(index: OpenBloomFilter, rows: Rows) -> int:
    """Look each value up; returns how many rows were avoided."""
    present = np.flatnonzero(rows.values.is_valid())
    avoided = 0
    for places in (present[:1], present[-1:], present[::17], present):
        found = index.search(IsIn(rows.values.take(pa.array(places))))
        hits = found.rows.contains(rows.numbers)
        assert hits[places].all(), rows.type
        assert found.nulls is None
        avoided += len(hits) - int(hits.sum())
    nulls = index.search(IsNull(), with_nulls=True)
    assert nulls.nulls == EMPTY
    absent = np.asarray(rows.values.is_null())
    assert nulls.rows.numbers().tolist() == rows.numbers[absent].tolist()
    return avoided


def test_hashes_are_those_of_the_specification() -> None:
    # The test vectors of the reference, and values that other readers of Bloom filters publish.
    known = {
        b"": 0xEF46DB3751D8E999,
        b"a": 0xD24EC4F1A98C6E5B,
        b"abc": 0x44BC2CF5AD770999,
        b"xxhash": 0x32DD38952C4BC720,
    }
    for kind in (pa.binary(), pa.large_binary()):
        values = pa.array([b"x" * 77, *known], kind)[1:]
        assert hash_array(values).tolist() == list(known.values())
    random = np.random.default_rng(0)
    for dtype in ("i1", "u2", "f4", "i8"):
        numbers = random.integers(0, 100, 50).astype(dtype)
        as_bytes = pa.array([number.tobytes() for number in numbers])
        assert (hash_array(pa.array(numbers)[3:]) == hash_array(as_bytes)[3:]).all()
    # Long values are hashed one at a time if they are few, and together if they are many.
    long = [random.bytes(int(size)) for size in random.integers(30, 500, 60)]
    alone = [int(hash_array(pa.array([value]))[0]) for value in long]
    assert hash_array(pa.array(long)).tolist() == alone
    assert alone[0] != alone[1]


def test_a_filter_is_the_smallest_power_of_two_with_the_probability() -> None:
    sizes = {
        (8192, 0.00057): 32768,
        (1, 0.5): 32,
        (1000, 0.01): 2048,
        (10**6, 1e-6): 8 << 20,
        (1 << 40, 0.1): 128 << 20,
    }
    assert {key: filter_bytes(*key) for key in sizes} == sizes
    random = np.random.default_rng(0)
    hashes = random.integers(0, 1 << 63, 2000).astype(np.uint64) * np.uint64(2)
    zones = np.repeat(np.arange(2), 1000)
    filters = build_filters(hashes, zones, 2, 64)
    # As the specification has it: one bit of each of the eight words of one block.
    expected = np.zeros((128, 8), np.uint32)
    salts = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D)
    salts += (0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
    for hash_, zone in zip(hashes.tolist(), zones.tolist(), strict=True):
        block = zone * 64 + ((hash_ >> 32) * 64 >> 32)
        for word, salt in enumerate(salts):
            expected[block, word] |= 1 << (((hash_ & 0xFFFFFFFF) * salt & 0xFFFFFFFF) >> 27)
    assert (filters == expected).all()


def test_filters_hold_every_value_of_their_zones() -> None:
    for seed, version in enumerate((FileVersion.V2_0, FileVersion.V2_2)):
        for name, values in some_values(300, seed).items():
            rows = live_rows(values, 100, 3, seed)
            made = build(KIND, rows, version, number_of_items=16, probability=0.001)
            index = made.open()
            assert isinstance(index, OpenBloomFilter)
            assert check(index, rows) > 400, name
            index.prewarm()
            assert index.nbytes >= 32 * 20


def test_zones_are_stored_with_their_filters() -> None:
    numbers = np.concatenate([addresses(0, [1, 3, 4, 6]), addresses(7, [0, 2]), addresses(2, [9])])
    values = pa.array([1, None, 3, 4, 5, 6, None])
    found = []
    for step in (1, 2, 7):
        made = build(KIND, Rows(values, numbers, step), number_of_items=3, probability=0.25)
        assert made.details == b""
        file = made.folder.reader(FILE)
        assert dict(file.metadata) == {
            "bloomfilter_item": "3",
            "bloomfilter_probability": "0.25",
            "null_bitmap": "1",
        }
        table = file.read()
        kinds = [(field.name, str(field.type), field.nullable) for field in file.schema]
        assert kinds == [
            ("fragment_id", "uint64", False),
            ("zone_start", "uint64", False),
            ("zone_length", "uint64", False),
            ("has_null", "bool", False),
            ("bloom_filter_data", "binary", False),
        ]
        assert [list(row.values())[:4] for row in table.to_pylist()] == [
            [0, 1, 4, True],
            [0, 6, 1, False],
            [7, 0, 3, False],
            [2, 9, 1, True],
        ]
        found.append(table["bloom_filter_data"].to_pylist())
        assert made.open().statistics() == {
            "type": "BloomFilter",
            "num_blocks": 4,
            "number_of_items": 3,
            "probability": 0.25,
        }
    assert found[0] == found[1] == found[2]
    assert [len(one) for one in found[0]] == [32] * 4
    assert found[0][3] == bytes(32)


def test_large_filters_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    values = pa.array(np.arange(2000))
    rows = Rows(values, addresses(5, np.arange(2000)), 999)
    made = build(KIND, rows, number_of_items=100)
    monkeypatch.setattr(module, "MAX_CACHED_BYTES", 1000)
    monkeypatch.setattr(module, "_WINDOW_BYTES", 1500)
    index = made.open()
    assert index.nbytes < 2000
    found = index.search(IsIn(pa.array([0, 1234]))).rows.numbers() - np.uint64(5 << 32)
    assert set(found.tolist()) >= {*range(100), *range(1200, 1300)}
    assert len(found) < 600
    index.prewarm()
    merged = BuiltIndex.empty(KIND, pa.int64())
    KIND.merge([IndexPart(index, Compaction.of(rows.numbers, 2000, 6))], None, merged.output)
    again = merged.open().search(IsIn(pa.array([0, 1234]))).rows.numbers() - np.uint64(6 << 32)
    assert again.tolist() == found.tolist()


def test_filters_follow_their_rows_through_a_compaction() -> None:
    for name, values in some_values(260, 2).items():
        rows = live_rows(values[:200], 60, 0, 2)
        index = build(KIND, rows, number_of_items=16, probability=0.001).open()
        kept = np.random.default_rng(2).random(200) < 0.7
        compaction = Compaction.of(rows.numbers[kept], 37, 50)
        new = live_rows(values[200:], 60, 90, 2)
        merged = BuiltIndex.empty(KIND, values.type)
        assert KIND.merge([IndexPart(index, compaction)], new, merged.output) == b""
        left = Rows(
            pa.concat_arrays([values[:200].filter(pa.array(kept)), new.values]),
            np.concatenate([compaction.now, new.numbers]),
        )
        found = merged.open()
        assert isinstance(found, OpenBloomFilter)
        assert check(found, left) > 200, name
        zones = found.zones()
        assert found.statistics()["num_blocks"] == len(zones)
        assert found.statistics()["number_of_items"] == 16
        has_null = [
            found.search(IsNull()).rows.contains(addresses(int(f), np.arange(s, s + n))).any()
            for f, s, n in zip(
                zones.fragments, zones.starts.tolist(), zones.lengths.tolist(), strict=True
            )
        ]
        assert found.has_null().tolist() == has_null


def stored(columns: dict[str, Any], metadata: dict[str, str] | None = None) -> BuiltIndex:
    """An index of int64 values whose file has these columns instead of the usual ones."""
    made = BuiltIndex.empty(KIND, pa.int64())
    hashes = hash_array(pa.array([1, 2]))
    usual: dict[str, Any] = {
        "fragment_id": pa.array([1, 0], pa.uint64()),
        "zone_start": pa.array([0, 2], pa.uint64()),
        "zone_length": pa.array([4, 3], pa.uint64()),
        "has_null": pa.array([False, False]),
        "bloom_filter_data": pa.array(
            [
                # 96 bytes are no power of two, and filters may have different sizes.
                build_filters(hashes[:1], np.zeros(1, np.int64), 1, 3).tobytes(),
                build_filters(hashes[1:], np.zeros(1, np.int64), 1, 8).tobytes(),
            ]
        ),
    }
    given = {name: one for name, one in (usual | columns).items() if one is not None}
    table = pa.table(given).replace_schema_metadata(metadata)
    with made.output.create(FILE, table.schema) as file:
        file.write(table)
    return made


def test_filters_of_any_size_without_nulls_and_metadata_are_read() -> None:
    index = stored({}).open()
    assert isinstance(index, OpenBloomFilter)
    assert index.statistics()["number_of_items"] == 8192
    assert index.search(IsIn(pa.array([2]))).rows.numbers().tolist() == [2, 3, 4]
    assert len(index.search(IsIn(pa.array([1, 2]))).rows.numbers()) == 7
    with pytest.raises(CorruptFileError, match="no bitmap of null rows"):
        index.search(IsNull())
    merged = BuiltIndex.empty(KIND, pa.int64())
    kept = np.concatenate([addresses(0, [2, 4]), addresses(1, [0, 3])])
    KIND.merge([IndexPart(index, Compaction.of(kept, 9, 5))], None, merged.output)
    found = merged.open()
    assert found.search(IsIn(pa.array([2]))).rows.numbers().tolist() == [5 << 32, (5 << 32) + 1]
    with pytest.raises(CorruptFileError, match="no bitmap of null rows"):
        found.search(IsNull())


def test_damaged_filters_are_refused() -> None:
    one = IsIn(pa.array([1]))
    short = pa.array([1, 2], pa.uint32())
    cases: list[tuple[str, dict[str, Any], dict[str, str]]] = [
        ("zone_length.*uint32", {"zone_length": short}, {}),
        ("has_null.*missing", {"has_null": None}, {}),
        ("type string", {"bloom_filter_data": pa.array(["", ""])}, {}),
        ("has 33 bytes", {"bloom_filter_data": pa.array([bytes(33), bytes(32)])}, {}),
        ("has 0 bytes", {"bloom_filter_data": pa.array([bytes(32), b""])}, {}),
        ("has 0 bytes", {"bloom_filter_data": pa.array([bytes(32), None], pa.binary())}, {}),
        ("beyond", {"zone_start": pa.array([0, 1 << 33], pa.uint64())}, {}),
        ("not a positive number", {}, {"bloomfilter_item": "many"}),
        ("not a probability", {}, {"bloomfilter_probability": "2"}),
        ("not a probability", {}, {"bloomfilter_probability": "nan"}),
    ]
    for reason, columns, metadata in cases:
        with pytest.raises(CorruptFileError, match=reason):
            stored(columns, metadata).open().search(one)


def test_types_queries_and_parameters_are_checked() -> None:
    refused = (pa.bool_(), pa.float16(), pa.duration("s"), pa.decimal128(9, 1), pa.binary(4))
    assert not any(map(KIND.accepts, (*refused, pa.null(), pa.list_(pa.int8()))))
    assert KIND.precision(IsIn(pa.array([1])), pa.int64(), b"") is Precision.AT_MOST
    assert KIND.precision(IsNull(), pa.string(), b"") is Precision.EXACT
    assert KIND.precision(InRange(), pa.int64(), b"") is None
    assert KIND.precision(StartsWith("a"), pa.string(), b"") is None
    assert KIND.precision(IsNull(), pa.bool_(), b"") is None
    KIND.check_parameters({"number_of_items": 1, "probability": 0.5})
    cases: list[tuple[str, dict[str, Any]]] = [
        ("did you mean 'probability'", {"probabilty": 0.1}),
        ("positive integer", {"number_of_items": 0}),
        ("between 0 and 1", {"probability": 0}),
        ("between 0 and 1", {"probability": 1}),
        ("between 0 and 1", {"probability": "0.1"}),
        ("between 0 and 1", {"probability": True}),
    ]
    for reason, parameters in cases:
        with pytest.raises(InvalidInputError, match=reason):
            KIND.check_parameters(parameters)


def test_an_empty_index_finds_nothing() -> None:
    index = build(KIND, Rows(pa.array([], pa.string()), addresses(0, []))).open()
    assert not index.search(IsIn(pa.array(["a"]))).rows
    assert not index.search(IsNull()).rows
    assert index.statistics()["num_blocks"] == 0
