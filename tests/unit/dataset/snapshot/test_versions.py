"""All versions are described as each of them alone, though their counts are shared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.handlers.directory import ReadOnlyCommitHandler
from lance_core.dataset.snapshot import open_table, versions
from lance_core.plugins import open_store
from lance_core.store.base import ObjectStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.table.fragments import fragment_counts
from lance_core.table.fragments.fragment_counts import FragmentCounts
from tests.table_surgery import delete_rows

T = TypeVar("T")
ROWS = pa.table({"x": range(10)})


def test_each_version_is_described_as_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANCE_CORE_DURABILITY", "fast")
    uri = str(tmp_path / "t.lance")
    for _ in range(3):
        dataset = lance.write_dataset(ROWS, uri, mode="append")
    dataset = delete_rows(dataset, {1: [2, 3]})
    dataset = lance.write_dataset(ROWS, dataset, mode="append")
    dataset = delete_rows(dataset, {1: [2, 3, 4], 3: [1]}, gone=[0])
    dataset = lance.write_dataset(ROWS, dataset, mode="overwrite")
    alone = [dataset.checkout_version(number).get_version() for number in range(1, 8)]
    assert dataset.versions() == alone
    assert [version["metadata"]["total_rows"] for version in alone] == [
        *("10", "20", "30", "28", "38", "26", "10")
    ]
    monkeypatch.setattr(fragment_counts, "MANY", 1)
    assert dataset.versions() == alone


class Pairs(StoreWrapper):
    """A remote store that answers reads of manifests in pairs."""

    def __init__(self, inner: ObjectStore) -> None:
        super().__init__(inner)
        self.read_ahead = 1 << 20
        self.pair = threading.Barrier(2)

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        if call.method == "get":
            self.pair.wait(60)
        return run()


def test_manifests_of_remote_tables_are_read_concurrently() -> None:
    uri = "memory://pairs/t.lance"
    for _ in range(6):
        dataset = lance.write_dataset(ROWS, uri, mode="append")
    store = Pairs(open_store(uri))
    root = open_table.open_root(uri)
    root = replace(root, store=store, handler=ReadOnlyCommitHandler(store))
    assert versions.describe_all(root) == dataset.versions()


def test_bytes_of_shared_fragments_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = "memory://shared/t.lance"
    for _ in range(40):
        dataset = lance.write_dataset(ROWS, uri, mode="append")
    parsed = []
    of = FragmentCounts.of

    def counted(raw: Sequence[bytes]) -> FragmentCounts:
        parsed.append(len(raw))
        return of(raw)

    monkeypatch.setattr(FragmentCounts, "of", counted)
    described = dataset.versions()
    assert sum(parsed) == 40
    assert [one["metadata"]["total_fragments"] for one in described] == [
        str(number) for number in range(1, 41)
    ]
    dataset = lance.write_dataset(ROWS, delete_rows(dataset, {39: [1]}), mode="append")
    parsed.clear()
    assert dataset.versions()[-1]["metadata"]["total_rows"] == "409"
    assert sum(parsed) == 42
