"""Scans with an order: the rows, how many bytes they read, and the types to sort by."""

from __future__ import annotations

import decimal
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset import ColumnOrdering, ScanStatistics
from lance_core.dataset.read.output import ordered_scan
from lance_core.errors import InvalidInputError, StoreError
from lance_core.index import runs
from tests.each_case import each_case
from tests.scan_numbers import tune
from tests.unit.dataset.conftest import Sample

NAN = float("nan")


@pytest.fixture(params=["two steps", "sorted whole", "sorted on disk"])
def steps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways of sorting, with blocks of few rows."""
    if request.param == "sorted on disk":
        monkeypatch.setenv(ordered_scan.MEMORY_VARIABLE, "600")
        monkeypatch.setattr(runs, "_MIN_BLOCK_BYTES", 100)
    rows = 0 if request.param == "two steps" else 1 << 40
    tune(monkeypatch, sort={"rows_per_winner": rows, "first_rows": 2}, table={"max_rows": 7})


TYPES: dict[str, tuple[pa.Array, list[int]]] = {
    # Values, and their row numbers in ascending order; nulls are last.
    "integers": (pa.array([3, None, -1, 2]), [2, 3, 0, 1]),
    "unsigned": (pa.array([2**64 - 1, 0, 2**63, 1], pa.uint64()), [1, 3, 2, 0]),
    "floats": (pa.array([NAN, 0.0, -0.0, float("-inf"), None, 1.0]), [3, 2, 1, 5, 0, 4]),
    "half floats": (pa.array(np.array([1.5, -2, 0.5], np.float16)), [1, 2, 0]),
    "booleans": (pa.array([True, None, False]), [2, 0, 1]),
    "strings": (pa.array(["b", "é", "", "B", None]), [2, 3, 0, 1, 4]),
    "bytes": (pa.array([b"\xff", b"", b"\x01"], pa.large_binary()), [1, 2, 0]),
    "fixed bytes": (pa.array([b"bb", b"aa", None], pa.binary(2)), [1, 0, 2]),
    "timestamps": (pa.array([5, -5, 0], pa.timestamp("us", "UTC")), [1, 2, 0]),
    "dates": (pa.array([5, -5, None], pa.date32()), [1, 0, 2]),
    "decimals": (pa.array([decimal.Decimal("1.5"), decimal.Decimal("-2.0")]), [1, 0]),
    "dictionaries": (pa.array(["c", "a", None, "b"]).dictionary_encode(), [1, 3, 0, 2]),
    "structs": (pa.array([{"a": 1, "b": 2}, {"a": 1, "b": 1}, {"a": 0, "b": 9}]), [2, 1, 0]),
    "lists": (pa.array([[1, 2], [], [1], [0, 9], None, [1, 1]]), [1, 3, 2, 5, 0, 4]),
    "lists of text": (pa.array([["b"], ["a", "z"], ["a"]]), [2, 1, 0]),
    "vectors": (pa.array([[1, 2], [0, 3], [1, 0]], pa.list_(pa.int16(), 2)), [1, 2, 0]),
}


@pytest.mark.usefixtures("steps")
@each_case("name", sorted(TYPES))
def test_rows_sort_by_values_of_each_type(name: str, tmp_path: Any) -> None:
    values, expected = TYPES[name]
    table = pa.table({"row": range(len(values)), "x": values})
    dataset = lance.write_dataset(table, tmp_path / "table", max_rows_per_file=2)
    for limit in (None, 1, 2, len(values)):
        found = dataset.to_table(["row"], order_by=["x"], limit=limit)
        assert found["row"].to_pylist() == expected[:limit]
    nulls = [row for row in expected if not values[row].is_valid]
    others = [row for row in expected if values[row].is_valid]
    for ascending in (True, False):
        order = others if ascending else others[::-1]
        for nulls_first, rows in ((True, nulls + order), (False, order + nulls)):
            by = ColumnOrdering("x", ascending, nulls_first)
            found = dataset.to_table(["row"], order_by=[by], limit=3)["row"].to_pylist()
            assert found == rows[:3]


@pytest.mark.usefixtures("steps")
def test_an_order_can_have_several_columns_filters_and_limits(sample: Sample) -> None:
    by = [ColumnOrdering("b", ascending=False), "p.y", ColumnOrdering("i", ascending=False)]
    rows = sample.live.to_pylist()
    rows.sort(key=lambda row: (not row["b"], row["p"]["y"], -row["i"]))
    for offset, limit in ((0, None), (0, 5), (3, 20), (90, 10), (2, 0), (5, None)):
        stop = None if limit is None else offset + limit
        expected = [row["i"] for row in rows][offset:stop]
        options = {"order_by": by, "limit": limit, "offset": offset}
        assert sample.dataset.to_table(["i", "s"], **options)["i"].to_pylist() == expected
        batches = sample.dataset.to_batches(["i"], batch_size=4, **options)
        assert [n for batch in batches for n in batch["i"].to_pylist()] == expected
    expected = [row["i"] for row in rows if row["i"] > 40][:3]
    found = sample.dataset.to_table({"a": "i * 2"}, "i > 40", order_by=by, limit=3)
    assert found["a"].to_pylist() == [2 * number for number in expected]
    scanner = sample.dataset.scanner(["l"], order_by=by, limit=3)
    assert scanner.count_rows() == 3
    assert scanner.to_table().schema.equals(scanner.projected_schema, check_metadata=True)
    assert sample.dataset.to_table([], order_by=by, limit=3).num_rows == 3
    found = sample.dataset.to_table(["i"], order_by=by, limit=3, with_row_address=True)
    assert found.column_names == ["i", "_rowaddr"]


@pytest.mark.usefixtures("steps")
def test_equal_rows_stay_in_the_order_of_the_table(sample: Sample) -> None:
    for by in (ColumnOrdering("b"), ColumnOrdering("b", ascending=False)):
        rows = sorted(sample.live.to_pylist(), key=lambda row: row["b"] == by.ascending)
        found = sample.dataset.to_table(["i"], order_by=[by], limit=50)["i"].to_pylist()
        assert found == [row["i"] for row in rows][:50]
    fragments = [sample.dataset.get_fragment(number) for number in (2, 0)]
    found = sample.dataset.to_table(["i"], order_by=["_rowid"], limit=3, fragments=fragments)
    assert found["i"].to_pylist() == [1, 2, 4]


@pytest.mark.fast_path
def test_a_limit_reads_other_columns_of_the_first_rows_only(
    uri: str, some_rows: Callable[..., pa.Table]
) -> None:
    rng = np.random.default_rng(0)
    rows = 200_000
    data = {"key": rng.permutation(rows), "x": rng.random(rows), "y": rng.random(rows)}
    dataset = lance.write_dataset(pa.table(data), uri, max_rows_per_file=50_000)
    found: list[ScanStatistics] = []
    options: dict[str, Any] = {"order_by": ["key"], "limit": 10, "offset": 5}
    result = dataset.to_table(scan_stats_callback=found.append, **options)
    assert result["key"].to_pylist() == list(range(5, 15))
    dataset.to_table(["key"], scan_stats_callback=found.append)
    everything = 3 * 8 * rows
    assert found[0].bytes_read < found[1].bytes_read + everything // 8


@pytest.mark.parametrize("budget", ["4000", "40000"])
def test_rows_of_every_type_are_sorted_on_disk(
    budget: str, uri: str, some_rows: Callable[..., pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some_rows(200)
    words = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", None]).dictionary_encode()]
    chunks = [words[number % 2] for number in range(100)]
    rows = rows.append_column("word", pa.chunked_array(chunks))
    rows = rows.append_column("json", pa.array(['{"a": 1}'] * 200, pa.json_()))
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=30)
    options: dict[str, Any] = {"order_by": ["s", ColumnOrdering("i", False)], "offset": 3}
    expected = dataset.to_table(**options)
    monkeypatch.setenv(ordered_scan.MEMORY_VARIABLE, budget)
    monkeypatch.setattr(runs, "_MIN_BLOCK_BYTES", 500)
    found = dataset.to_table(**options)
    streamed = dataset.scanner(batch_size=64, **options).to_reader().read_all()
    for table in (found, streamed):
        assert table.schema.equals(expected.schema, check_metadata=True)
        assert table.to_pylist() == expected.to_pylist()  # each slice has its own dictionaries
    analysis = str(dataset.scanner(**options).analyze_plan())
    assert "rows=197" in analysis


def test_a_stream_that_is_not_read_to_its_end_leaves_no_files(
    uri: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(ordered_scan.MEMORY_VARIABLE, "4000")
    dataset = lance.write_dataset(pa.table({"x": range(10_000)}), uri)
    batches = dataset.to_batches(order_by=[ColumnOrdering("x", False)], batch_size=10)
    assert next(batches)["x"].to_pylist() == list(range(9999, 9989, -1))
    assert list(tmp_path.glob("lance-core-sort-*"))
    del batches
    assert not list(tmp_path.glob("lance-core-sort-*"))


def test_a_full_disk_and_an_invalid_budget_are_typed_errors(
    uri: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = lance.write_dataset(pa.table({"x": range(10_000)}), uri)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setenv(ordered_scan.MEMORY_VARIABLE, "4000")
    with pytest.raises(StoreError, match="temporary folder"):
        dataset.to_table(order_by=["x"])
    monkeypatch.setenv(ordered_scan.MEMORY_VARIABLE, "much")
    with pytest.raises(InvalidInputError, match="SORT_MEMORY_BYTES must be a number"):
        dataset.to_table(order_by=["x"])


def test_a_map_is_nothing_to_sort_by(uri: str) -> None:
    values = pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32()))
    dataset = lance.write_dataset(pa.table({"m": values}), uri)
    with pytest.raises(InvalidInputError, match="'m'"):
        dataset.scanner(order_by=["m"])
