"""The kit fails on what is defective: a catalogue of planted defects, each with what catches it.

Not caught, and why: a store that loses an object later than the tests look; one that is wrong only
for objects of more than 25 MB; rights and quotas of a service; a clock that is off by less than ten
minutes; a cache with a time limit longer than a test takes and shorter than a service's life; a
race between machines whose clocks differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.store.memory import MemoryStore
from lance_core_testing import CommitHandlerTests, ExternalManifestStoreTests, ObjectStoreTests
from tests.conformance.planted import (
    encodings,
    handlers,
    index_types,
    ranked_indices,
    rows,
    sql_functions,
    stores,
)
from tests.conformance.planted.runner import Defect, failure_of

Fixtures = Callable[[Any], Mapping[str, object]]


def missed(kit: object, defects: Iterable[Defect], fixtures: Fixtures) -> list[str]:
    """The defects on which none of their tests fails."""
    return [
        one.name
        for one in defects
        if not any(failure_of(kit, test, partial(fixtures, one.make)) for test in one.tests)
    ]


def failed(kit: object, defects: Iterable[Defect], fixtures: Fixtures, good: object) -> list[str]:
    """What the tests that catch the defects say of something that has none."""
    tests = sorted({test for one in defects for test in one.tests})
    told = [failure_of(kit, test, partial(fixtures, good)) for test in tests]
    return [f"{test}: {text}" for test, text in zip(tests, told, strict=True) if text]


class QuickStoreTests(ObjectStoreTests):
    """The tests of stores, which give up soon on a child that hangs."""

    fork_seconds = 1.0


def test_every_planted_defect_of_a_store_is_caught(tmp_path: Path) -> None:
    kit, on_disk = QuickStoreTests(), partial(stores.fixtures_on_disk, folder=tmp_path)
    assert missed(kit, stores.IN_MEMORY, stores.fixtures) == []
    assert missed(kit, stores.ON_DISK, on_disk) == []
    assert failed(kit, stores.IN_MEMORY, stores.fixtures, MemoryStore) == []
    assert failed(kit, stores.ON_DISK, on_disk, stores.OnDisk) == []


def test_every_planted_defect_of_a_commit_handler_is_caught(tmp_path: Path) -> None:
    kit, on_disk = CommitHandlerTests(), partial(handlers.fixtures_on_disk, folder=tmp_path)
    assert missed(kit, handlers.IN_MEMORY, handlers.fixtures) == []
    assert missed(kit, handlers.OF_LOG, handlers.fixtures_of_log) == []
    assert missed(kit, handlers.ON_DISK, on_disk) == []
    assert failed(kit, handlers.IN_MEMORY, handlers.fixtures, PutIfAbsentCommitHandler) == []
    assert failed(kit, handlers.OF_LOG, handlers.fixtures_of_log, handlers.LogHandler) == []
    assert failed(kit, handlers.ON_DISK, on_disk, PutIfAbsentCommitHandler) == []


def test_every_planted_defect_of_rows_is_caught() -> None:
    kit = ExternalManifestStoreTests()
    assert missed(kit, rows.ALL, rows.fixtures) == []
    between_threads = [one for one in rows.ALL if one.make is not rows.in_one_process]
    assert failed(kit, between_threads, rows.fixtures, rows.Rows) == []


def test_every_planted_defect_of_an_encoding_is_caught() -> None:
    for test in sorted({test for _, _, test in encodings.OF_VALUES}):
        assert failure_of(encodings.Floats(), test, dict) is None, test
    for name, changes, test in encodings.OF_VALUES:
        assert failure_of(encodings.of_values(changes), test, dict), name
    for one in encodings.OF_ARRAYS:
        for test in one.tests:
            assert failure_of(encodings.Flat(), test, dict) is None, test
            assert failure_of(one.make(), test, dict), one.name


def test_every_planted_defect_of_an_index_type_is_caught() -> None:
    tests = sorted({test for one in index_types.ALL for test in one.tests})
    assert [failure_of(index_types.Good(), test, dict) for test in tests] == [None] * len(tests)
    for kind in (index_types.Sized, index_types.Exact):
        told = [failure_of(index_types.tested(kind), test, dict) for test in index_types.OF_RESULTS]
        assert told == [None] * len(told)
    missed = [
        one.name
        for one in index_types.ALL
        if not any(failure_of(index_types.tested(one.make), test, dict) for test in one.tests)
    ]
    assert missed == []


def test_every_planted_defect_of_a_search_or_a_ranked_index_is_caught() -> None:
    tests = sorted({test for one in ranked_indices.ALL for test in one.tests})
    for kit in (ranked_indices.Good(), ranked_indices.tested(ranked_indices.Ranks)):
        assert [failure_of(kit, test, dict) for test in tests] == [None] * len(tests)
    missed = [
        one.name
        for one in ranked_indices.ALL
        if not any(failure_of(ranked_indices.tested(one.make), test, dict) for test in one.tests)
    ]
    assert missed == []


def test_every_planted_defect_of_an_sql_function_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fixtures = partial(dict, monkeypatch=monkeypatch)
    for one in sql_functions.ALL:
        for test in one.tests:
            assert failure_of(sql_functions.Good(), test, fixtures) is None, test
            assert failure_of(sql_functions.tested(one.make()), test, fixtures), one.name


def test_the_catalogue_has_150_kinds_of_defects() -> None:
    kinds = [one.name for defects in ALL for one in defects]
    assert len(kinds) + len(encodings.OF_VALUES) >= 150


ALL = (
    *(stores.IN_MEMORY, stores.ON_DISK, handlers.IN_MEMORY, handlers.OF_LOG, handlers.ON_DISK),
    *(rows.ALL, encodings.OF_ARRAYS, index_types.ALL, ranked_indices.ALL, sql_functions.ALL),
)
