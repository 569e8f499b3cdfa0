"""Whatever happens at whichever store call of a cleanup, and a cleanup at any call of what happens.

One of the two runs as a whole between two store calls of the other; every place for it is tried.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

from lance_core.commits.cleanup.execution import clean
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import read_version
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import DEADLINE, CommitOptions
from lance_core.commits.refs import RefTarget, create_tag, delete_tag
from lance_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    DatasetNotFoundError,
    StoreError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.table.file_references import references
from lance_core.table.manifest.file import parse_manifest_file
from lance_core.table.paths import manifest_path
from lance_core.table.transactions.operations import Restore, UpdateConfig, UpdateMap
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import append
from tests.each_case import each_case
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


def missing_beside(table: Table) -> list[str]:
    """Files that detached versions name and that are not there."""
    paths = [path for path in table.paths if path.startswith("_versions/d")]
    files = [parse_manifest_file(table.store.get(path), path) for path in paths]
    named = (reference for file in files for reference in references(file))
    return [r.path for r in named if not r.is_folder and not table.has(r.path)]


Act = Callable[[Table, ObjectStore], None]


def restore(table: Table, store: ObjectStore) -> None:
    made = Transaction(4, new_name(), Restore(2))
    handler = PutIfAbsentCommitHandler(store)
    commit_transaction(handler, store, made, environment=table.environment)


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
    commit_transaction(handler, store, made, environment=table.environment)


def make_detached(table: Table, store: ObjectStore) -> None:
    """A version beside the history, made of version 2; what it adds is nothing."""
    made = Transaction(2, new_name(), UpdateConfig(config=UpdateMap({"key": "value"})))
    handler = PutIfAbsentCommitHandler(store)
    options = CommitOptions(detached=True)
    commit_transaction(handler, store, made, None, options, table.environment)


def clean_up(table: Table, store: ObjectStore) -> None:
    clean(store, PutIfAbsentCommitHandler(store), POLICY, table.environment)


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
    assert missing_beside(table) == []
    head = table.handler.list_versions()[-1]
    if act in (restore, commit):
        assert (head.version == 5) == succeeded
    if act is tag and succeeded:
        assert 2 in table.versions
        assert json.loads(bytes(table.store.get("_refs/tags/kept.json")))["version"] == 2
    if act is restore and succeeded:
        assert read_version(table.store, head).file.manifest.fragments
    assert not any("lance-core-pin" in path for path in table.paths)


@each_case("act", [restore, tag, commit, make_detached, clean_up])
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


@each_case("act", [restore, commit, make_detached])
def test_what_stood_still_until_its_pin_lapsed_is_not_acknowledged_with_files_missing(
    act: Act,
) -> None:
    """A process that stands still before any call, while time passes and a cleanup runs."""
    original = overwritten(4)
    number = 0
    outcomes = []
    while True:
        table = original.copy()

        def meanwhile(table: Table = table) -> None:
            table.wait(timedelta(seconds=2 * DEADLINE + 1))
            clean_up(table, table.store)

        store = Interrupted(table.store, number, meanwhile)
        with contextlib.suppress(CommitUnknownError):
            outcomes.append(attempt(act, table, store))
            assert not outcomes[-1] or [*table.missing(), *missing_beside(table)] == []
        if store.left >= 0:
            break
        number += 1
    assert True in outcomes


@each_case("act", [restore, tag, commit, make_detached])
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


class Failing(StoreWrapper):
    """Version 2 gets a tag before it is removed; of the calls ``of`` after that, one fails."""

    def __init__(self, inner: ObjectStore, of: Callable[[StoreCall], bool]) -> None:
        super().__init__(inner)
        self._is_to_fail = of
        self.state = "before"

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        if self.state == "before" and call.method == "delete" and call.path == manifest_path(2):
            self.state = "tagged"
            create_tag(self.inner, "kept", RefTarget(2))
        elif self.state == "tagged" and self._is_to_fail(call):
            self.state = "failed"
            raise StoreError("once")
        return run()


@each_case(
    ("is_to_fail", "left"),
    [
        (lambda call: call.method == "list" and call.path == "_refs", [1, 2, 3, 4]),
        (lambda call: call.method == "get" and call.path.startswith("_refs/"), [1, 2, 3, 4]),
        (lambda call: call.method == "put", [2, 4]),
    ],
)
def test_one_failing_request_loses_no_tagged_version(
    is_to_fail: Callable[[StoreCall], bool], left: list[int]
) -> None:
    table = overwritten(4)
    store = Failing(table.store, is_to_fail)
    with contextlib.suppress(StoreError):
        clean_up(table, store)
    assert store.state == "failed"
    assert table.versions == left
    assert table.missing() == []
