"""Which versions a cleanup removes, by policy, names of versions and commit deadlines."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lance_core.commits.cleanup.execution import clean
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.pins import PIN_PREFIX
from lance_core.commits.cleanup.plan import KeptReason
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.environment import Environment
from lance_core.commits.history import read_version
from lance_core.errors import (
    CleanupError,
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    UnsupportedFeatureError,
)
from tests.each_case import each_case
from tests.unit.commits.cleanup.steps import (
    NEVER_NAMED,
    branch,
    cleaned,
    own_files,
    put_manifest,
    tag,
)
from tests.unit.commits.dated_table import (
    ALL_BUT_ONE,
    DAY,
    Table,
    new_name,
    overwritten,
    plant,
)

MINUTE = timedelta(minutes=1)


# --- which versions ------------------------------------------------------------------------------


@each_case(
    ("policy", "left"),
    [
        (CleanupPolicy(), [7, 8]),  # 14 days
        (CleanupPolicy(older_than=20 * DAY), [5, 6, 7, 8]),
        (CleanupPolicy(older_than=timedelta(0)), [8]),
        (CleanupPolicy(older_than=-DAY), [8]),
        (CleanupPolicy(retain_versions=3), [6, 7, 8]),
        (CleanupPolicy(retain_versions=100), [1, 2, 3, 4, 5, 6, 7, 8]),
        (CleanupPolicy(older_than=20 * DAY, retain_versions=6), [3, 4, 5, 6, 7, 8]),
        (CleanupPolicy(older_than=20 * DAY, retain_versions=1), [5, 6, 7, 8]),
        (CleanupPolicy(versions=frozenset({1, 5, 8, 99})), [2, 3, 4, 6, 7, 8]),
        (CleanupPolicy(versions=frozenset({1, 5}), retain_versions=5), [2, 3, 4, 5, 6, 7, 8]),
        (CleanupPolicy(versions=frozenset({1, 6}), older_than=20 * DAY), [2, 3, 4, 5, 6, 7, 8]),
        (CleanupPolicy(retain_versions=1, before=3), [3, 4, 5, 6, 7, 8]),
    ],
)
def test_what_the_policy_says_must_all_hold(policy: CleanupPolicy, left: list[int]) -> None:
    table = overwritten(8, 5 * DAY)
    gone = set(range(1, 9)) - set(left)
    report = cleaned(table, policy)
    assert table.versions == left
    assert set(report.versions) == gone
    assert table.missing() == []
    # Each version has one data file and one transaction of its own.
    assert len([path for path in table.paths if path.startswith("data/")]) == len(left)
    assert len([path for path in table.paths if path.startswith("_transactions/")]) == len(left)
    counts = {FileKind.DATA, FileKind.TRANSACTION, FileKind.MANIFEST} if gone else set()
    assert report.files_removed == dict.fromkeys(counts, len(gone))


@each_case(
    "arguments", [{"retain_versions": 0}, {"versions": frozenset()}, {"delete_rate_limit": 0}]
)
def test_a_policy_that_makes_no_sense_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        CleanupPolicy(**arguments)  # type: ignore[arg-type]  # one of several types


def test_files_that_a_newer_version_shares_stay() -> None:
    table = Table()
    first = table.overwrite()
    table.wait(DAY)
    table.append()
    table.wait(DAY)
    assert cleaned(table).versions == (1,)
    assert own_files(first) & table.paths == {p for p in own_files(first) if p.startswith("data/")}
    assert table.missing() == []


def test_a_quiet_table_is_left_without_a_superfluous_file() -> None:
    table = overwritten(5)
    plant(table, NEVER_NAMED, 8 * DAY)
    cleaned(table)
    head = read_version(table.store, table.handler.locate(5))
    assert table.paths == own_files(head) | {head.location.path}


def test_no_table_is_an_error() -> None:
    with pytest.raises(DatasetNotFoundError):
        cleaned(Table())


# --- names for versions --------------------------------------------------------------------------


def test_a_tagged_version_is_an_error_before_anything_is_removed() -> None:
    table = overwritten(3)
    tag(table, 2)
    before = table.paths
    with pytest.raises(CleanupError, match=r"1 tagged version.*\{'kept': 2\}"):
        cleaned(table)
    assert table.paths == before
    cleaned(table, CleanupPolicy(versions=frozenset({1})))
    assert table.versions == [2, 3]


def test_a_tagged_version_stays_whole_if_that_is_no_error() -> None:
    table = overwritten(3)
    tag(table, 2)
    report = cleaned(table, replace(ALL_BUT_ONE, error_if_tagged=False))
    assert table.versions == [2, 3]
    assert [(kept.version, kept.reason) for kept in report.kept] == [(2, KeptReason.TAGGED)]
    assert table.missing() == []


def test_a_tag_of_another_branch_protects_nothing_here() -> None:
    table = overwritten(3)
    tag(table, 2, branch="dev")
    assert cleaned(table).versions == (1, 2)


def test_the_version_that_a_branch_begins_at_stays_whole() -> None:
    table = overwritten(3)
    branch(table, 2)
    report = cleaned(table)
    assert table.versions == [2, 3]
    assert [(kept.version, kept.reason) for kept in report.kept] == [(2, KeptReason.BRANCH)]
    assert table.missing() == []


@pytest.mark.parametrize("delete_unverified", [False, True])
def test_a_pinned_version_stays_until_its_pin_lapses(delete_unverified: bool) -> None:
    table = overwritten(3)
    policy = replace(ALL_BUT_ONE, delete_unverified=delete_unverified)
    tag(table, 2, f"{PIN_PREFIX}{new_name()}")
    assert cleaned(table, policy).versions == (1,)
    table.wait(15 * MINUTE)  # less than two deadlines
    assert cleaned(table, policy).versions == ()
    table.wait(6 * MINUTE)
    assert cleaned(table, policy).versions == (2,)
    assert not any(path.startswith("_refs/") for path in table.paths)


@each_case("path", ["_refs/tags/t.json", "_refs/branches/b.json"])
@each_case("content", [b"", b"{", b"[]", b'{"version": -1, "parentVersion": "1"}'])
def test_names_that_cannot_be_read_stop_a_cleanup(path: str, content: bytes) -> None:
    table = overwritten(3)
    table.store.put(path, content)
    with pytest.raises(CorruptFileError):
        cleaned(table)
    assert table.versions == [1, 2, 3]
    assert table.missing() == []


def test_names_of_an_unknown_kind_stop_a_cleanup() -> None:
    table = overwritten(3)
    table.store.put("_refs/stashes/a.json", b"{}")
    before = table.paths
    with pytest.raises(UnsupportedFeatureError, match=r"_refs/stashes/a\.json"):
        cleaned(table)
    assert table.paths == before


# --- the commit deadline -------------------------------------------------------------------------


def test_versions_superseded_within_two_commit_deadlines_stay() -> None:
    table = overwritten(5, 10 * MINUTE)  # superseded 40, 30, 20, 10 minutes ago; the clock rests
    report = cleaned(table)
    assert table.versions == [4, 5]
    assert [(kept.version, kept.reason) for kept in report.kept] == [(4, KeptReason.RECENT)]
    assert len(report.warnings) == 1
    assert "superseded less than 1200 s ago" in report.warnings[0]


def say_deadline(table: Table, version: int, text: str) -> None:
    found = read_version(table.store, table.handler.locate(version))
    manifest = replace(found.file.manifest, config={"lance_core.commit_deadline": text})
    put_manifest(table, found.location.path, replace(found.file, manifest=manifest))


def test_the_tables_own_deadline_counts() -> None:
    table = overwritten(4, MINUTE)
    for version in (1, 2, 3):
        say_deadline(table, version, "30")
    table.wait(MINUTE)
    say_deadline(table, 4, "30")
    cleaned(table)
    assert table.versions == [3, 4]  # its successor was written just now


def test_a_deadline_that_was_lowered_counts_for_those_who_did_not_see_that() -> None:
    table = overwritten(4)
    say_deadline(table, 2, str(3 * DAY.total_seconds()))
    table.wait(DAY)
    cleaned(table)
    # Whoever saw version 2 as the newest may still make a version 3, if there is none.
    assert table.versions == [2, 3, 4]


@each_case(("text", "left"), [("inf", [1, 2, 3]), ("1e300", [1, 2, 3]), ("nan", [3]), ("-5", [3])])
def test_a_strange_deadline_stops_nothing_but_removals(text: str, left: list[int]) -> None:
    table = overwritten(3)
    head = read_version(table.store, table.handler.locate(3))
    manifest = replace(head.file.manifest, config={"lance_core.commit_deadline": text})
    put_manifest(table, head.location.path, replace(head.file, manifest=manifest))
    table.wait(DAY)
    cleaned(table)
    assert table.versions == left


def test_what_landed_late_counts_from_when_it_landed() -> None:
    table = overwritten(4)
    late = table.handler.locate(2).path
    content = bytes(table.store.get(late))
    table.store.put(late, content)
    # Version 1 has a successor since then only.
    assert cleaned(table).versions == (3,)


def test_the_callers_word_overrides_the_deadline() -> None:
    table = overwritten(4, MINUTE)
    report = cleaned(table, replace(ALL_BUT_ONE, delete_unverified=True))
    assert report.versions == (1, 2, 3)
    assert report.warnings == ()


def test_a_wrong_local_clock_changes_nothing() -> None:
    table = overwritten(3, MINUTE)
    plant(table, NEVER_NAMED, MINUTE)
    tomorrow = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp()) * 10**9
    report = clean(table.store, table.handler, ALL_BUT_ONE, Environment(clock=lambda: tomorrow))
    assert report.versions == ()
    assert table.paths.issuperset(NEVER_NAMED)


def test_a_store_without_dates_is_refused_but_for_the_callers_word() -> None:
    table = overwritten(3)
    plant(table, NEVER_NAMED, DAY)
    table.objects.now = datetime(1970, 1, 1, tzinfo=UTC)
    for path, content in table.objects.contents().items():
        table.store.put(path, content)
    with pytest.raises(UnsupportedFeatureError, match="does not date"):
        cleaned(table)
    assert table.versions == [1, 2, 3]
    cleaned(table, replace(ALL_BUT_ONE, delete_unverified=True))
    assert table.versions == [3]
    assert table.paths.isdisjoint(NEVER_NAMED)


def test_an_undated_file_is_not_taken_for_an_old_one() -> None:
    table = overwritten(2)
    plant(table, ["data/new.lance"], table.objects.now - datetime(1970, 1, 1, tzinfo=UTC))
    cleaned(table)
    assert "data/new.lance" in table.paths
