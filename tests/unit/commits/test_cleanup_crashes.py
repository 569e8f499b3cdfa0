"""A cleanup that dies at any store call leaves a table that is whole, and the next one ends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from lance_core.commits.cleanup.execution import clean
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import read_version
from lance_core.errors import DatasetNotFoundError, OutcomeUnknownError
from lance_core.store.base import ObjectStore
from lance_core.store.wrappers.base import StoreCall, StoreWrapper
from lance_core.table.file_references import references
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, RequestLost, ResponseLost
from tests.unit.commits.dated_table import ALL_BUT_ONE, DAY, Table, overwritten, plant

T = TypeVar("T")

ABANDONED = ["data/abandoned.lance", "_versions/.tmp_7.manifest", "_transactions/1-a.txn"]
POLICY = replace(ALL_BUT_ONE, error_if_tagged=False)


class Crash(BaseException):
    """The process is gone."""


class CrashingStore(StoreWrapper):
    """The call ``number``, counted from 0, is the last one; ``lands`` if it is still applied."""

    def __init__(self, inner: ObjectStore, number: int, lands: bool) -> None:
        super().__init__(inner)
        self.left = number
        self._lands = lands

    def around(self, call: StoreCall, run: Callable[[], T]) -> T:
        self.left -= 1
        if self.left >= 0:
            return run()
        if self.left == -1 and self._lands:
            run()
        raise Crash


def table_to_clean() -> Table:
    table = overwritten(4)
    tag = {"branch": None, "version": 2, "manifestSize": 1}
    table.store.put("_refs/tags/kept.json", json.dumps(tag).encode())
    plant(table, ABANDONED, 8 * DAY)
    return table


def needed(table: Table) -> set[str]:
    """What is left of the table if nothing superfluous is."""
    found = {"_refs/tags/kept.json"}
    for location in table.handler.list_versions():
        file = read_version(table.store, location).file
        found.add(location.path)
        found |= {r.path for r in references(file) if not r.is_folder}
    return found


def check_whole(table: Table) -> None:
    """The table opens, and each version that there is has all its files."""
    assert {2, 4}.issubset(table.versions)
    assert table.missing() == []


def check_finished(table: Table) -> None:
    """The next cleanup, and for files whose version is forgotten one a week later, ends it.

    It comes a day later: versions that were put back are as if they had just been superseded.
    """
    table.wait(DAY)
    clean(table.store, table.handler, POLICY, table.environment)
    assert table.versions == [2, 4]
    check_whole(table)
    table.wait(8 * DAY)
    clean(table.store, table.handler, POLICY, table.environment)
    assert table.paths == needed(table)


@pytest.mark.parametrize("lands", [False, True])
def test_a_crash_at_any_store_call_leaves_a_whole_table(lands: bool) -> None:
    original = table_to_clean()
    number = 0
    while True:
        table = original.copy()
        store = CrashingStore(table.store, number, lands)
        try:
            clean(store, PutIfAbsentCommitHandler(store), POLICY, table.environment)
        except Crash:
            number += 1
        else:
            break
        check_whole(table)
        check_finished(table)
    assert number > 30
    check_finished(table)


@pytest.mark.parametrize("fault", [RequestLost(), ResponseLost()])
def test_an_answer_lost_at_any_store_call_leaves_a_whole_table(
    fault: RequestLost | ResponseLost,
) -> None:
    original = table_to_clean()
    number = 0
    while True:
        number += 1
        table = original.copy()
        store = FaultyStore(table.store, [FaultRule(fault, nth=number)])
        try:
            clean(store, PutIfAbsentCommitHandler(store), POLICY, table.environment)
        except (OSError, OutcomeUnknownError, DatasetNotFoundError):
            assert store.injected
        check_whole(table)
        check_finished(table)
        if not store.injected:
            break
    assert number > 30
