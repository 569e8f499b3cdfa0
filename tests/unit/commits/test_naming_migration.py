"""Renaming manifests, also if it is interrupted at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_core as lance
from lance_core.commits.naming_migration import migrate_names
from lance_core.dataset import migrate_manifest_paths_v2
from lance_core.errors import CorruptFileError
from lance_core.store.base import Buffers, PutMode, StoreCapabilities
from lance_core.store.local import LocalStore
from tests.crashing_store import Crash, CrashingStore

VERSIONS = 4


class StoreWithoutCreate(CrashingStore):
    """Does not guarantee that a write replaces nothing."""

    @property
    def capabilities(self) -> StoreCapabilities:
        return StoreCapabilities()

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        assert mode is PutMode.overwrite
        super().put(path, data, mode)


def an_old_table(path: Path) -> None:
    for number in range(VERSIONS):
        mode = "append" if number else "create"
        lance.write_dataset({"a": [number]}, path, mode=mode, enable_v2_manifest_paths=False)


def names(path: Path) -> set[str]:
    return {file.name for file in (path / "_versions").glob("*.manifest")}


@pytest.mark.parametrize("kind", [CrashingStore, StoreWithoutCreate])
def test_at_every_moment_readers_see_the_newest_version_or_refuse_and_another_try_completes(
    tmp_path: Path, kind: type[CrashingStore]
) -> None:
    for count in range(2 * VERSIONS):
        path = tmp_path / str(count)
        an_old_table(path)
        store = kind(LocalStore(path), count)
        with pytest.raises(Crash):
            migrate_names(store)
        if count == 0:
            assert lance.dataset(path).version == VERSIONS
        else:
            with pytest.raises(CorruptFileError, match="two schemes"):
                lance.dataset(path)
        # What is renamed is the newest: whoever looks at new names only is not misled.
        renamed = sorted(int(name[:20]) for name in names(path) if len(name) > 20)
        assert renamed[:1] in ([], [2**64 - 1 - VERSIONS])
        migrate_manifest_paths_v2(path)
        assert all(len(name) == 29 for name in names(path))
        assert lance.dataset(path).to_table().to_pydict() == {"a": [0, 1, 2, 3]}
        assert [lance.dataset(path, version=v).count_rows() for v in (1, 2, 3, 4)] == [1, 2, 3, 4]


def test_two_manifests_of_one_version_are_both_kept(tmp_path: Path) -> None:
    an_old_table(tmp_path)
    other = tmp_path / "_versions" / f"{2**64 - 1 - 2:020}.manifest"
    other.write_bytes(b"of somebody else")
    with pytest.raises(CorruptFileError, match="version 2"):
        migrate_manifest_paths_v2(tmp_path)
    assert other.read_bytes() == b"of somebody else"
    assert "2.manifest" in names(tmp_path)


def test_a_table_with_new_names_stays_as_it_is(tmp_path: Path) -> None:
    dataset = lance.write_dataset({"a": [1]}, tmp_path)
    before = names(tmp_path)
    dataset.migrate_manifest_paths_v2()
    assert names(tmp_path) == before
    dataset.insert({"a": [2]})
    assert dataset.version == 2


def test_who_had_the_table_open_before_cannot_mix_the_names(tmp_path: Path) -> None:
    an_old_table(tmp_path)
    early = lance.dataset(tmp_path)
    lance.dataset(tmp_path, version=1).migrate_manifest_paths_v2()
    lance.write_dataset({"a": [9]}, tmp_path, mode="append")
    before = names(tmp_path)
    with pytest.raises(lance.errors.CommitConflictError):
        early.insert({"a": [10]})
    assert names(tmp_path) == before
