"""Adding rows to indices, merging their segments, and building them again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.read.sources.prefilter.stored_indices import indices_of
from lance_core.dataset.values.index import Index
from lance_core.dataset.values.operations import LanceOperation
from lance_core.errors import IndexWarning, InvalidInputError, InvalidTypeError, LanceError
from lance_core.index.queries import IsNull
from tests.unit.dataset.maintenance.indices.index_tables import (
    KIND,
    coverage,
    found,
    new_table,
    numbers,
    stored,
)


@pytest.mark.parametrize("stable", [False, True])
def test_new_rows_go_to_the_newest_segments(uri: str, stable: bool) -> None:
    dataset = new_table(uri, stable=stable)
    dataset.create_scalar_index("x", KIND)
    dataset.create_scalar_index("Y", KIND)
    dataset.delete("Y < 30 OR Y IS NULL AND s IS NULL")
    dataset = lance.write_dataset(numbers(100, 50), dataset, mode="append")
    dataset.optimize.optimize_indices(num_indices_to_merge=0, index_names=["x_idx"])
    assert coverage(dataset, "x_idx") == [[0, 1, 2, 3], [4]]
    assert coverage(dataset, "Y_idx") == [[0, 1, 2, 3]]
    dataset.delete("x = 111")
    dataset = lance.write_dataset(numbers(200, 50), dataset, mode="append")
    version = dataset.version
    dataset.optimize.optimize_indices()
    assert dataset.version == version + 1
    assert coverage(dataset, "x_idx") == [[0, 1, 2, 3], [4, 5]]
    assert coverage(dataset, "Y_idx") == [[0, 1, 2, 3, 4, 5]]
    dataset.optimize.optimize_indices(num_indices_to_merge=2)
    assert coverage(dataset, "x_idx") == [[0, 1, 2, 3, 4, 5]]
    version = dataset.version
    dataset.optimize.optimize_indices(num_indices_to_merge=2)
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    assert dataset.version == version
    values = [5, 38, 111, 120, 201]
    for name in ("x_idx", "Y_idx"):
        rows = found(dataset, name, values)
        assert rows >= stored(dataset, values)
        assert {row >> 32 for row in rows} == {0, 1, 4, 5}
    nulls = dataset.to_table(columns=[], filter="x IS NULL", with_row_address=True)
    assert found(dataset, "x_idx", IsNull()) >= set(nulls["_rowaddr"].to_pylist())
    dataset.optimize.optimize_indices(retrain=True)
    assert dataset.version == version + 1
    assert found(dataset, "x_idx", values) == stored(dataset, values)
    statistics = dataset.stats.index_stats("x_idx")
    assert statistics["num_indexed_rows"] == dataset.count_rows()
    assert statistics["segments"] == statistics["indices"] == [{"num_runs": 1}]


def test_rows_of_fragments_that_are_gone_are_dropped(uri: str) -> None:
    dataset = new_table(uri)
    dataset.create_scalar_index("x", KIND)
    dataset.delete("x < 25 OR x IS NULL")
    dataset = lance.write_dataset(numbers(100, 10), dataset, mode="append")
    dataset.optimize.optimize_indices()
    assert {row >> 32 for row in found(dataset, "x_idx", [3, 30, 103])} == {1, 4}
    assert coverage(dataset, "x_idx") == [[1, 2, 3, 4]]


def test_rows_that_a_compaction_without_remap_has_moved_are_found(uri: str) -> None:
    dataset = new_table(uri)
    dataset.create_scalar_index("x", KIND)
    dataset.delete("x % 3 = 0")
    dataset.optimize.compact_files(defer_index_remap=True)
    assert coverage(dataset, "x_idx") == [[4]]
    dataset = lance.write_dataset(numbers(100, 10), dataset, mode="append")
    dataset.optimize.optimize_indices()
    assert coverage(dataset, "x_idx") == [[4, 5]]
    values = [3, 4, 50, 103]
    assert found(dataset, "x_idx", values) == stored(dataset, values)


def test_a_segment_that_has_lost_rows_is_merged_before_the_index_covers_them_elsewhere(
    uri: str,
) -> None:
    dataset = segments_with_lost_rows(uri)
    dataset.optimize.optimize_indices()
    assert coverage(dataset, "l_idx") == [[0, 1, 2, 3, 4, 5, 6]]
    check_lists(lance.dataset(uri))


def segments_with_lost_rows(uri: str) -> lance.LanceDataset:
    """The row ids of one are those of rows that were moved, whose old values it still has."""
    lists = pa.table({"l": [[n, 1000 + n] for n in range(100)]})
    dataset = lance.write_dataset(lists, uri, max_rows_per_file=25, enable_stable_row_ids=True)
    dataset.create_scalar_index("l", "LABEL_LIST")
    dataset = lance.write_dataset(lists.slice(0, 9), dataset, mode="append")
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    dataset = lance.write_dataset(lists.slice(10, 9), dataset, mode="append")
    dataset.optimize.optimize_indices()
    assert coverage(dataset, "l_idx") == [[0, 1, 2, 3], [4, 5]]
    dataset.update({"l": "[3000]"}, where="array_has(l, 60)")
    return dataset


def check_lists(dataset: Any) -> None:
    """The index answers, and counts each row where its values are now."""
    counts = [dataset.count_rows(f"array_has(l, {n})") for n in (60, 3000, 7, 1099)]
    assert counts == [0, 1, 2, 1]
    assert "l_idx" in dataset.scanner(filter="array_has(l, 60)").explain_plan()


def test_segments_by_address_stay_as_they_are_when_rows_are_deleted(uri: str) -> None:
    dataset = new_table(uri)
    dataset.create_scalar_index("x", "BTREE")
    dataset = lance.write_dataset(numbers(100, 50), dataset, mode="append")
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    dataset.update({"x": "1000"}, where="x = 60")
    dataset.optimize.optimize_indices()
    assert coverage(dataset, "x_idx") == [[0, 1, 2, 3], [4, 5]]
    assert dataset.to_table(filter="x = 60").num_rows == 0
    assert dataset.to_table(filter="x = 1000").num_rows == 1


KINDS = ("BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER", "NGRAM", "LABEL_LIST")


@pytest.mark.parametrize("damage", ["gone", "empty", "garbage"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_index_with_damaged_files_is_built_again(tmp_path: Path, kind: str, damage: str) -> None:
    column = {"NGRAM": "t", "LABEL_LIST": "l"}.get(kind, "x")
    texts, lists = [f"text {n}" for n in range(60)], [[n, n + 1] for n in range(60)]
    rows = pa.table({"x": range(60), "t": texts, "l": lists})
    dataset = lance.write_dataset(rows, str(tmp_path), max_rows_per_file=30)
    dataset.create_scalar_index(column, kind, name="only")
    dataset = lance.write_dataset(rows.slice(0, 9), dataset, mode="append")
    for file in (tmp_path / "_indices").glob("*/*"):
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(b"" if damage == "empty" else bytes(range(256)) * 9)
    with pytest.raises(LanceError):
        dataset.optimize.optimize_indices()
    version = dataset.version
    with pytest.warns(IndexWarning, match="index 'only' gets default parameters"):
        dataset.optimize.optimize_indices(retrain=True)
    assert dataset.version == version + 1
    assert coverage(dataset, "only") == [[0, 1, 2]]
    condition = {"t": "contains(t, 'text 7')", "l": "array_has(l, 8)"}.get(column, "x = 7")
    assert "@only(" in dataset.scanner(filter=condition).explain_plan()
    expected = dataset.to_table(filter=condition, use_scalar_index=False)
    assert dataset.to_table(filter=condition) == expected
    assert expected["x"].to_pylist() == ([7, 8, 7, 8] if column == "l" else [7, 7])


def test_an_index_that_nobody_knows_is_kept_and_said_to_be_unknown(uri: str) -> None:
    dataset = new_table(uri)
    dataset.create_scalar_index("x", KIND)
    (index,) = indices_of(dataset.snapshot)
    foreign = replace(
        Index.of(index),
        uuid="00000000-0000-4000-8000-000000000001",
        name="foreign",
        index_details=("/of.Nobody", b"abc"),
    )
    dataset = lance.LanceDataset.commit(
        dataset, LanceOperation.CreateIndex([foreign], []), dataset.version
    )
    dataset = lance.write_dataset(numbers(100, 10), dataset, mode="append")
    with pytest.warns(UserWarning, match="'foreign' is not optimized: its type"):
        dataset.optimize.optimize_indices()
    with pytest.warns(UserWarning, match="no index has the name 'x_ix': did you mean 'x_idx'"):
        dataset.optimize.optimize_indices(index_names=["x_ix"])
    one, two = dataset.describe_indices()
    assert (one.index_type, one.type_url) == ("Unknown", "/of.Nobody")
    assert one.segments[0].uuid == foreign.uuid
    assert two.num_rows_indexed == 110
    assert dataset.stats.index_stats("foreign")["segments"] == [{}]
    dataset.drop_index("foreign")
    assert [index.name for index in dataset.describe_indices()] == ["x_idx"]


def test_invalid_options_are_refused(uri: str) -> None:
    optimize = new_table(uri).optimize
    with pytest.raises(InvalidInputError, match="negative"):
        optimize.optimize_indices(num_indices_to_merge=-1)
    with pytest.raises(InvalidTypeError, match="whole number"):
        optimize.optimize_indices(num_indices_to_merge="a")  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="list of names"):
        optimize.optimize_indices(index_names="x_idx")
    with pytest.raises(TypeError, match="num_indices"):
        optimize.optimize_indices(num_indices=1)  # type: ignore[call-arg]
