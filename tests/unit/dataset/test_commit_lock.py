"""The lock that a caller brings along holds during every commit through the dataset."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import lance_core as lance
from lance_core.fragment import write_fragments

versions: list[int] = []
"""What the lock was taken for."""


@contextmanager
def lock(version: int) -> Iterator[None]:
    """Remembers what it was taken for."""
    versions.append(version)
    yield


@pytest.fixture(autouse=True)
def nothing_locked() -> None:
    versions.clear()


def commit(uri: str) -> None:
    operation = lance.LanceOperation.Append(write_fragments({"a": [2]}, uri))  # type: ignore[arg-type]
    lance.LanceDataset.commit(uri, operation, 1, lock)


def commit_batch(uri: str) -> None:
    operation = lance.LanceOperation.Append(write_fragments({"a": [2]}, uri))  # type: ignore[arg-type]
    lance.LanceDataset.commit_batch(uri, [lance.Transaction(1, operation)], lock)


def write(uri: str) -> None:
    lance.write_dataset({"a": [2]}, uri, mode="append", commit_lock=lock)


def insert(uri: str) -> None:
    lance.dataset(uri, commit_lock=lock).insert({"a": [2]})


def insert_later(uri: str) -> None:
    dataset = lance.dataset(uri, commit_lock=lock)
    dataset.checkout_latest()
    dataset.checkout_version(1).insert({"a": [2]})


def delete(uri: str) -> None:
    lance.dataset(uri, commit_lock=lock).delete("a = 1")


def config(uri: str) -> None:
    lance.dataset(uri, commit_lock=lock).update_config({"a": "b"})


def restore(uri: str) -> None:
    lance.dataset(uri, commit_lock=lock).restore()


def elsewhere(uri: str) -> None:
    pickle.loads(pickle.dumps(lance.dataset(uri, commit_lock=lock))).insert({"a": [2]})


@pytest.mark.parametrize(
    "change",
    [commit, commit_batch, write, insert, insert_later, delete, config, restore, elsewhere],
)
def test_every_change_is_committed_inside_the_lock(uri: str, change: Callable[[str], None]) -> None:
    lance.write_dataset({"a": [1]}, uri)
    change(uri)
    assert versions == [2]
    assert lance.dataset(uri).version == 2


def test_a_table_is_made_inside_the_lock(uri: str) -> None:
    lance.write_dataset({"a": [1]}, uri, commit_lock=lock)
    assert versions == [1]


def test_the_lock_comes_before_the_handler_that_the_table_asks_for(uri: str) -> None:
    lance.write_dataset({"a": [1]}, uri).update_config({"lance_core.commit_handler": "rename"})
    insert(uri)
    assert versions == [3]


def test_a_branch_is_committed_to_inside_the_lock(uri: str) -> None:
    lance.write_dataset({"a": [1]}, uri)
    branch = lance.dataset(uri, commit_lock=lock).create_branch("side")
    versions.clear()
    branch.insert({"a": [2]})
    assert versions == [2]
