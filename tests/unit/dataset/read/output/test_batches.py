"""Streams of batches: their sizes, their types, and how much is read ahead."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.scan_tuning import tuning
from lance_core.dataset.read.steps import column_reader
from tests.each_case import each_case
from tests.scan_numbers import tune
from tests.unit.dataset.conftest import Sample

Rows = Callable[..., pa.Table]


def sizes(dataset: lance.LanceDataset, **options: Any) -> list[int]:
    return [batch.num_rows for batch in dataset.to_batches(**options)]


@each_case("size", [1, 7, 26, 27, 30, 88, 89, 90, 1 << 20])
@each_case("columns", [None, ["i", "p.x"], []])
def test_batches_together_are_the_table(sample: Sample, size: int, columns: Any) -> None:
    scanner = sample.dataset.scanner(columns, batch_size=size)
    batches = list(scanner.to_batches())
    assert max(batch.num_rows for batch in batches) <= size
    assert {str(batch.schema) for batch in batches} == {str(scanner.projected_schema)}
    for batch in batches:
        batch.validate(full=True)
    joined = pa.Table.from_batches(batches)
    assert joined.num_rows == sample.live.num_rows
    assert not columns or joined.equals(scanner.to_table())


@each_case("size", [1, 7, 26, 30, 88, 89, 90])
@each_case("options", [{}, {"filter": "i % 3 = 1"}, {"limit": 61, "offset": 20}])
@each_case("columns", [None, ["i"], []])
def test_strict_batches_have_exactly_the_size(
    sample: Sample, size: int, options: dict[str, Any], columns: Any
) -> None:
    options = {"columns": columns, **options}
    found = sizes(sample.dataset, batch_size=size, strict_batch_size=True, **options)
    count = sample.dataset.to_table(**options).num_rows
    assert found == [size] * (count // size) + ([count % size] if count % size else [])


def test_a_batch_is_of_one_fragment_unless_batches_are_strict(sample: Sample) -> None:
    assert sizes(sample.dataset, batch_size=1000) == [27, 30, 23, 9]
    assert sizes(sample.dataset, batch_size=20) == [20, 7, 20, 10, 20, 3, 9]


def test_batches_are_filled_whatever_windows_and_deletes_are(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.write_dataset(some_rows(1000), uri, max_rows_per_file=500)
    dataset.delete("i >= 100 AND i < 120 OR i = 777")
    tune(monkeypatch, stream={"max_bytes": 500})
    assert sizes(dataset, columns=["i"], batch_size=7) == [7] * 68 + [4] + [7] * 71 + [2]
    assert sizes(dataset, columns=["i"], batch_size=7, filter="i % 3 = 0") == [7] * 46 + [5]
    # Rows so large that a window has fewer than a batch do not wait for each other.
    assert max(sizes(dataset, columns=["i"])) < 500


def test_batches_stop_at_the_limit(sample: Sample) -> None:
    assert sizes(sample.dataset, batch_size=20, limit=30, offset=10) == [17, 13]
    assert sizes(sample.dataset, limit=0) == []


def test_a_stream_reads_only_some_windows_ahead(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, stream={"max_bytes": 100})
    dataset = lance.write_dataset(some_rows(1000), uri)
    read: list[int] = []
    real = column_reader.read_rows

    def logged(snapshot: Any, fragment: Any, fields: Any, meta: Any, rows: Any) -> pa.Table:
        read.append(len(rows))
        return real(snapshot, fragment, fields, meta, rows)

    monkeypatch.setattr(column_reader, "read_rows", logged)
    batches = dataset.to_batches(["i"], batch_size=10)
    first = next(batches)
    assert first.num_rows == 10
    assert len(read) <= tuning().ahead.stream_windows + 1
    batches.close()
    assert set(read) == {10}
    assert len(read) <= tuning().ahead.stream_windows + 1


def test_an_error_while_streaming_reaches_the_reader(
    uri: str, some_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.write_dataset(some_rows(100), uri, max_rows_per_file=10)
    real = column_reader.read_rows

    def failing(snapshot: Any, fragment: Any, *rest: Any) -> pa.Table:
        if fragment.id == 5:
            raise MemoryError("enough")
        return real(snapshot, fragment, *rest)

    monkeypatch.setattr(column_reader, "read_rows", failing)
    tune(monkeypatch, runs={"first": 1, "most": 1})
    found: list[int] = []
    numbers = (batch.column(0).to_pylist() for batch in dataset.to_batches(["i"]))
    with pytest.raises(MemoryError, match="enough"):
        found.extend(itertools.chain.from_iterable(numbers))
    assert found == list(range(50))


def test_streams_of_other_libraries_are_served(sample: Sample) -> None:
    assert pa.table(sample.dataset.scanner()).equals(sample.live)
    scanner = sample.dataset.scanner(["i"], filter="i < 5")
    assert pa.table(scanner)["i"].to_pylist() == [1, 2, 4]
    # A scanner may be run as often as one likes.
    assert pa.table(scanner).equals(scanner.to_table())
    reader = pa.RecordBatchReader.from_stream(sample.dataset.scanner())
    assert reader.schema.equals(sample.dataset.schema)


def test_batches_of_dictionaries_join_what_files_have_apart(uri: str) -> None:
    for words in (["a", "b"], ["b", "c"], ["d"]):
        column = pa.array(words * 3).dictionary_encode()
        lance.write_dataset(pa.table({"d": column}), uri, mode="append")
    dataset = lance.dataset(uri)
    strict = list(dataset.to_batches(batch_size=10, strict_batch_size=True))
    assert [batch.num_rows for batch in strict] == [10, 5]
    words = [word for batch in strict for word in batch.column(0).to_pylist()]
    assert words == ["a", "b"] * 3 + ["b", "c"] * 3 + ["d"] * 3
    assert dataset.take([14, 0, 7])["d"].to_pylist() == ["d", "a", "c"]


def test_a_wide_row_range_of_numbers_is_not_copied(uri: str) -> None:
    numbers = np.arange(100_000)
    dataset = lance.write_dataset(pa.table({"n": numbers}), uri, data_storage_version="2.0")
    table = dataset.to_table()
    before = pa.total_allocated_bytes()
    batches = list(dataset.to_batches())
    assert pa.total_allocated_bytes() - before < numbers.nbytes // 10
    assert pa.Table.from_batches(batches).equals(table)
