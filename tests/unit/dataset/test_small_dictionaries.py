"""Dictionaries of fragments that together have more items than their index type can number."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.file import LanceFileReader, LanceFileWriter

FRAGMENTS, ROWS = 3, 100


def _words(first: int) -> pa.Array:
    items = pa.array([f"word {first + number}" for number in range(ROWS)])
    indices = [None if number % 17 == 3 else number for number in range(ROWS)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), items)


def _part(place: int) -> pa.RecordBatch:
    words = _words(1000 * place)
    lists = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), words)
    columns = {"w": words, "s": pa.StructArray.from_arrays([words], ["x"]), "l": lists}
    return pa.RecordBatch.from_pydict({"i": range(place * ROWS, (place + 1) * ROWS), **columns})


PARTS = [_part(place) for place in range(FRAGMENTS)]
CONTENT = [row for part in PARTS for row in part.to_pylist()]


@pytest.fixture(params=["2.0", "2.1", "2.2"])
def fragments(request: pytest.FixtureRequest, uri: str) -> lance.LanceDataset:
    for part in PARTS:
        lance.write_dataset(part, uri, mode="append", data_storage_version=request.param)
    return lance.dataset(uri)


def test_rows_of_several_fragments_are_taken_in_any_order(fragments: lance.LanceDataset) -> None:
    for rows in ([299, 0, 150], [0, 150, 299], [150, 0, 150, 103], list(range(140, 60, -1))):
        found = fragments.take(rows)
        found.validate(full=True)
        assert found.to_pylist() == [CONTENT[row] for row in rows]
    assert fragments.scanner().take([299, 0, 150]).to_pylist() == [
        CONTENT[row] for row in (299, 0, 150)
    ]
    everything = fragments.take(list(range(300))[::-1])  # several arrays, with fewer words each
    everything.validate(full=True)
    assert everything.to_pylist() == CONTENT[::-1]


def test_batches_of_exact_size_join_rows_of_several_fragments(
    fragments: lance.LanceDataset,
) -> None:
    batches = list(fragments.to_batches(batch_size=70, strict_batch_size=True))
    assert [batch.num_rows for batch in batches] == [70, 70, 70, 70, 20]
    assert [row for batch in batches for row in batch.to_pylist()] == CONTENT
    # Batches that one array cannot hold are divided.
    divided = list(fragments.to_batches(batch_size=170, strict_batch_size=True))
    assert [batch.num_rows for batch in divided] == [85, 85, 130]
    assert [row for batch in divided for row in batch.to_pylist()] == CONTENT


def test_conditions_compare_words_of_all_fragments(fragments: lance.LanceDataset) -> None:
    assert fragments.to_table(filter="w = 'word 1001' OR i = 250")["i"].to_pylist() == [101, 250]
    assert fragments.count_rows("w IS NULL") == sum(row["w"] is None for row in CONTENT)
    fragments.delete("w IN ('word 5', 'word 2005')")
    assert fragments.count_rows() == 298


def test_one_file_holds_dictionaries_that_do_not_fit_together(tmp_path: Path) -> None:
    path, uri = str(tmp_path / "one.lance"), str(tmp_path / "table")
    with LanceFileWriter(path, PARTS[0].schema) as writer:
        for part in PARTS:
            writer.write_batch(part)
    batches = list(LanceFileReader(path).read_all(batch_size=64).to_batches())
    assert [row for batch in batches for row in batch.to_pylist()] == CONTENT
    dataset = lance.write_dataset(pa.RecordBatchReader.from_batches(PARTS[0].schema, PARTS), uri)
    assert dataset.to_table().to_pylist() == CONTENT
    rows = [299, 0, 150]
    assert dataset.take(rows).to_pylist() == [CONTENT[row] for row in rows]


def test_dictionaries_with_nan_and_null_items_are_written_and_read(tmp_path: Path) -> None:
    items = pa.array([1.5, float("nan"), None, 2.5])
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3], pa.int8()), items)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3, 4, 4, 5], pa.int32()), numbers)
    part = pa.RecordBatch.from_pydict({"n": numbers, "l": lists})
    content = repr(3 * part.to_pylist())  # NaN equals no NaN
    for version in ("2.0", "2.1", "2.2"):
        uri = str(tmp_path / version)
        batches = pa.RecordBatchReader.from_batches(part.schema, [part, part])
        lance.write_dataset(batches, uri, data_storage_version=version)
        dataset = lance.write_dataset(part, uri, mode="append")
        assert repr(dataset.to_table().to_pylist()) == content
        assert repr(dataset.take([14, 2, 1])["n"].to_pylist()) == "[2.5, None, nan]"
        assert dataset.count_rows("n IS NULL") == 6


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_rows_that_a_deletion_leaves_of_one_file_are_read(version: str, uri: str) -> None:
    data = pa.RecordBatchReader.from_batches(PARTS[0].schema, PARTS)
    dataset = lance.write_dataset(data, uri, data_storage_version=version)
    dataset.delete("i % 50 = 7")
    left = [row for row in CONTENT if row["i"] % 50 != 7]
    for column in ("w", "s", "l"):
        found = dataset.to_table([column])
        found.validate(full=True)
        assert found.to_pylist() == [{column: row[column]} for row in left]
    batches = dataset.to_batches(batch_size=64)
    assert [row for batch in batches for row in batch.to_pylist()] == left
