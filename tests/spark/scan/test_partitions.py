"""How a table is cut for tasks, without a session."""

from __future__ import annotations

import pickle
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lance_core_spark.scan.partitions import (
    MAX_PARTITION_BYTES,
    MIN_PARTITION_BYTES,
    FragmentSize,
    LancePartition,
    batch_rows,
    equal_partitions,
    partition_count,
    small_partitions,
)

FRAGMENTS = some.lists(some.tuples(some.integers(1, 50), some.floats(8, 1e6)), max_size=12).map(
    lambda sizes: [FragmentSize(i, rows, size) for i, (rows, size) in enumerate(sizes)]
)


def rows_of(partition: LancePartition) -> int:
    return sum(stop - start for _, start, stop in partition.ranges)


@given(FRAGMENTS, some.integers(1, 60))
def test_every_row_is_in_exactly_one_partition(fragments: list[FragmentSize], most: int) -> None:
    every = [(fragment.fragment_id, row) for fragment in fragments for row in range(fragment.rows)]
    for planned in (small_partitions(fragments, most), equal_partitions(fragments, most)):
        covered = [
            (f, r) for p in planned for f, start, stop in p.ranges for r in range(start, stop)
        ]
        assert covered == every
        assert planned
    assert max(map(rows_of, small_partitions(fragments, most))) <= most
    assert len(equal_partitions(fragments, most)) <= most


def test_small_fragments_share_a_partition_and_large_ones_are_split_evenly() -> None:
    fragments = [FragmentSize(i, 9, 8) for i in range(10)] + [FragmentSize(10, 90, 8)]
    planned = equal_partitions(fragments, 4)
    assert [len(p.ranges) for p in planned] == [5, 5, 1, 1]
    assert [p.ranges for p in planned[2:]] == [((10, 0, 45),), ((10, 45, 90),)]


def test_partitions_have_equal_bytes_rather_than_equal_rows() -> None:
    fragments = [FragmentSize(0, 1000, 8), FragmentSize(1, 3, 8000)]
    assert [rows_of(p) for p in equal_partitions(fragments, 4)] == [1000, 1, 1, 1]


def test_a_partition_ends_with_a_fragment_if_that_is_near() -> None:
    fragments = [FragmentSize(i, rows, 8) for i, rows in enumerate((105, 100, 95, 60))]
    planned = equal_partitions(fragments, 4)
    assert [p.ranges[0] for p in planned] == [(0, 0, 90), (0, 90, 105), (1, 75, 100), (2, 65, 95)]
    assert [len(p.ranges) for p in equal_partitions(fragments[:3], 3)] == [1, 1, 1]


@pytest.mark.parametrize("cut", [small_partitions, equal_partitions])
def test_an_empty_table_has_one_empty_partition(cut: object) -> None:
    assert [p.ranges for p in cut([], 10)] == [()]  # type: ignore[operator]


def test_the_number_of_partitions_depends_on_bytes() -> None:
    def count(total: float, parallelism: int) -> int:
        return partition_count([FragmentSize(0, 1000, total / 1000)], parallelism)

    assert partition_count([], 4) == 1
    assert count(MIN_PARTITION_BYTES * 1.9, 4) == 1
    assert count(MIN_PARTITION_BYTES * 3.1, 4) == 3
    assert count(MAX_PARTITION_BYTES * 3.9, 4) == 4
    # All rounds are full, so that no processor waits for the last tasks.
    assert count(MAX_PARTITION_BYTES * 4.1, 4) == 8
    assert count(MAX_PARTITION_BYTES * 80, 4) == 80
    # Tiny fragments take time to open.
    tiny = [FragmentSize(number, 1, 8) for number in range(10_000)]
    assert [partition_count(tiny[:number], 4) for number in (200, 600, 10_000)] == [1, 2, 4]
    # The user's minimum is kept, down to a fragment for each.
    assert [partition_count(tiny[:number], 2, 8) for number in (1, 6, 10_000)] == [1, 6, 8]
    assert partition_count([FragmentSize(0, 1000, MAX_PARTITION_BYTES)], 2, 8) == 1000


def test_many_fragments_are_planned_in_short_time_and_few_bytes() -> None:
    many = [FragmentSize(number, 1000, 100) for number in range(100_000)]
    start = time.process_time()
    tasks, few = equal_partitions(many, len(many)), equal_partitions(many, 4)
    assert time.process_time() - start < 4  # 0.5 seconds
    assert (len(tasks), len(few)) == (len(many), 4)
    assert len(pickle.dumps(tasks[-1])) <= 122
    assert len(pickle.dumps(few)) <= 12 * len(many)


def test_wide_rows_make_small_batches() -> None:
    assert batch_rows([FragmentSize(0, 1_000_000, 100)]) == 1 << 16
    assert batch_rows([FragmentSize(0, 10, 8), FragmentSize(1, 10, 1 << 20)]) == 64
    sizes = [batch_rows([FragmentSize(0, 10, float(8**i))]) for i in range(1, 8)]
    assert all(left >= right for left, right in pairwise(sizes))
    assert batch_rows([]) > 0


def test_narrow_rows_make_batches_of_more_rows() -> None:
    narrow = [FragmentSize(0, 1_000_000, 20)]
    assert batch_rows(narrow) == 1 << 18
    assert batch_rows(narrow, is_filtered=True) == 1 << 16
