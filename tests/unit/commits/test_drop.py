"""Dropping a table, also if it is interrupted at any moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lance_core as lance
from lance_core.commits.drop import drop
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.errors import DatasetNotFoundError, InvalidInputError
from lance_core.store.local import LocalStore
from tests.crashing_store import Crash, CrashingStore


def a_table(path: Path) -> Any:
    lance.write_dataset({"a": [1, 2]}, path)
    lance.write_dataset({"a": [3]}, path, mode="append")
    newest = lance.write_dataset({"a": [4]}, path, mode="append")
    operation = lance.LanceOperation.Restore(1)
    lance.LanceDataset.commit(path, operation, read_version=3, detached=True)
    newest.create_branch("side").insert({"a": [5]})
    return newest.to_table().to_pydict()


def dropping(path: Path, deletions: int) -> None:
    store = CrashingStore(LocalStore(path), deletions)
    drop(store, PutIfAbsentCommitHandler(store))


def files(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file()]


def test_at_every_moment_the_table_is_whole_or_gone_and_dropping_again_completes(
    tmp_path: Path,
) -> None:
    ends = set()
    count = 0
    while True:
        path = tmp_path / str(count)
        content = a_table(path)
        try:
            dropping(path, count)
        except Crash:
            pass
        else:
            break
        try:
            found = lance.dataset(path)
        except DatasetNotFoundError:
            ends.add("gone")
        else:
            assert (found.version, found.to_table().to_pydict()) == (3, content)
            ends.add("whole")
        lance.LanceDataset.drop(path)
        assert files(path) == []
        count += 1
    assert count > 10
    assert ends == {"gone", "whole"}
    assert files(tmp_path / str(count)) == []


@pytest.mark.parametrize("name", ["file", "data/x.lance", "_versions/latest_version_hint.json"])
def test_a_folder_that_is_no_table_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("keep")
    with pytest.raises(InvalidInputError, match="not a table"):
        lance.LanceDataset.drop(tmp_path)
    assert (tmp_path / name).read_text() == "keep"


def test_a_folder_above_tables_is_left_alone(tmp_path: Path) -> None:
    content = a_table(tmp_path / "one")
    with pytest.raises(InvalidInputError, match="not a table"):
        lance.LanceDataset.drop(tmp_path)
    assert lance.dataset(tmp_path / "one").to_table().to_pydict() == content


def test_a_table_with_manifests_of_two_schemes_can_be_dropped(tmp_path: Path) -> None:
    a_table(tmp_path)
    (tmp_path / "_versions" / "1.manifest").write_bytes(b"")
    lance.LanceDataset.drop(tmp_path)
    assert files(tmp_path) == []
