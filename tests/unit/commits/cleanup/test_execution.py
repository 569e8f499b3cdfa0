"""What a cleanup removes, what it spares, and when it refuses; by the ages that the store tells."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

import pytest

from lance_core._pb import table_pb2
from lance_core.commits.cleanup.execution import PUTTING_BACK, CleanupReport, clean, execute
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.pins import PIN_PREFIX
from lance_core.commits.cleanup.plan import KeptReason
from lance_core.commits.cleanup.planning import plan
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import MAIN_SCOPE, CleanupScope
from lance_core.commits.environment import Environment
from lance_core.commits.history import Version, read_version
from lance_core.errors import (
    CleanupError,
    CorruptFileError,
    DatasetNotFoundError,
    InvalidInputError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import PutMode
from lance_core.table.file_references import references
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.feature_flags import FeatureFlags
from lance_core.table.manifest.file import ManifestFile, serialize_manifest_file
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import DETACHED, manifest_path
from lance_core.table.transactions.operations import Restore
from lance_core.table.transactions.transaction import Transaction
from lance_core.testing.stores.faulty import FaultRule, FaultyStore, Refused
from lance_core.testing.stores.tracing import TracingStore
from tests.unit.commits.dated_table import (
    ALL_BUT_ONE,
    DAY,
    Table,
    new_name,
    overwritten,
    plant,
)

MINUTE = timedelta(minutes=1)
NEVER_NAMED = [
    "data/abandoned.lance",
    "data/abandoned/0001.blob",
    "data/.tmpab12cd",
    "_deletions/7-1-99.arrow",
    "_deletions/7-1-98.bin",
    "_transactions/1-abandoned.txn",
    "_indices/00000000-0000-4000-8000-000000000001/index.idx",
    "_versions/.tmp_7.manifest",
    "_refs/tags/.tmp77",
]
FOREIGN = [
    "data/notes.txt",
    "data/top.blob",
    "data.lance",
    "other/data.lance",
    "_deletions/7-1-98.parquet",
    "_indices/not-a-uuid/index.idx",
    "_indices/loose.idx",
    "_transactions/1-x.txn.bak",
    "_versions/latest_version_hint.json",
    "_refs/other/a.txt",
    "_refs/a.json",
    "readme.md",
]


def cleaned(table: Table, policy: CleanupPolicy = ALL_BUT_ONE) -> CleanupReport:
    return clean(table.store, table.handler, policy, table.environment)


def own_files(version: Version) -> set[str]:
    return {reference.path for reference in references(version.file) if not reference.is_folder}


def tag(table: Table, version: int, name: str = "kept", branch: str | None = None) -> None:
    content = {"branch": branch, "version": version, "manifestSize": 1}
    table.store.put(f"_refs/tags/{name}.json", json.dumps(content).encode())


def branch(table: Table, version: int, name: str = "dev") -> None:
    content = {"parentBranch": None, "parentVersion": version, "createAt": 1, "manifestSize": 1}
    table.store.put(f"_refs/branches/{name}.json", json.dumps(content).encode())


def put_manifest(table: Table, path: str, file: ManifestFile) -> None:
    table.store.put(path, serialize_manifest_file(file))


# --- which versions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("path", ["_refs/tags/t.json", "_refs/branches/b.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": -1, "parentVersion": "1"}'])
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


@pytest.mark.parametrize(
    ("text", "left"), [("inf", [1, 2, 3]), ("1e300", [1, 2, 3]), ("nan", [3]), ("-5", [3])]
)
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


# --- files that no version names -----------------------------------------------------------------


@pytest.mark.parametrize("days", [0, 6, 8])
@pytest.mark.parametrize("delete_unverified", [False, True])
def test_files_that_no_version_names_go_after_seven_days(
    days: int, delete_unverified: bool
) -> None:
    table = overwritten(2)
    plant(table, [*NEVER_NAMED, *FOREIGN], days * DAY)
    cleaned(table, replace(ALL_BUT_ONE, delete_unverified=delete_unverified))
    left = {path for path in NEVER_NAMED if path in table.paths}
    assert left == (set() if delete_unverified or days == 8 else set(NEVER_NAMED))
    assert table.paths.issuperset(FOREIGN)


def test_blobs_stay_and_go_with_their_data_file() -> None:
    table = Table()
    stems = []
    for _ in range(2):
        data = next(p for p in own_files(table.overwrite()) if p.startswith("data/"))
        stems.append(data.removesuffix(".lance"))
        table.store.put(f"{stems[-1]}/0001.blob", b"blob")
        table.wait(DAY)
    cleaned(table)
    assert f"{stems[0]}/0001.blob" not in table.paths
    assert f"{stems[1]}/0001.blob" in table.paths


def test_indices_stay_and_go_with_the_versions_that_list_them() -> None:
    table = overwritten(3)
    folders = []
    for number in (1, 3):
        key = bytes([number] * 16)
        index = table_pb2.IndexMetadata(uuid=table_pb2.UUID(uuid=key), name="i", fields=[0])
        index.index_details.type_url = "/lance.table.BTreeIndexDetails"
        folders.append(f"_indices/{'-'.join(_uuid_parts(key))}")
        table.store.put(f"{folders[-1]}/page_data.lance", b"index")
        made = read_version(table.store, table.handler.locate(number))
        section = table_pb2.IndexSection(indices=[index]).SerializeToString()
        put_manifest(table, made.location.path, replace(made.file, index_section=section))
    table.wait(DAY)
    assert cleaned(table).files_removed[FileKind.INDEX] == 1
    assert f"{folders[0]}/page_data.lance" not in table.paths
    assert f"{folders[1]}/page_data.lance" in table.paths


def _uuid_parts(key: bytes) -> list[str]:
    text = key.hex()
    return [text[:8], text[8:12], text[12:16], text[16:20], text[20:]]


def test_a_detached_version_keeps_its_manifest_and_its_files() -> None:
    table = overwritten(2)
    detached = read_version(table.store, table.handler.locate(1))
    put_manifest(table, manifest_path(DETACHED | 5), detached.file)
    assert cleaned(table).versions == (1,)
    assert manifest_path(DETACHED | 5) in table.paths
    assert table.paths.issuperset(own_files(detached))


def test_manifests_staged_for_versions_to_come_stay_others_go_in_time() -> None:
    table = overwritten(3)
    staged = {n: f"{manifest_path(n)}-{new_name()}" for n in (1, 2, 3, 4)}
    plant(table, [staged[1], staged[3], staged[4]], 8 * DAY)
    plant(table, [staged[2]], DAY)
    cleaned(table, CleanupPolicy(versions=frozenset({2})))
    # That of version 2 is young, but its version is gone: it must not be completed again.
    assert {n for n, path in staged.items() if path in table.paths} == {4}


# --- branches ------------------------------------------------------------------------------------


def clone(table: Table, source: int, target: str, base: str = "/elsewhere") -> Table:
    """A branch whose only version has all files of version ``source`` through a base path."""
    origin = read_version(table.store, table.handler.locate(source)).file
    fragments = [
        replace(fragment, files=tuple(replace(file, base_id=0) for file in fragment.files))
        for fragment in origin.manifest.fragments
    ]
    manifest = replace(
        origin.manifest,
        fragments=FragmentList.of(fragments),
        base_paths=(BasePath(0, base, is_dataset_root=not base.endswith("/data")),),
        branch=target,
        transaction_file="",
    )
    made = Table(table.objects, f"tree/{target}")
    put_manifest(made, manifest_path(source), ManifestFile(manifest))
    return made


@pytest.mark.parametrize("base", ["/elsewhere", "s3://alias/of/it", "/elsewhere/data"])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_files_that_a_branch_needs_stay(base: str, is_recorded: bool) -> None:
    table = overwritten(3)
    clone(table, 1, "dev", base)
    if is_recorded:  # else: it is being created at this moment
        branch(table, 1)
    data = {p for p in own_files(read_version(table.store, table.handler.locate(1))) if "data" in p}
    cleaned(table)
    assert table.versions == ([1, 3] if is_recorded else [3])
    assert table.paths.issuperset(data)


def test_files_of_a_branch_that_the_main_branch_needs_stay() -> None:
    table = overwritten(2)
    dev = clone(table, 1, "dev")
    branch(table, 1)
    plant(dev, ["data/needed.lance", "data/abandoned.lance"], 8 * DAY)
    newest = read_version(table.store, table.handler.locate(2)).file
    needed = replace(newest.manifest.fragments[0].files[0], path="needed.lance", base_id=0)
    fragment = replace(newest.manifest.fragments[0], files=(needed,))
    manifest = replace(
        newest.manifest,
        version=3,
        fragments=FragmentList.of([fragment]),
        base_paths=(BasePath(0, "/elsewhere/tree/dev", is_dataset_root=True),),
    )
    put_manifest(table, manifest_path(3), ManifestFile(manifest))
    scope = CleanupScope("dev", table.store)
    clean(dev.store, dev.handler, ALL_BUT_ONE, dev.environment, scope)
    assert dev.has("data/needed.lance")
    assert not dev.has("data/abandoned.lance")


def test_cleaning_a_branch_removes_nothing_outside_of_its_folder() -> None:
    table = overwritten(2)
    dev = clone(table, 1, "dev")
    branch(table, 1)
    for _ in range(3):
        dev.overwrite()
        table.wait(DAY)
    table.wait(DAY)
    plant(table, ["data/abandoned.lance"], 8 * DAY)
    inner = clone(table, 1, "dev/data")
    plant(inner, ["data/abandoned.lance"], 8 * DAY)
    branch(table, 1, "dev%2Fdata")
    plant(dev, ["data/abandoned.lance"], 8 * DAY)
    before = table.paths
    scope = CleanupScope("dev", table.store)
    report = clean(dev.store, dev.handler, ALL_BUT_ONE, dev.environment, scope)
    assert report.versions == (1, 2, 3)
    gone = before - table.paths
    assert gone
    assert all(path.startswith("tree/dev/") for path in gone)
    assert not any(path.startswith("tree/dev/data/data/") for path in gone)
    assert dev.missing() == []


def test_tags_and_branches_of_a_branch_count_there() -> None:
    table = overwritten(2)
    dev = clone(table, 1, "dev")
    for _ in range(4):
        dev.overwrite()
        table.wait(DAY)
    tag(table, 2, "t", branch="dev")
    child = {"parentBranch": "dev", "parentVersion": 3, "createAt": 1, "manifestSize": 1}
    table.store.put("_refs/branches/child.json", json.dumps(child).encode())
    tag(dev, 4, f"{PIN_PREFIX}{new_name()}")
    scope = CleanupScope("dev", table.store)
    policy = replace(ALL_BUT_ONE, error_if_tagged=False)
    report = clean(dev.store, dev.handler, policy, dev.environment, scope)
    assert dev.versions == [2, 3, 4, 5]
    assert {kept.version: kept.reason for kept in report.kept} == {
        2: KeptReason.TAGGED,
        3: KeptReason.BRANCH,
        4: KeptReason.PINNED,
    }


# --- what cannot be read or is not understood ----------------------------------------------------


def _with_unknown_field(file: ManifestFile) -> ManifestFile:
    carried = replace(file.manifest.carried, unknown=b"\xfa\x3f\x01x")
    return replace(file, manifest=replace(file.manifest, carried=carried))


def _with_unknown_fragment_field(file: ManifestFile) -> ManifestFile:
    raw = [fragment + b"\xfa\x3f\x01x" for fragment in file.manifest.fragments.raw]
    return replace(file, manifest=replace(file.manifest, fragments=FragmentList(raw)))


def _with_unknown_data_file_field(file: ManifestFile) -> ManifestFile:
    fragment = next(iter(file.manifest.fragments))
    files = tuple(replace(data, unknown=b"\xfa\x3f\x01x") for data in fragment.files)
    fragments = FragmentList.of([replace(fragment, files=files)])
    return replace(file, manifest=replace(file.manifest, fragments=fragments))


def _with_unknown_index(file: ManifestFile) -> ManifestFile:
    index = table_pb2.IndexMetadata(uuid=table_pb2.UUID(uuid=bytes(16)), name="i")
    index.index_details.type_url = "/example.NewIndexDetails"
    return replace(file, index_section=table_pb2.IndexSection(indices=[index]).SerializeToString())


def _with_unknown_field_of_indices(file: ManifestFile) -> ManifestFile:
    return replace(file, index_section=b"\xfa\x3f\x01x")


def _with_unknown_flag(file: ManifestFile) -> ManifestFile:
    flags = FeatureFlags(0, 1 << 30)
    return replace(file, manifest=replace(file.manifest, flags=flags))


@pytest.mark.parametrize(
    "change",
    [
        _with_unknown_field,
        _with_unknown_fragment_field,
        _with_unknown_data_file_field,
        _with_unknown_index,
        _with_unknown_field_of_indices,
        _with_unknown_flag,
    ],
)
@pytest.mark.parametrize("where", [1, 2, 3, "detached", "branch"])
def test_what_is_not_understood_stops_a_cleanup(change: object, where: int | str) -> None:
    table = overwritten(3)
    made = read_version(table.store, table.handler.locate(where if isinstance(where, int) else 1))
    paths = {"detached": manifest_path(DETACHED | 5), "branch": "tree/b/_versions/1.manifest"}
    path = paths.get(str(where), made.location.path)
    put_manifest(table, path, change(made.file))  # type: ignore[operator]  # one of the functions
    table.wait(DAY)
    before = table.paths
    with pytest.raises(UnsupportedFeatureError):
        cleaned(table)
    assert table.paths == before


@pytest.mark.parametrize("content", [b"", b"LANC", b"x" * 100])
@pytest.mark.parametrize("where", [1, 3, "detached", "branch"])
def test_a_manifest_that_cannot_be_read_stops_a_cleanup(where: int | str, content: bytes) -> None:
    table = overwritten(3)
    paths = {"detached": manifest_path(DETACHED | 5), "branch": "tree/b/_versions/1.manifest"}
    path = paths[where] if isinstance(where, str) else manifest_path(where)
    table.store.put(path, content)
    table.wait(DAY)
    before = table.paths
    with pytest.raises(CorruptFileError, match=path):
        cleaned(table)
    assert table.paths == before


def test_two_naming_schemes_stop_a_cleanup() -> None:
    table = overwritten(3)
    table.store.put("_versions/2.manifest", bytes(table.store.get(manifest_path(2))))
    before = table.paths
    with pytest.raises(CorruptFileError, match="two schemes"):
        cleaned(table)
    assert table.paths == before


# --- at the same time as others ------------------------------------------------------------------


def planned_and(table: Table, meanwhile: object) -> CleanupReport:
    """A cleanup during which something happens after its plan was made."""
    made = plan(table.store, table.handler, ALL_BUT_ONE, table.environment)
    meanwhile()  # type: ignore[operator]  # a function
    return execute(table.store, table.handler, made, table.environment)


def test_a_version_that_is_restored_meanwhile_loses_no_file() -> None:
    table = overwritten(3)

    def restore() -> None:
        table.commit(Transaction(3, new_name(), Restore(1)))

    planned_and(table, restore)
    assert table.versions[-1] == 4
    assert table.missing() == []


def test_a_version_that_is_tagged_meanwhile_stays() -> None:
    table = overwritten(4)
    report = planned_and(table, lambda: tag(table, 2))
    assert table.versions == [2, 4]
    assert report.versions == (1, 3)
    assert table.missing() == []


def test_a_version_that_a_branch_begins_at_meanwhile_stays() -> None:
    table = overwritten(4)
    planned_and(table, lambda: branch(table, 2))
    assert table.versions == [2, 4]
    assert table.missing() == []


def test_a_branch_that_is_being_created_meanwhile_loses_no_file() -> None:
    table = overwritten(3)
    data = {p for p in own_files(read_version(table.store, table.handler.locate(1))) if "data" in p}
    planned_and(table, lambda: clone(table, 1, "dev"))
    assert table.paths.issuperset(data)


def test_a_version_committed_meanwhile_loses_no_file() -> None:
    table = overwritten(3)
    planned_and(table, table.append)
    assert table.versions == [3, 4]
    assert table.missing() == []


class TagsOnDelete(TracingStore):
    """Somebody tags version 2 at the moment that its manifest is removed."""

    def delete(self, path: str) -> None:
        if path == manifest_path(2):
            content = {"branch": None, "version": 2, "manifestSize": 1}
            self.put("_refs/tags/kept.json", json.dumps(content).encode())
        super().delete(path)


def test_a_version_that_is_tagged_as_it_goes_is_put_back() -> None:
    table = overwritten(4)
    store = TagsOnDelete(table.store)
    report = clean(store, table.handler, ALL_BUT_ONE, table.environment)
    assert table.versions == [2, 4]
    assert report.versions == (1, 3)
    assert table.missing() == []


def test_a_version_is_put_back_by_a_store_that_refuses_at_first() -> None:
    for refused in (1, PUTTING_BACK - 1, PUTTING_BACK):
        table = overwritten(4)
        rule = FaultRule(Refused(), "put", manifest_path(2), times=refused)
        store = TagsOnDelete(FaultyStore(table.store, [rule]))
        if refused == PUTTING_BACK:
            with pytest.raises(StoreError):
                clean(store, table.handler, ALL_BUT_ONE, table.environment)
            assert table.versions == [4]
        else:
            clean(store, table.handler, ALL_BUT_ONE, table.environment)
            assert table.versions == [2, 4]


def test_files_of_a_version_that_cannot_be_removed_stay() -> None:
    table = overwritten(4)
    rule = FaultRule(Refused(), "delete", manifest_path(2))
    store = FaultyStore(table.store, [rule])
    report = clean(store, table.handler, ALL_BUT_ONE, table.environment)
    assert report.failed_deletes == 1
    assert table.versions == [2, 4]
    assert table.missing() == []
    assert cleaned(table).versions == (2,)


def test_files_that_cannot_be_removed_are_counted() -> None:
    table = overwritten(4)
    store = FaultyStore(table.store, [FaultRule(Refused(), "delete", "data/*")])
    report = clean(store, table.handler, ALL_BUT_ONE, table.environment)
    assert report.failed_deletes == 3
    assert FileKind.DATA not in report.files_removed


def test_a_table_that_cannot_be_written_to_can_be_explained_but_not_cleaned() -> None:
    table = overwritten(3)
    store = FaultyStore(table.store, [FaultRule(Refused(), "put")])
    made = plan(store, table.handler, ALL_BUT_ONE, table.environment)
    assert [version.location.version for version in made.versions] == [1, 2]
    assert "this machine's clock" in made.warnings[0]
    with pytest.raises(StoreError, match="cannot be written to"):
        execute(store, table.handler, made, table.environment)
    assert table.versions == [1, 2, 3]


def test_two_cleanups_at_a_time_do_no_harm() -> None:
    table = overwritten(4)
    planned_and(table, lambda: cleaned(table, CleanupPolicy(versions=frozenset({2}))))
    assert table.versions == [4]
    assert table.missing() == []


# --- how -----------------------------------------------------------------------------------------


def test_all_manifests_go_before_the_first_file_does() -> None:
    table = overwritten(4)
    store = TracingStore(table.store)
    clean(store, table.handler, ALL_BUT_ONE, table.environment)
    calls = [record.call for record in store.trace.records]
    removed = [call.path for call in calls if call.method == "delete"][1:]  # the first is the clock
    assert removed[:3] == [manifest_path(1), manifest_path(2), manifest_path(3)]
    assert all(path.startswith(("data/", "_transactions/")) for path in removed[3:])
    assert len(removed) == 9


def test_a_plan_removes_nothing() -> None:
    table = overwritten(4)
    before = table.objects.contents()
    made = plan(table.store, table.handler, ALL_BUT_ONE, table.environment)
    assert table.objects.contents() == before
    assert len(made.versions) == 3
    assert {(file.kind, file.verified) for file in made.files} == {
        (FileKind.DATA, True),
        (FileKind.TRANSACTION, True),
    }


def test_removals_keep_to_the_rate() -> None:
    table = overwritten(4)
    times = count()
    slept: list[float] = []
    world = replace(table.environment, monotonic=lambda: 0.0 * next(times), sleep=slept.append)
    policy = replace(ALL_BUT_ONE, delete_rate_limit=10)
    clean(table.store, table.handler, policy, world)
    assert max(slept) == pytest.approx(0.5)  # six files, the last one half a second after the first


def test_a_cleanup_is_the_same_calls_each_time() -> None:
    table = overwritten(4)
    plant(table, NEVER_NAMED, 8 * DAY)
    world = replace(table.environment, new_uuid=lambda: UUID(int=1))
    traces = []
    for _ in range(2):
        copy = table.copy()
        store = TracingStore(copy.store)
        clean(store, copy.handler, ALL_BUT_ONE, world, MAIN_SCOPE)
        traces.append([(found.call.method, found.call.path) for found in store.trace.records])
    assert traces[0] == traces[1]


def test_a_put_back_manifest_replaces_nothing() -> None:
    table = overwritten(4)

    class Late(TagsOnDelete):
        def delete(self, path: str) -> None:
            super().delete(path)
            if path == manifest_path(2):
                self.put(path, b"a late writer's", PutMode.create)

    with pytest.raises(CorruptFileError):  # it is no manifest; what matters is that it is kept
        clean(Late(table.store), table.handler, ALL_BUT_ONE, table.environment)
    assert bytes(table.store.get(manifest_path(2))) == b"a late writer's"


def test_a_late_writer_on_a_removed_version_loses_no_file() -> None:
    table = overwritten(4)
    base = read_version(table.store, table.handler.locate(1))

    class Late(TracingStore):
        def delete(self, path: str) -> None:
            super().delete(path)
            if path == manifest_path(3):
                self.put(manifest_path(2), serialize_manifest_file(base.file), PutMode.create)

    clean(Late(table.store), table.handler, ALL_BUT_ONE, table.environment)
    assert table.versions == [2, 4]
    assert table.missing() == []
