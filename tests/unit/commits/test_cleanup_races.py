"""Whatever happens at whichever store call of a cleanup, and a cleanup at any call of what happens.

One of the two runs as a whole between two store calls of the other; every place for it is tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest

from lance_core.commits.attempt import commit_transaction
from lance_core.commits.cleanup import clean
from lance_core.commits.history import read_version
from lance_core.commits.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.refs import RefTarget, create_tag, delete_tag
from lance_core.errors import CommitConflictError, DatasetNotFoundError
from lance_core.store.base import ObjectStore
from lance_core.store.wrapper import StoreCall, StoreWrapper
from lance_core.table.operations import Restore
from lance_core.table.transaction import Transaction
from lance_core.testing.sample_transactions import append
from tests.unit.commits.dated_table import ALL_BUT_ONE, Table, new_name, overwritten

T = TypeVar("T")

POLICY = replace(ALL_BUT_ONE, error_if_tagged=False)


class Interrupted(StoreWrapper):
    """Before the call ``number``, counted from 0, something else happens."""

    def __init__(self, inner: ObjectStore, number: int, what: Callable[[], object]) -> None:
        super().__init__(inner)
        self.left = number
        self._what = what

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        self.left -= 1
        if self.left == -1:
            self._what()
        return run()


Act = Callable[[Table, ObjectStore], None]


def restore(table: Table, store: ObjectStore) -> None:
    made = Transaction(4, new_name(), Restore(2))
    handler = PutIfAbsentCommitHandler(store)
    commit_transaction(handler, store, made, surroundings=table.surroundings)


def tag(table: Table, store: ObjectStore) -> None:
    """As `Tags.create` does it."""
    handler = PutIfAbsentCommitHandler(store)
    handler.locate(2)
    create_tag(store, "kept", RefTarget(2))
    try:
        handler.locate(2)
    except DatasetNotFoundError:
        delete_tag(store, "kept")
        raise


def commit(table: Table, store: ObjectStore) -> None:
    made = append(4)
    for fragment in made.operation.fragments:  # type: ignore[attr-defined]  # an Append
        for file in fragment.files:
            store.put(f"data/{file.path}", b"content")
    handler = PutIfAbsentCommitHandler(store)
    commit_transaction(handler, store, made, surroundings=table.surroundings)


def clean_up(table: Table, store: ObjectStore) -> None:
    clean(store, PutIfAbsentCommitHandler(store), POLICY, table.surroundings)


def attempt(act: Act, table: Table, store: ObjectStore) -> bool:
    """Whether it succeeded; what it was to be made of may be gone."""
    try:
        act(table, store)
    except (DatasetNotFoundError, CommitConflictError):
        return False
    return True


def check(table: Table, act: Act, succeeded: bool) -> None:
    """What there is is whole, and what was acknowledged is there."""
    assert table.missing() == []
    head = table.handler.list_versions()[-1]
    if act is not tag and act is not clean_up:
        assert (head.version == 5) == succeeded
    if act is tag and succeeded:
        assert 2 in table.versions
        assert json.loads(bytes(table.store.get("_refs/tags/kept.json")))["version"] == 2
    if act is restore and succeeded:
        assert read_version(table.store, head).file.manifest.fragments
    assert not any("lance-core-pin" in path for path in table.paths)


@pytest.mark.parametrize("act", [restore, tag, commit, clean_up])
def test_nothing_is_lost_wherever_a_cleanup_is_interrupted(act: Act) -> None:
    original = overwritten(4)
    number = 0
    successes = 0
    while True:
        table = original.copy()
        results: list[bool] = []

        def what(table: Table = table, results: list[bool] = results) -> None:
            results.append(attempt(act, table, table.store))

        store = Interrupted(table.store, number, what)
        clean_up(table, store)
        if not results:
            break
        check(table, act, results[0])
        successes += results[0]
        number += 1
    assert number > 20
    assert successes > 5


@pytest.mark.parametrize("act", [restore, tag, commit])
def test_nothing_is_lost_wherever_a_cleanup_comes_in_between(act: Act) -> None:
    original = overwritten(4)
    number = 0
    while True:
        table = original.copy()
        store = Interrupted(table.store, number, partial(clean_up, table, table.store))
        succeeded = attempt(act, table, store)
        check(table, act, succeeded)
        if store.left >= 0:
            break
        number += 1
    assert number >= 3
