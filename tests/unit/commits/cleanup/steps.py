"""What tests of cleanups do to a table."""

from __future__ import annotations

import json
from dataclasses import replace

from lance_core.commits.cleanup.execution import CleanupReport, clean
from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.history import Version, read_version
from lance_core.table.file_references import references
from lance_core.table.fragments.fragment_list import FragmentList
from lance_core.table.manifest.file import ManifestFile, serialize_manifest_file
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import manifest_path
from tests.unit.commits.dated_table import (
    ALL_BUT_ONE,
    Table,
)

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
