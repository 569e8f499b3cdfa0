"""The newest version is found by a few names, if one was found just before; else by a listing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.directory import ReadOnlyCommitHandler
from lance_core.commits.newest import PROBING
from lance_core.store.local import Durability, LocalStore
from lance_core.table.paths import NamingScheme, manifest_path
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case
from tests.virtual_time import VirtualTime

V1, V2 = NamingScheme
KNOWN = 8_000
MILLISECOND = 0.001


class Table:
    """A local table whose only manifest is that of version `KNOWN`, found already."""

    def __init__(self, folder: Path, naming: NamingScheme = V2, is_free: bool = True) -> None:
        self.naming = naming
        self.store = TracingStore(LocalStore(folder, Durability.fast))
        self.store.has_views = is_free
        self.time = VirtualTime()
        self.add(KNOWN)
        self._handler = ReadOnlyCommitHandler(self.store, self.time.environment)
        assert self.newest() == (KNOWN, 1)

    def add(self, *versions: int) -> None:
        for version in versions:
            self.store.put(manifest_path(version, self.naming), b"%d" % version)

    def remove(self, *versions: int) -> None:
        for version in versions:
            self.store.delete(manifest_path(version, self.naming))

    def newest(self) -> tuple[int, int]:
        """The newest version, and how often names were listed to find it."""
        self.store.trace.clear()
        newest = self._handler.latest()
        assert newest is not None
        assert newest.path == manifest_path(newest.version, self.naming)
        assert newest.size == self.store.head(newest.path).size
        return newest.version, self.store.trace.counts["list_names"]


@each_case("naming", [V1, V2])
def test_a_version_found_just_before_needs_no_listing(tmp_path: Path, naming: NamingScheme) -> None:
    table = Table(tmp_path, naming)
    for newer in range(1, 4):
        assert table.newest() == (KNOWN + newer - 1, 0)
        table.add(KNOWN + newer)
        table.time.sleep(MILLISECOND)
    assert table.newest() == (KNOWN + 3, 0)


def test_versions_that_a_cleanup_removed_hide_no_newer_one(tmp_path: Path) -> None:
    table = Table(tmp_path)
    made = PROBING.slack + int(PROBING.commits_per_second * 3 * MILLISECOND)
    table.time.sleep(3 * MILLISECOND)
    table.add(KNOWN + made)
    assert table.newest() == (KNOWN + made, 0)


@each_case("removed", [[], [KNOWN]])
def test_a_known_version_that_was_removed_or_replaced_is_no_start(
    tmp_path: Path, removed: list[int]
) -> None:
    table = Table(tmp_path)
    table.remove(KNOWN)
    table.add(*(KNOWN - 5, KNOWN + 500) if removed else (KNOWN, KNOWN + 500))
    assert table.newest() == (KNOWN + 500, 1)


def test_after_a_while_the_names_are_listed(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.add(KNOWN + 5_000)
    table.time.sleep(1.0)
    assert table.newest() == (KNOWN + 5_000, 1)
    assert table.newest() == (KNOWN + 5_000, 0)


def test_where_a_look_costs_a_request_the_names_are_listed(tmp_path: Path) -> None:
    table = Table(tmp_path, is_free=False)
    assert table.newest() == (KNOWN, 1)


def test_a_commit_to_a_table_of_many_versions_lists_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Environment, "stopwatch", lambda _: lambda: 0.0)
    table = pa.table({"id": [1]})
    dataset = lance.write_dataset(table, tmp_path / "t.lance")
    for _ in range(PROBING.slack * PROBING.names_per_probe):
        dataset.update_config({"key": "value"})
    listed: list[str] = []
    list_names = LocalStore.list_names
    monkeypatch.setattr(
        LocalStore, "list_names", lambda *call: (listed.append(call[1]), list_names(*call))[1]
    )
    dataset = lance.write_dataset(table, dataset, mode="append")
    dataset.checkout_latest()
    assert dataset.count_rows() == 2
    assert listed == []
