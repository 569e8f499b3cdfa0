"""Rows keep their ids and creation versions wherever they move."""

from __future__ import annotations

import numpy as np
import pytest

from lance_core._pb import rowids_pb2
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_lineage import (
    RowLineage,
    updated_at,
    updated_everywhere,
    with_moved_versions,
    with_row_ids,
)
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.row_ids.u64_segment import Ranges


def fragment_of(ids: list[int], created: list[int], updated: list[int], id_: int = 0) -> Fragment:
    return Fragment(
        id_,
        (),
        physical_rows=len(ids),
        row_ids=RowIdSequence.from_ids(np.array(ids, np.uint64)).to_bytes(),
        created_at_versions=RowVersions.of_rows(np.array(created, np.uint64)).to_bytes(),
        last_updated_at_versions=RowVersions.of_rows(np.array(updated, np.uint64)).to_bytes(),
    )


def rows_of(fragment: Fragment) -> list[tuple[int, int, int]]:
    """The id, creation version and last-updated version of each row."""
    every = np.arange(fragment.physical_rows or 0)
    lineage = RowLineage.of_rows([(fragment, every)])
    columns = (lineage.row_ids, lineage.created_at, lineage.last_updated_at)
    return list(zip(*(column.tolist() for column in columns), strict=True))


FIRST = fragment_of([5, 9, 2], [1, 2, 3], [4, 5, 6])
SECOND = fragment_of([7, 8], [2, 3], [3, 8], id_=1)


def test_the_lineage_of_chosen_rows_is_given_to_new_fragments_in_order() -> None:
    lineage = RowLineage.of_rows([(FIRST, np.array([0, 2])), (SECOND, np.array([1, 0]))])
    assert lineage.row_ids.tolist() == [5, 2, 8, 7]
    assert lineage.created_at.tolist() == [1, 3, 3, 2]
    assert lineage.last_updated_at.tolist() == [4, 6, 8, 3]
    new = lineage.given_to(Fragment(7, (), physical_rows=2), 1)
    assert rows_of(new) == [(2, 3, 6), (8, 3, 8)]
    assert RowLineage.of_rows([]).row_ids.tolist() == []


def test_rows_without_versions_are_of_the_first_version() -> None:
    bare = Fragment(0, (), physical_rows=3, row_ids=RowIdSequence.from_range(4, 3).to_bytes())
    assert rows_of(bare) == [(4, 1, 1), (5, 1, 1), (6, 1, 1)]
    with pytest.raises(CorruptFileError, match="an id for each row"):
        rows_of(Fragment(0, (), physical_rows=2, row_ids=bare.row_ids))


def test_new_ids_follow_those_that_the_first_rows_have() -> None:
    fragment, used = with_row_ids(Fragment(0, (), physical_rows=3), 10, 4, fill=False)
    assert (rows_of(fragment), used) == ([(10, 4, 4), (11, 4, 4), (12, 4, 4)], 3)
    assert with_row_ids(FIRST, 10, 4, fill=False) == (FIRST, 0)
    some = Fragment(0, (), physical_rows=5, row_ids=FIRST.row_ids)
    filled, used = with_row_ids(some, 10, 4, fill=True)
    assert isinstance(filled.row_ids, bytes)
    assert RowIdSequence.from_bytes(filled.row_ids).slice(0, 5).tolist() == [5, 9, 2, 10, 11]
    assert used == 2
    with pytest.raises(InvalidInputError, match="3 row ids, 5 rows"):
        with_row_ids(some, 10, 4, fill=False)
    with pytest.raises(InvalidInputError, match="3 row ids, 2 rows"):
        with_row_ids(Fragment(0, (), physical_rows=2, row_ids=FIRST.row_ids), 10, 4, fill=True)


def test_the_last_row_id_is_not_given_twice() -> None:
    one = Fragment(0, (), physical_rows=1)
    last = (1 << 64) - 2
    assert with_row_ids(one, last, 4, fill=False)[1] == 1
    with pytest.raises(InvalidInputError, match="no row ids are left"):
        with_row_ids(one, last + 1, 4, fill=False)


def test_moved_rows_keep_their_creation_versions_that_are_looked_up_once() -> None:
    moved = fragment_of([8, 30, 5, 9], [1] * 4, [1] * 4)
    made = with_moved_versions(moved, [FIRST, SECOND], 20, 12)
    assert rows_of(made) == [(8, 3, 12), (30, 12, 12), (5, 1, 12), (9, 2, 12)]
    damaged = Fragment(1, (), physical_rows=2, row_ids=FIRST.row_ids)
    made = with_moved_versions(fragment_of([2, 30], [1] * 2, [1] * 2), [FIRST, damaged], 20, 12)
    assert rows_of(made) == [(2, 3, 12), (30, 12, 12)]


def test_only_the_updated_rows_are_updated() -> None:
    assert rows_of(updated_at(FIRST, np.array([2, 0]), 9)) == [(5, 1, 9), (9, 2, 5), (2, 3, 9)]
    assert rows_of(updated_everywhere(FIRST, 9)) == [(5, 1, 9), (9, 2, 9), (2, 3, 9)]
    with pytest.raises(InvalidInputError, match="row 3 of 3 rows"):
        updated_at(FIRST, np.array([3]), 9)
    bare = Fragment(0, (), physical_rows=3)
    assert updated_at(bare, np.array([0]), 9) is bare


def test_row_versions_of_more_rows_than_a_file_can_have_are_refused() -> None:
    (span,) = Ranges.of([(0, 1 << 62)]).to_proto()
    message = rowids_pb2.RowDatasetVersionSequence()
    for version in (1, 2):
        message.runs.add(span=span, version=version)
    with pytest.raises(CorruptFileError, match="has 9223372036854775808 row versions"):
        RowVersions.from_bytes(message.SerializeToString(), 1 << 63)
