"""What a merge rewrites, what its transaction names, and what an analysis of it says."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.merge_insert import MergeInsertBuilder
from lance_core.dataset.write.merge_insert import report
from tests.scan_numbers import tune


def test_columns_of_many_rows_are_rewritten_in_place(uri: str) -> None:
    rows = pa.table({"k": range(40), "v": ["old"] * 40, "w": [0.0] * 40})
    dataset = lance.write_dataset(rows, uri, max_rows_per_file=15)
    builder = dataset.merge_insert("k").when_matched_update_all().write_mode("rewrite_columns")
    keys = [38, 3, 1, 20, 17, 9, 30, 12, 100]
    new = pa.table({"k": keys, "w": [float(key) for key in keys]})
    assert builder.execute(new.to_reader(max_chunksize=2))["num_updated_rows"] == 8
    expected = [float(key) if key in keys else 0.0 for key in range(40)]
    assert dataset.to_table()["w"].to_pylist() == expected


def test_an_analysis_states_milliseconds(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"k": [1, 2]})
    merge = lance.write_dataset(rows, uri).merge_insert("k").when_matched_update_all()
    times = iter([1.0, 3.5])
    clock = SimpleNamespace(perf_counter=lambda: next(times))
    monkeypatch.setattr(report, "time", clock)
    assert "elapsed=2500.000ms" in merge.analyze_plan(rows)


@pytest.mark.parametrize(
    ("configure", "fields"),
    [
        (lambda b: b.when_matched_delete(), [0, 1]),
        (lambda b: b.when_matched_delete().when_not_matched_insert_all(), [0, 1, 2, 3]),
        (lambda b: b.when_matched_update_all(), [0, 1, 2, 3]),
    ],
)
def test_a_merge_names_the_fields_that_it_may_change(
    uri: str, configure: Callable[[MergeInsertBuilder], MergeInsertBuilder], fields: list[int]
) -> None:
    rows = pa.table({"k": [1, 2], "s": [{"x": 1, "y": 2}] * 2})
    dataset = lance.write_dataset(rows, uri)
    new = pa.table({"k": [2, 3], "s": [{"x": 3, "y": 4}] * 2})
    transaction, _ = configure(dataset.merge_insert("k")).execute_uncommitted(new)
    assert isinstance(transaction.operation, lance.LanceOperation.Update)
    assert list(transaction.operation.fields_for_preserving_frag_bitmap) == fields


def test_rows_with_blobs_are_moved_in_parts_of_limited_size(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(monkeypatch, stream={"max_bytes": 1500})
    rows = pa.table({"k": range(8), "v": [0] * 8})
    blobs = lance.blob_array([bytes([number]) * 1000 for number in range(8)])
    table = rows.append_column(lance.blob_field("b"), blobs)
    dataset = lance.write_dataset(table, uri)
    new = pa.table({"k": [6, 1, 3], "v": [16, 11, 13]})
    assert dataset.merge_insert("k").when_matched_update_all().execute(new.to_reader())
    found = {row["k"]: row for row in dataset.to_table(blob_handling="all_binary").to_pylist()}
    assert [found[k]["v"] for k in range(8)] == [0, 11, 0, 13, 0, 0, 16, 0]
    assert all(found[k]["b"] == bytes([k]) * 1000 for k in range(8))
