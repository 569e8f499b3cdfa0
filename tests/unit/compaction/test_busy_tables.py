"""Compactions and optimizations of indices beside writers that never pause."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from lance_core.optimize import Compaction
from lance_core_compaction import compact
from tests.unit.compaction.compaction_tables import table_of

WRITERS = 2
COMPACTIONS = 3
KEYS = 1 << 32
"""Keys of a writer; all of its rows are its own."""


def rows(keys: list[int], value: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array([value] * len(keys))})


class Writer:
    """Changes rows without a pause, and knows what they must be."""

    def __init__(self, uri: str, number: int) -> None:
        self.expected: dict[int, int] = {}
        self._uri = uri
        self._random = random.Random(number)
        self._next = number * KEYS

    def run(self, is_over: threading.Event) -> None:
        table = lance.dataset(self._uri)
        while not is_over.is_set():
            table.checkout_latest()
            kind = self._random.choice(["append", "append", "update", "delete", "upsert"])
            try:
                getattr(self, kind if self.expected else "append")(table)
            except CommitConflictError:
                continue  # nothing of it is committed

    def append(self, table: lance.LanceDataset) -> None:
        new = self._new(5)
        table.insert(rows(new, 0))
        self.expected |= dict.fromkeys(new, 0)

    def update(self, table: lance.LanceDataset) -> None:
        keys, value = self._some(), self._random.randrange(1, 9)
        table.update({"v": str(value)}, self._condition(keys))
        self.expected |= dict.fromkeys(keys, value)

    def delete(self, table: lance.LanceDataset) -> None:
        keys = self._some()
        table.delete(self._condition(keys))
        for key in keys:
            del self.expected[key]

    def upsert(self, table: lance.LanceDataset) -> None:
        keys, value = [*self._some(), *self._new(2)], self._random.randrange(1, 9)
        merge = table.merge_insert("k").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(rows(keys, value))
        self.expected |= dict.fromkeys(keys, value)

    def _new(self, count: int) -> list[int]:
        self._next += count
        return list(range(self._next - count, self._next))

    def _some(self) -> list[int]:
        return self._random.sample(sorted(self.expected), min(3, len(self.expected)))

    @staticmethod
    def _condition(keys: list[int]) -> str:
        return f"k IN ({', '.join(map(str, keys))})"


@contextmanager
def busy(uri: str) -> Iterator[list[Writer]]:
    writers, is_over = [Writer(uri, number) for number in range(1, WRITERS + 1)], threading.Event()
    with ThreadPoolExecutor(WRITERS) as pool:
        futures = [pool.submit(writer.run, is_over) for writer in writers]
        try:
            yield writers
        finally:
            is_over.set()
        for future in futures:
            future.result()


def compacted(uri: str, **options: Any) -> lance.optimize.CompactionMetrics:
    """The metrics of a compaction of several fragments."""
    while True:
        metrics = lance.dataset(uri).optimize.compact_files(**options)
        if metrics.fragments_removed:
            return metrics


@pytest.mark.parametrize(
    ("stable", "options"),
    [
        (False, {}),
        (True, {"compaction_mode": "try_binary_copy"}),
        (False, {"defer_index_remap": True}),
    ],
)
def test_each_compaction_gets_through_and_nothing_is_lost(
    stable: bool, options: dict[str, Any]
) -> None:
    uri = f"memory://{uuid.uuid4()}/table"
    dataset = lance.write_dataset(rows([0], 0), uri, enable_stable_row_ids=stable)
    dataset.create_scalar_index("k", "BTREE")
    dataset.create_scalar_index("v", "BITMAP")
    with busy(uri) as writers:
        for number in range(COMPACTIONS):
            metrics = compacted(uri, materialize_deletions_threshold=0.0, **options)
            assert metrics.fragments_left == 0
            if number % 2:
                lance.dataset(uri).optimize.optimize_indices()
    expected = {0: 0} | {k: v for writer in writers for k, v in writer.expected.items()}
    dataset = lance.dataset(uri)
    dataset.validate()
    found = dataset.to_table()
    assert len(found) == len(expected)
    assert dict(zip(found["k"].to_pylist(), found["v"].to_pylist(), strict=True)) == expected
    for value in range(9):
        keys = dataset.to_table(["k"], filter=f"v = {value}")["k"].to_pylist()
        assert sorted(keys) == sorted(key for key, other in expected.items() if other == value)
    for key in list(expected)[:: max(1, len(expected) // 20)]:
        assert dataset.to_table(["v"], filter=f"k = {key}")["v"].to_pylist() == [expected[key]]


class Rewriter:
    """Replaces fragments each time before results are committed: those with odd ids below 10."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_busy: Callable[[int], bool]) -> None:
        self.commits: list[list[int]] = []
        """The fragments whose results were committed together."""
        commit = compact.commit_valid_results

        def replaced(snapshot: Any, results: Any, *args: Any) -> Any:
            dataset = lance.dataset(snapshot.root.base_uri)
            ids = [one.id for result in results for one in result.original_fragments]
            self.commits.append(ids)
            for id_ in filter(is_busy, ids):
                part = dataset.get_fragment(id_)
                assert part is not None
                values = part.to_table(with_row_id=True)
                fragment, fields = part.update_columns(values)
                operation = lance.LanceOperation.Update(
                    updated_fragments=[fragment], fields_modified=list(fields)
                )
                dataset = lance.LanceDataset.commit(dataset, operation, dataset.version)
            return commit(snapshot, results, *args)

        monkeypatch.setattr(compact, "commit_valid_results", replaced)


def test_busy_fragments_are_left_and_the_others_compacted(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = table_of(uri, [10] * 12)
    rewriter = Rewriter(monkeypatch, lambda id_: id_ in (3, 8))
    metrics = dataset.optimize.compact_files()
    assert rewriter.commits[0] == [*range(12)]
    assert metrics.fragments_removed + metrics.fragments_left == 12
    assert 2 <= metrics.fragments_left <= 4
    left = [one.fragment_id for one in dataset.get_fragments() if one.fragment_id < 12]
    assert len(left) == metrics.fragments_left
    assert {3, 8} <= {*left}
    assert sorted(dataset.to_table()["i"].to_pylist()) == [*range(120)]
    dataset.validate()


def test_tasks_without_a_conflict_are_committed_at_once(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = table_of(uri, [10] * 12)
    rewriter = Rewriter(monkeypatch, lambda id_: id_ == 0 and len(rewriter.commits) == 1)
    metrics = dataset.optimize.compact_files(target_rows_per_fragment=40)
    assert rewriter.commits == [[*range(12)], [0, 1], [2, 3]]
    assert (metrics.fragments_removed, metrics.fragments_left) == (12, 0)
    assert sorted(dataset.to_table()["i"].to_pylist()) == [*range(120)]


def test_a_compaction_that_conflicts_kept_from_all_fragments_is_an_error(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = table_of(uri, [10] * 2)
    version = dataset.version
    Rewriter(monkeypatch, lambda _: True)
    with pytest.raises(RetryableCommitConflictError, match="all of its 2 fragments each time"):
        dataset.optimize.compact_files()
    assert dataset.version == version
    now = lance.dataset(uri)
    assert now.to_table()["i"].to_pylist() == [*range(20)]
    assert Compaction.plan(now, {}).num_tasks() == 1
