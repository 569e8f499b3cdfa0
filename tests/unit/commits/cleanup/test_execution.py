"""When a cleanup refuses, and what it does beside other processes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from uuid import UUID

import pytest

from lance_core._pb import table_pb2
from lance_core.commits.cleanup.execution import PUTTING_BACK, CleanupReport, clean, execute
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.planning import plan
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import MAIN_SCOPE
from lance_core.commits.history import read_version
from lance_core.errors import (
    CorruptFileError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import PutMode
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.feature_flags import FeatureFlags
from lance_core.table.manifest.file import ManifestFile, serialize_manifest_file
from lance_core.table.paths import DETACHED, manifest_path
from lance_core.table.transactions.operations import Restore
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.stores.faulty import FaultRule, FaultyStore, Refused
from lance_core_testing.stores.tracing import TracingStore
from tests.each_case import each_case
from tests.unit.commits.cleanup.steps import (
    NEVER_NAMED,
    branch,
    cleaned,
    clone,
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


@each_case(
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
@each_case("where", [1, 2, 3, "detached", "branch"])
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


@each_case("content", [b"", b"LANC", b"x" * 100])
@each_case("where", [1, 3, "detached", "branch"])
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
