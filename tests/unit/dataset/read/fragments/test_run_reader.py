"""Many small fragments are read at once, with the rows and errors of single fragments."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.fragments import run_reader
from lance_core.dataset.read.steps import column_reader
from lance_core.errors import CorruptFileError
from lance_core.store.process_reads import iops_counter
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN
from tests.scan_numbers import tune

VERSIONS = ["2.0", "2.1", "2.2"] if IS_FULL_RUN else ["2.0", "2.2"]
"""The readers of 2.1 and 2.2 are the same."""
ROWS = 400


def rows(first: int = 0) -> pa.Table:
    """Columns of many encodings, in 40 fragments of ten rows."""
    numbers = np.arange(first, first + ROWS)
    words = ["apple", "pear", "plum"]
    return pa.table(
        {
            "i": numbers,
            "n": pa.array([None if i % 3 == 0 else float(i) for i in numbers]),
            "b": numbers % 2 == 0,
            "city": [words[i % (1 + i // 50 % 3)] for i in numbers],
            "text": [None if i % 7 == 0 else f"text {i * 7919} " * 9 for i in numbers],
            "same": pa.array(np.full(ROWS, 7), pa.int32()),
            "lists": pa.array([None if i % 5 == 0 else list(range(i % 4)) for i in numbers]),
            "struct": [{"x": int(i), "y": None if i % 2 else f"y{i}"} for i in numbers],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(4.0 * ROWS)), 4),
            "nothing": pa.nulls(ROWS, pa.string()),
        }
    )


def count_reads(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[int]:
    """The number of rows of each later read by ``module``."""
    counts: list[int] = []
    real = run_reader.read_rows

    def counting(snapshot: Any, source: Any, fields: Any, meta: Any, wanted: Any) -> pa.Table:
        counts.append(len(wanted))
        return real(snapshot, source, fields, meta, wanted)

    monkeypatch.setattr(module, "read_rows", counting)
    return counts


@pytest.fixture(scope="module", params=VERSIONS)
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    uri = str(tmp_path_factory.mktemp("runs") / "table")
    version: str = request.param
    return lance.write_dataset(rows(), uri, max_rows_per_file=10, data_storage_version=version)


def one_by_one(dataset: lance.LanceDataset, **options: Any) -> pa.Table:
    """The rows of a scan of each fragment alone."""
    tables = [fragment.to_table(**options) for fragment in dataset.get_fragments()]
    return pa.concat_tables(tables)


@each_case(
    "options",
    [
        {},
        {"columns": ["text", "i"]},
        {"filter": "i % 3 = 1"},
        {"filter": "i % 40 = 7", "columns": ["text", "lists"], "with_row_id": True},
        {"filter": "city = 'plum' AND n > 20", "with_row_address": True},
        {"columns": [], "with_row_id": True},
        {"filter": "i = 399"},
        {"filter": "i > 1000"},
    ],
)
def test_scans_return_the_rows_of_all_fragments(
    dataset: lance.LanceDataset, options: dict[str, Any]
) -> None:
    expected = one_by_one(dataset, **options)
    found = dataset.to_table(**options)
    assert found.equals(expected)
    assert dataset.count_rows(options.get("filter")) == expected.num_rows
    assert pa.Table.from_batches(dataset.to_batches(**options), expected.schema).equals(expected)


def test_batches_end_with_their_fragment(dataset: lance.LanceDataset) -> None:
    assert [batch.num_rows for batch in dataset.to_batches()] == [10] * 40
    assert [batch.num_rows for batch in dataset.to_batches(batch_size=7)] == [7, 3] * 40
    assert [batch.num_rows for batch in dataset.to_batches(limit=25, offset=5)] == [5, 10, 10]
    found = dataset.to_batches(filter="i % 20 = 3 OR i < 4")
    assert [batch.num_rows for batch in found] == [4, *[1] * 19]


@pytest.mark.fast_path
def test_all_fragments_are_read_by_one_call(
    dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_reads(monkeypatch, column_reader)
    dataset.to_table(["i", "city", "text"])
    assert counts == [ROWS]


@pytest.mark.fast_path
def test_a_stream_begins_with_few_fragments(
    dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_reads(monkeypatch, column_reader)
    assert next(iter(dataset.to_batches(["i", "city"]))).num_rows == 10
    assert counts[0] == 160


@pytest.mark.fast_path
@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_scan_reads_each_small_file_once(tmp_path: Path, version: str) -> None:
    table = rows().select(["i", "n"])
    uri = str(tmp_path / "table")
    lance.write_dataset(table, uri, max_rows_per_file=10, data_storage_version=version)
    dataset = lance.dataset(uri)
    for _ in range(2):
        before = iops_counter()
        assert dataset.to_table(["i"])["i"].to_pylist() == list(range(ROWS))
        assert iops_counter() - before == 40
    assert dataset.to_table() == table


@pytest.mark.parametrize("version", VERSIONS)
def test_deleted_rows_and_columns_in_other_files(tmp_path: Path, version: str) -> None:
    uri = str(tmp_path / "table")
    dataset = lance.write_dataset(rows(), uri, max_rows_per_file=10, data_storage_version=version)
    dataset.add_columns({"twice": "i * 2"})
    dataset = lance.write_dataset(rows(ROWS), uri, mode="append", max_rows_per_file=50)
    dataset.delete("i % 11 = 3 OR (i >= 101 AND i < 112) OR i = 799")
    for options in ({}, {"filter": "twice > 30 OR twice IS NULL", "with_row_id": True}):
        assert dataset.to_table(**options).equals(one_by_one(dataset, **options))
    found = dataset.scanner(columns=["i"], include_deleted_rows=True, with_row_id=True).to_table()
    assert found["i"].to_pylist() == list(range(2 * ROWS))
    assert found["_rowid"].null_count == 2 * ROWS - dataset.count_rows()


def test_an_error_names_the_file_that_has_it(tmp_path: Path) -> None:
    dataset = lance.write_dataset(rows(), str(tmp_path / "table"), max_rows_per_file=10)
    file = dataset.get_fragments()[17].data_files()[0].path
    path = tmp_path / "table" / "data" / file
    content = bytearray(path.read_bytes())
    reader = dataset.snapshot.reader(dataset.snapshot.manifest.fragments[17].files[0])
    place = reader.metadata.columns[0].pages[0].buffers[1]
    content[place.start : place.stop] = b"\xff" * place.length
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=file):
        lance.dataset(tmp_path / "table").to_table()


@pytest.mark.fast_path
def test_few_fragments_of_a_run_are_read_alone(
    dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = []
    real = run_reader.joined_files

    def counting(snapshot: Any, run: Any, number: int) -> Any:
        joined.append(number)
        return real(snapshot, run, number)

    monkeypatch.setattr(run_reader, "joined_files", counting)
    tune(monkeypatch, runs={"first": 40})
    assert dataset.to_table(["text"], filter="i = 123").num_rows == 1
    assert joined == [0]  # for the filter's column


@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries_of_strings_are_joined(tmp_path: Path, version: str) -> None:
    words = [None if i % 5 == 0 else f"word {i % 7 + i // 120}" for i in range(1200)]
    table = pa.table({"i": range(1200), "w": words, "l": pa.array(words, pa.large_string())})
    dataset = lance.write_dataset(
        table, str(tmp_path / "table"), max_rows_per_file=120, data_storage_version=version
    )
    assert dataset.to_table() == table
    found = dataset.to_table(filter="w = 'word 5' OR i % 100 = 3")
    assert found == one_by_one(dataset, filter="w = 'word 5' OR i % 100 = 3")


@pytest.mark.fast_path
def test_takes_return_the_rows_in_their_order(
    dataset: lance.LanceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = count_reads(monkeypatch, run_reader)
    wanted = [*range(399, 0, -7), 5, 5, 11, 12]
    assert dataset.take(wanted).equals(rows().take(wanted).cast(dataset.schema))
    assert len(counts) < 4
    assert sum(counts) == len(set(wanted))
