"""Dictionaries of both flavours: indices are in range, items are read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core
from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, Dictionary
from lance_core.encodings import v2_0
from lance_core.encodings.decoding import RowIndices, RowRange
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.v2_0 import dictionary
from lance_core.encodings.v2_0.base import EncodeScope
from lance_core.encodings.v2_0.dictionary import encode_dictionary
from lance_core.encodings.v2_0.selection import few_distinct
from lance_core.errors import CorruptFileError, ResultTooLargeError, UnsupportedFeatureError
from lance_core_testing.encodings.stored_array import StoredArray
from lance_core_testing.encodings.stored_field import StoredField
from tests.each_case import each_case

Store = Callable[..., StoredField]
KEYS = pa.dictionary(pa.int8(), pa.string())


def stored(
    indices: pa.Array, items: pa.Array, type_: pa.DataType, registry: EncodingRegistry
) -> StoredArray:
    scope = EncodeScope(registry)
    message = Dictionary(
        indices=scope.encode("nullable", indices),
        items=scope.encode("binary", items),
        num_dictionary_items=len(items),
    )
    return StoredArray.of(scope.buffers, ArrayEncoding(dictionary=message), type_, len(indices))


@pytest.mark.parametrize("type_", [KEYS, pa.string()], ids=str)
def test_an_index_past_the_items_is_corruption(
    type_: pa.DataType, registry: EncodingRegistry
) -> None:
    kind = pa.int8() if type_ is KEYS else pa.uint8()
    for index in (3, 100) if type_ is KEYS else (4, 255):
        broken = stored(pa.array([0, 1, index], kind), pa.array(["a", "b", "c"]), type_, registry)
        with pytest.raises(CorruptFileError, match=f"index {index} is outside"):
            broken.decode(RowRange(0, 3), registry)
        assert len(broken.decode(RowRange(0, 2), registry)) == 2


def test_a_negative_key_is_corruption(registry: EncodingRegistry) -> None:
    broken = stored(pa.array([0, -1], pa.int8()), pa.array(["a"]), KEYS, registry)
    with pytest.raises(CorruptFileError, match="index -1 is outside"):
        broken.decode(RowRange(0, 2), registry)


def test_a_null_item_becomes_null_keys_and_is_dropped(registry: EncodingRegistry) -> None:
    keys = pa.array([0, 1, 2, 1], pa.int8())
    last = stored(keys, pa.array(["a", "b", None]), KEYS, registry).decode(RowRange(0, 4), registry)
    last.validate(full=True)
    assert last.to_pylist() == ["a", "b", None, "b"]
    assert last.dictionary.to_pylist() == ["a", "b"]
    first = stored(keys, pa.array([None, "b", "c"]), KEYS, registry).decode(
        RowRange(0, 4), registry
    )
    first.validate(full=True)
    assert first.to_pylist() == [None, "b", "c", "b"]


def test_1_based_indices_of_any_width_are_read(registry: EncodingRegistry) -> None:
    for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        array = stored(pa.array([0, 2, 1], kind), pa.array(["a", "b"]), pa.string(), registry)
        assert array.decode(RowRange(0, 3), registry).to_pylist() == [None, "b", "a"]


def test_items_are_asked_for_once(store: Store) -> None:
    field = store(pa.array(["a", "b", None, "c"] * 100))
    (items,) = field.columns[0].pages[0].buffers[1:2]
    assert items.length == 24
    for _ in range(2):
        rows = RowIndices(np.array([1, 2, 399]))
        assert pa.concat_arrays(field.read(rows)).to_pylist() == ["b", None, "c"]
    assert field.asked == 1  # the first time, ends and bytes of the items took two rounds


@each_case("rows", [99, 100, 5000, 50_000])
def test_few_distinct_strings_get_a_dictionary(rows: int) -> None:
    assert (few_distinct(pa.array(["a", None] * (rows // 2 + 1))[:rows], 100) is None) == (
        rows < 100
    )
    cycle = pa.array([str(i % 99) for i in range(rows)])
    assert (few_distinct(cycle, 100) is None) == (rows < 100)
    assert few_distinct(pa.array([str(i % 100) for i in range(rows)]), 100) is None
    assert few_distinct(pa.array([str(i) for i in range(rows)]), 100) is None


@pytest.mark.parametrize("rows", [150, 301, 2000, 9000])
def test_rows_at_the_start_do_not_decide_alone(rows: int) -> None:
    late = pa.array([str(max(0, i - rows + 99)) for i in range(rows)])
    early = pa.array([str(min(i, 98)) for i in range(rows)])
    for texts in (late, early):
        found = few_distinct(texts, 100)
        assert found is not None
        assert found.cast(pa.string()).equals(texts)
    assert few_distinct(pa.array([str(min(i, 99)) for i in range(rows)]), 100) is None


def test_more_items_than_a_byte_counts_never_get_a_dictionary(store: Store) -> None:
    array = pa.array([str(i % 256) for i in range(2000)])
    (page,) = store(array, dictionary_threshold=1000).pages
    assert ArrayEncoding.FromString(page.encoding).HasField("binary")
    array = pa.array([str(i % 255) for i in range(2000)])
    field = store(array, dictionary_threshold=1000)
    assert ArrayEncoding.FromString(field.pages[0].encoding).HasField("dictionary")
    assert pa.concat_arrays(field.read(RowRange(0, 2000))).equals(array)


def test_keys_that_cannot_say_null_are_refused(registry: EncodingRegistry) -> None:
    items = pa.array([str(i) for i in range(128)])
    keys = pa.array([*range(128), None], pa.int8())
    full = pa.DictionaryArray.from_arrays(keys, items)
    with pytest.raises(UnsupportedFeatureError, match="128 items and null"):
        encode_dictionary(full, EncodeScope(registry))


def test_chunks_with_dictionaries_of_their_own_become_one(store: Store) -> None:
    first = pa.array(["a", "b", None]).dictionary_encode()
    second = pa.array(["c", "b", "d"]).dictionary_encode()
    field = store(first, second)
    (array,) = field.read(RowRange(0, 6))
    assert array.to_pylist() == ["a", "b", None, "c", "b", "d"]


@pytest.mark.parametrize("key", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()], ids=str)
def test_chunks_whose_dictionaries_cannot_become_one_are_read_as_one_array(
    key: pa.DataType, tmp_path: Path
) -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array([2, 0, None, 1, 3] * 3, key), pa.array(["a", None, f"{number}", "z"])
        )
        for number in range(3)
    ]
    values = [value for chunk in chunks for value in chunk.to_pylist()]
    data = pa.table({"x": pa.chunked_array(chunks)})
    table = lance_core.write_dataset(data, str(tmp_path / "t"), data_storage_version="2.0")
    assert table.to_table()["x"].to_pylist() == values
    assert table.take([44, 0, 20])["x"].to_pylist() == [values[44], values[0], values[20]]
    batches = table.to_batches(batch_size=4)
    assert [value for batch in batches for value in batch["x"].to_pylist()] == values


def test_chunks_with_more_items_than_keys_are_pages_of_their_own(tmp_path: Path) -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array(range(100), pa.int8()), pa.array([f"{number}-{item}" for item in range(100)])
        )
        for number in range(2)
    ]
    data = pa.table({"x": pa.chunked_array(chunks)})
    table = lance_core.write_dataset(data, str(tmp_path / "t"), data_storage_version="2.0")
    assert table.to_table()["x"].to_pylist() == data["x"].to_pylist()
    assert table.take([199, 0])["x"].to_pylist() == ["1-99", "0-0"]
    backwards = list(range(200))[::-1]
    assert table.take(backwards)["x"].to_pylist() == data["x"].to_pylist()[::-1]
    assert pa.Table.from_batches(table.to_batches())["x"].to_pylist() == data["x"].to_pylist()


@each_case("type_", [pa.string(), pa.large_string(), pa.binary()])
@each_case("count", [1, 2, 3, 25, 99, 255])
@each_case("rows", [1, 5, 999, 70_001])
def test_items_are_taken(type_: pa.DataType, count: int, rows: int) -> None:
    registry = EncodingRegistry(("built-in", spec) for spec in v2_0.specs())
    texts = ["x" * (i % 7) + str(i) for i in range(count)]
    indices = pa.array(np.random.default_rng(rows).integers(0, count + 1, rows).astype(np.uint8))
    page = stored(indices, pa.array(texts).cast(type_), type_, registry)
    got = page.decode(RowRange(0, rows), registry)
    got.validate(full=True)
    assert got.equals(pa.array([None, *texts]).cast(type_).take(indices))


def test_without_index_0_there_are_no_nulls(registry: EncodingRegistry) -> None:
    page = stored(pa.array(np.ones(70_000, np.uint8)), pa.array(["a", "b"]), pa.string(), registry)
    assert page.decode(RowRange(0, 70_000), registry).null_count == 0


def test_more_bytes_than_an_array_can_hold_are_too_many(
    registry: EncodingRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dictionary, "MAX_OFFSET", 1002)
    items = pa.array(["x" * 500, "y"])
    page = stored(pa.array([1, 1, 2, 2, 0, 1, 1, 1], pa.uint8()), items, pa.string(), registry)
    assert len(page.decode(RowRange(0, 5), registry)) == 5
    with pytest.raises(ResultTooLargeError, match="take 1500 bytes"):
        page.decode(RowRange(5, 8), registry)
