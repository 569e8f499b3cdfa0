"""LABEL_LIST indices have the rows of each item once, and those of null lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError
from lance_core.index.base import IndexPart, Precision
from lance_core.index.queries import HasAll, HasAny, IsIn, IsNull
from lance_core_indices.bitmaps import build
from lance_core_indices.label_list import LabelList
from tests.each_case import each_case
from tests.indices import bitmap_folders as folders
from tests.indices.bitmap_folders import Moved, Rows, blobs_of, contents, stored

LABELS = LabelList()
KIND = pa.list_(pa.string())
LISTS = [None, [], ["a", "a", None], ["b"], ["a", "b"], [None]]


def _rows(kind: pa.DataType = KIND, copies: int = 1) -> Rows:
    values = pa.array(LISTS * copies, kind)
    return Rows(values, np.arange(len(values), dtype=np.uint64) * np.uint64(3), step=4)


def _search(index: Any, query: Any) -> tuple[list[int], list[int] | None]:
    found = index.search(query, with_nulls=True)
    nulls = None if found.nulls is None else found.nulls.numbers().tolist()
    return found.rows.numbers().tolist(), nulls


@each_case("kind", [KIND, pa.large_list(pa.large_string())])
def test_lists_are_found_by_their_items(kind: pa.DataType) -> None:
    index = folders.build(LABELS, _rows(kind))
    assert contents(index) == {None: [6, 15], "a": [6, 12], "b": [9, 12]}
    assert index.statistics() == {"num_bitmaps": 3}
    for texts, some, every in (
        (["a"], [6, 12], [6, 12]),
        (["b", "a", "b"], [6, 9, 12], [12]),
        (["a", "x"], [6, 12], []),
        (["x"], [], []),
    ):
        values = pa.array(texts, kind.value_type)
        assert _search(index, HasAny(values)) == (some, [0])
        assert _search(index, HasAll(values)) == (every, [0])
        assert index.search(HasAny(values)).nulls is None


def test_items_of_null_lists_and_of_slices_do_not_count() -> None:
    items, offsets = pa.array(["x", "y", "z", "w"]), pa.array([0, 1, 2, 4], pa.int32())
    mask = pa.array([False, True, False])
    values = pa.ListArray.from_arrays(offsets, items, mask=mask)
    index = folders.build(LABELS, Rows(values, np.arange(3, dtype=np.uint64)))
    assert contents(index) == {"x": [0], "z": [2], "w": [2]}
    index = folders.build(LABELS, Rows(values[1:], np.arange(1, 3, dtype=np.uint64)))
    assert contents(index) == {"z": [2], "w": [2]}
    assert _search(index, HasAny(pa.array(["z"]))) == ([2], [1])


def test_merges_move_rows_and_null_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "MAX_COLLECTED_ROWS", 10)
    old, map_ = _rows(copies=5), Moved(2)
    new = Rows(pa.array([None, ["b", "c"]], KIND), np.array([1, 2], np.uint64))
    folder = folders.new_folder()
    with folder.output:
        LABELS.merge([IndexPart(folders.build(LABELS, old), map_)], new, folder.output)
    index = folder.open(LABELS, KIND, 1)
    expected: dict[Any, set[int]] = {}
    moved, kept = map_.moved(old.numbers)
    everything = list(zip(old.values.to_pylist(), moved.tolist(), kept, strict=True))
    everything += [(None, 1, True), (["b", "c"], 2, True)]
    for items, number, is_kept in everything:
        for item in (items if items is not None else ["null list"]) if is_kept else []:
            expected.setdefault(item, set()).add(number)
    nulls = expected.pop("null list")
    assert {key: set(rows) for key, rows in contents(index).items()} == expected
    assert _search(index, HasAny(pa.array(["c"]))) == ([2], sorted(nulls))


def test_version_0_does_not_know_null_lists_and_is_not_merged() -> None:
    folder = stored(pa.array(["a"]), blobs_of([1, 2]))
    index = folder.open(LABELS, KIND, 0)
    assert _search(index, HasAny(pa.array(["a"]))) == ([1, 2], None)
    with pytest.raises(CorruptFileError, match="version 0"):
        LABELS.merge([IndexPart(index, Moved(2))], None, folders.new_folder().output)
    new = folders.new_folder()
    with new.output:
        LABELS.merge([IndexPart(index, Moved(1))], _rows(), new.output)
    assert _search(new.open(LABELS, KIND, 1), HasAny(pa.array(["a"]))) == ([6, 12], [0])
    with pytest.raises(CorruptFileError, match="label_list_nulls"):
        folder.open(LABELS, KIND, 1)


@each_case("number", ["-1", "x", "7", "99999999999999999999"])
def test_a_damaged_number_of_the_buffer_is_refused(number: str) -> None:
    folder = stored(pa.array(["a"]), blobs_of([1]), lance__label_list_nulls=number)
    with pytest.raises(CorruptFileError):
        folder.open(LABELS, KIND, 1).search(HasAny(pa.array(["a"])), with_nulls=True)


def test_which_columns_and_queries_an_index_serves() -> None:
    assert LABELS.accepts(KIND)
    assert LABELS.accepts(pa.large_list(pa.int8()))
    refused = [pa.string(), pa.list_(KIND), pa.list_(pa.int8(), 3), pa.list_(pa.struct([]))]
    assert not any(LABELS.accepts(kind) for kind in refused)
    values = pa.array(["a"])
    assert LABELS.precision(HasAny(values), KIND, b"") is Precision.EXACT
    assert LABELS.precision(HasAll(values), KIND, b"") is Precision.EXACT
    assert LABELS.precision(IsIn(values), KIND, b"") is None
    assert LABELS.precision(IsNull(), KIND, b"") is None
