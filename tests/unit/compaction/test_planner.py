"""Which fragments a compaction rewrites, and which of them it merges."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import pytest

from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.indices.index_metadata import parse_index_section
from tests.each_case import each_case
from tests.unit.compaction.compaction_tables import (
    planned,
    table_of,
    with_index,
)

PLANS: list[tuple[list[int], dict[str, Any], list[list[int]]]] = [
    ([10, 10, 10], {}, [[0, 1, 2]]),
    ([10] * 5, {}, [[0, 1], [2, 3, 4]]),
    ([15] * 5, {}, [[0, 1], [2, 3, 4]]),
    ([10], {}, []),
    ([], {}, []),
    ([10, 100, 10], {"target_rows_per_fragment": 50}, []),
    ([10, 10, 100, 10, 10], {"target_rows_per_fragment": 50}, [[0, 1], [3, 4]]),
    ([30, 30, 30, 5], {"target_rows_per_fragment": 100}, [[0, 1, 2, 3]]),
    ([10] * 5, {"excluded_fragment_ids": [2]}, [[0, 1], [3, 4]]),
    ([10] * 5, {"excluded_fragment_ids": [9, 2, 2]}, [[0, 1], [3, 4]]),
    ([10] * 10, {"max_source_fragments": 5}, [[0, 1], [2, 3]]),
    ([10] * 10, {"max_source_rows": 59}, [[0, 1], [2, 3]]),
    ([10] * 10, {"max_source_rows": 60}, [[0, 1], [2, 3], [4, 5]]),
    ([10] * 10, {"max_source_fragments": 1}, []),
    ([10] * 10, {"max_source_bytes": 1}, []),
    ([10, 10], {"target_rows_per_fragment": 10}, []),
    ([10, 10], {"target_rows_per_fragment": 0}, []),
]


@each_case("sizes, options, expected", PLANS)
def test_small_neighbours_are_merged(
    tmp_path: Path, sizes: list[int], options: dict[str, Any], expected: list[list[int]]
) -> None:
    dataset = table_of(str(tmp_path / "t"), sizes)
    assert planned(dataset, {"target_rows_per_fragment": 20, **options}) == expected


def test_a_fragment_is_rewritten_alone_above_the_threshold_of_deleted_rows(uri: str) -> None:
    dataset = table_of(uri, [100, 100])
    options = {"target_rows_per_fragment": 50}
    dataset.delete("i < 10")
    assert planned(dataset, options) == []
    dataset.delete("i = 10")
    assert planned(dataset, options) == [[0]]
    assert planned(dataset, {**options, "materialize_deletions": False}) == []
    assert planned(dataset, {**options, "materialize_deletions_threshold": 1.0}) == []
    assert planned(dataset, {**options, "materialize_deletions_threshold": 0.0}) == [[0]]
    assert planned(dataset, {**options, "materialize_deletions_threshold": 0.2}) == []


def test_tasks_count_live_rows_and_candidates_physical_ones(uri: str) -> None:
    dataset = table_of(uri, [20] * 4)
    dataset.delete("i % 20 < 10")
    options = {"target_rows_per_fragment": 20}
    assert planned(dataset, options) == [[0, 1], [2, 3]]
    assert planned(dataset, {**options, "materialize_deletions": False}) == []


def test_a_plan_of_bytes_counts_data_files(uri: str) -> None:
    dataset = table_of(uri, [10] * 4)
    sizes = [f.metadata.files[0].file_size_bytes or 0 for f in dataset.get_fragments()]
    options = {"target_rows_per_fragment": 20, "max_source_bytes": sum(sizes[:2])}
    assert planned(dataset, options) == [[0, 1]]
    assert planned(dataset, {**options, "max_source_bytes": sum(sizes[:2]) - 1}) == []


LEFT_OUT = "fragments are not compacted, because this library cannot update the indices"


def test_fragments_of_an_index_that_cannot_be_updated_are_left_out(uri: str) -> None:
    dataset = table_of(uri, [10] * 6)
    with_index(dataset, [2, 3, 99], "OfALaterRelease")
    with_index(dataset, [0, 1], "BTree")
    with pytest.warns(UserWarning, match=f"^2 {LEFT_OUT} that cover them: 'OfALaterRelease'"):
        assert planned(dataset, {}) == [[0, 1], [4, 5]]
    assert planned(dataset, {"defer_index_remap": True}) == [[0, 1], [2, 3], [4, 5]]


def test_an_index_of_unknown_fragments_leaves_all_out(uri: str) -> None:
    dataset = table_of(uri, [10] * 3)
    with_index(dataset, None, "Bitmap")
    for options in ({}, {"defer_index_remap": True}):
        with pytest.warns(UserWarning, match=f"3 {LEFT_OUT}"):
            assert planned(dataset, options) == []


@pytest.mark.parametrize("second", [[1], [1, 2]])
def test_fragments_of_different_indices_are_not_merged(uri: str, second: list[int]) -> None:
    dataset = table_of(uri, [10] * 6, enable_stable_row_ids=True)
    with_index(dataset, [0, 1, 2], "Bitmap")
    with_index(dataset, second, "BTree")
    assert planned(dataset, {}) == {1: [[3, 4, 5]], 2: [[1, 2], [3, 4, 5]]}[len(second)]


@each_case(
    "kind, version, stable, covered",
    [
        ("BTree", 0, True, [4]),
        ("BTree", 1, True, []),
        ("Bitmap", 0, True, [4]),
        ("bitmap", 0, True, [4]),
        ("Bitmap", 1, True, None),
        ("OfALaterRelease", 0, True, None),
        ("BTree", 0, False, [0, 1]),
        ("BTree", 2, False, None),
    ],
)
def test_indices_without_files_follow_their_rows_only_by_row_id(
    tmp_path: Path, kind: str, version: int, stable: bool, covered: list[int] | None
) -> None:
    dataset = table_of(str(tmp_path / "t"), [10] * 4, enable_stable_row_ids=stable)
    with_index(dataset, [0, 1], kind, version)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert planned(dataset, {}) == ([[2, 3]] if covered is None else [[0, 1], [2, 3]])
        dataset.optimize.compact_files()
    callers = {Path(one.filename).parent for one in shown}
    assert callers <= {Path(__file__).parent}  # the warnings name no line of the library
    if covered is None:
        assert {LEFT_OUT in str(one.message) for one in shown} == {True}
    elif covered != [4]:
        (warning,) = shown
        expected = f"index '{kind}' does not cover the compacted rows, create it again: "
        assert str(warning.message).startswith(expected)
    (index,) = parse_index_section(dataset.snapshot.file.index_section)
    assert list(index.fragments or ()) == ([0, 1] if covered is None else covered)


def test_indices_of_stable_ids_cover_the_new_fragments(uri: str) -> None:
    dataset = table_of(uri, [10] * 4, enable_stable_row_ids=True)
    with_index(dataset, [0, 1], "NGram")
    dataset.optimize.compact_files()
    (index,) = parse_index_section(dataset.snapshot.file.index_section)
    assert list(index.fragments or ()) == [4]


def test_fragments_without_known_rows_are_counted_from_their_files(uri: str) -> None:
    dataset = table_of(uri, [10, 10])
    snapshot = dataset.snapshot
    unknown = [dataclasses.replace(f, physical_rows=None) for f in snapshot.manifest.fragments]
    manifest = dataclasses.replace(snapshot.manifest, fragments=FragmentList.of(unknown))
    file = dataclasses.replace(snapshot.file, manifest=manifest)
    dataset.move_to(dataclasses.replace(snapshot, file=file))
    assert planned(dataset, {"target_rows_per_fragment": 20}) == [[0, 1]]
    assert planned(dataset, {"target_rows_per_fragment": 10}) == []
