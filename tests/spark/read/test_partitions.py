"""How a table is cut for tasks, without a session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as some

import lance_core
from lance_core_spark.read.partitions import TableSize, batch_rows, partition_rows, partitions


@dataclass(frozen=True)
class Fragment:
    """As much of a fragment as planning looks at."""

    fragment_id: int
    physical_rows: int
    num_deletions: int = 0


@given(some.lists(some.integers(0, 50), max_size=12), some.integers(1, 60))
def test_every_row_is_in_exactly_one_partition(rows: list[int], most: int) -> None:
    planned = partitions([Fragment(i, n) for i, n in enumerate(rows)], most)  # type: ignore[misc]
    covered = [(f, r) for p in planned for f, start, stop in p.ranges for r in range(start, stop)]
    assert covered == [(f, r) for f, n in enumerate(rows) for r in range(n)]
    sizes = [sum(stop - start for _, start, stop in p.ranges) for p in planned]
    assert max(sizes) <= most
    # No two neighbours of whole fragments would have fitted into one.
    assert planned


def test_small_fragments_share_a_partition_and_large_ones_are_split_evenly() -> None:
    planned = partitions([Fragment(i, 10) for i in range(9)] + [Fragment(9, 95)], 50)  # type: ignore[list-item]
    assert [len(p.ranges) for p in planned] == [5, 4, 1, 1]
    assert planned[2].ranges == ((9, 0, 47),)
    assert planned[3].ranges == ((9, 47, 95),)


def test_an_empty_table_has_one_empty_partition() -> None:
    assert [p.ranges for p in partitions([], 10)] == [()]
    assert [p.ranges for p in partitions([Fragment(0, 5, 5)], 10)] == [()]  # type: ignore[list-item]


def test_wide_rows_make_small_batches_and_partitions() -> None:
    narrow, wide = TableSize(1_000_000, 8_000_000), TableSize(1000, 1 << 30)
    assert batch_rows(narrow) == 1 << 16
    assert partition_rows(narrow) == 1 << 18
    assert batch_rows(wide) == 64
    assert partition_rows(wide) == 62
    assert batch_rows(TableSize(0, 0)) > 0


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array(range(1000))})
    dataset = lance_core.write_dataset(table, tmp_path / "t.lance", max_rows_per_file=300)
    sizes = TableSize.of(dataset.get_fragments())
    assert sizes.rows == 1000
    assert sizes.bytes == sum(f.stat().st_size for f in (tmp_path / "t.lance" / "data").iterdir())
