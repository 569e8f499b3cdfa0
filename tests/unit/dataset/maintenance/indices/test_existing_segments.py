"""Segments that several processes write, merged and committed as one index."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.dataset.values.index import Index
from lance_core.errors import (
    CommitFileMissingError,
    IndexNameError,
    IndexNotFoundError,
    InvalidInputError,
    InvalidTypeError,
)
from tests.unit.dataset.maintenance.indices.index_tables import (
    KIND,
    coverage,
    found,
    new_table,
    stored,
)


def segments(dataset: lance.LanceDataset, column: str = "x") -> list[Index]:
    """A segment of each fragment."""
    return [
        dataset.create_index_uncommitted(column, KIND, name="i", fragment_ids=[part.fragment_id])
        for part in dataset.get_fragments()
    ]


@pytest.mark.parametrize("stable", [False, True])
def test_segments_are_merged_committed_and_replaced(uri: str, stable: bool) -> None:
    dataset = new_table(uri, stable=stable)
    made = segments(dataset)
    assert dataset.version == 1
    merged = dataset.merge_existing_index_segments(made[:2])
    assert dataset.commit_existing_index_segments("i", "X", [merged, made[2]]) is dataset
    assert coverage(dataset, "i") == [[0, 1], [2]]
    assert found(dataset, "i", [3, 30, 60, 90]) == stored(dataset, [3, 30, 60])
    other = dataset.create_index_uncommitted("x", KIND, "i", replace=True, fragment_ids=[2, 3])
    dataset.commit_existing_index_segments("i", "x", [other])
    assert coverage(dataset, "i") == [[0, 1], [2, 3]]
    assert found(dataset, "i", [3, 30, 60, 90]) == stored(dataset, [3, 30, 60, 90])
    dataset.prewarm_index("i", index_segments=[other.uuid])
    with pytest.raises(IndexNotFoundError, match=made[3].uuid):
        dataset.prewarm_index("i", index_segments=[made[3].uuid])


def test_a_fragment_with_new_values_is_left_out(uri: str) -> None:
    dataset = new_table(uri)
    made = segments(dataset)
    part = dataset.get_fragments()[1]
    new = pa.table({"_rowid": pa.array([25 + (1 << 32)], pa.uint64()), "x": [7]})
    fragment, fields = part.update_columns(new)
    operation = lance.LanceOperation.Update(
        updated_fragments=[fragment], fields_modified=list(fields)
    )
    dataset = lance.LanceDataset.commit(dataset, operation, dataset.version)
    dataset.commit_existing_index_segments("i", "x", made)
    assert sorted(coverage(dataset, "i")) == [[], [0], [2], [3]]


def test_a_fragment_that_has_only_lost_rows_since_stays_covered(uri: str) -> None:
    dataset = new_table(uri)
    dataset.delete("x = 3")
    (segment,) = segments(dataset)[:1]
    dataset.delete("x = 4")
    dataset.commit_existing_index_segments("i", "x", [segment])
    assert coverage(dataset, "i") == [[0]]
    assert found(dataset, "i", [3, 5]) == stored(dataset, [5])


def test_statistics_say_when_the_newest_segment_was_built(uri: str) -> None:
    dataset = new_table(uri)
    made = segments(dataset)
    times = [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 9, 5)]
    dated = [replace(one, created_at=time) for one, time in zip(made, times, strict=False)]
    dataset.commit_existing_index_segments("i", "x", [*dated, replace(made[3], created_at=None)])
    statistics = dataset.stats.index_stats("i")
    assert statistics["updated_at_timestamp_ms"] == times[1].timestamp() * 1000


def test_a_segment_that_names_no_fragments_or_version_covers_none(uri: str) -> None:
    dataset = new_table(uri)
    made = segments(dataset)
    bare = [replace(one, fragment_ids=None, index_version=None) for one in made[:2]]
    dataset.commit_existing_index_segments("i", "x", [made[3]])
    dataset.commit_existing_index_segments("i", "x", bare[:1])
    dataset.commit_existing_index_segments("i", "x", bare[1:])
    assert coverage(dataset, "i") == [[3], []]
    (index,) = dataset.describe_indices()
    assert index.segments[1].index_version == 0
    assert dataset.count_rows("x < 20") == 18


def test_segments_that_do_not_fit_are_refused(uri: str) -> None:
    dataset = new_table(uri)
    made, others = segments(dataset), segments(dataset, "Y")
    bare = replace(made[0], uuid="00000000-0000-4000-8000-000000000001")
    foreign = replace(made[1], index_details=("/of.Nobody", b""))

    def refused(kind: type[Exception], text: str, *some: Index, column: str = "x") -> None:
        with pytest.raises(kind, match=text):
            dataset.commit_existing_index_segments("i", column, some)

    refused(InvalidInputError, "at least one")
    refused(InvalidInputError, "twice", made[0], made[0])
    refused(InvalidInputError, "covers fragment 0", made[0], bare)
    refused(InvalidInputError, "over fields", made[0], others[1])
    refused(InvalidInputError, "has the type", made[0], foreign)
    refused(InvalidInputError, "built for field 0", made[0], column="Y")
    refused(InvalidTypeError, "is an Index", None)  # type: ignore[arg-type]
    refused(CommitFileMissingError, "is missing", bare)
    for merged in ([], made[:1] * 2, [made[0], others[1]]):
        with pytest.raises(InvalidInputError):
            dataset.merge_existing_index_segments(merged)
    with pytest.raises(InvalidInputError, match="needs fragment_ids"):
        dataset.create_index_uncommitted("x", KIND)
    with pytest.raises(InvalidInputError, match="no fragment 9"):
        dataset.create_index_uncommitted("x", KIND, fragment_ids=[9])
    with pytest.raises(IndexNameError, match="reserved"):
        dataset.commit_existing_index_segments("__lance_mem_wal", "x", made)
    next(Path(uri).glob(f"_indices/{made[0].uuid}/*")).write_bytes(b"abc")
    refused(CommitFileMissingError, "has 3 bytes", made[0])
    assert dataset.version == 1
