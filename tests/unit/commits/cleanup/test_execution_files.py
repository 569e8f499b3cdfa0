"""Which files a cleanup removes: those that no version names, and those of branches."""

from __future__ import annotations

import json
from dataclasses import replace

from lance_core._pb import table_pb2
from lance_core.commits.cleanup.execution import clean
from lance_core.commits.cleanup.files import FileKind
from lance_core.commits.cleanup.pins import PIN_PREFIX
from lance_core.commits.cleanup.plan import KeptReason
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.cleanup.scope import CleanupScope
from lance_core.commits.history import read_version
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import ManifestFile
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import DETACHED, manifest_path
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


# --- files that no version names -----------------------------------------------------------------


@each_case("days", [0, 6, 8])
@each_case("delete_unverified", [False, True])
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


@each_case("base", ["/elsewhere", "s3://alias/of/it", "/elsewhere/data"])
@each_case("is_recorded", [False, True])
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
