"""What a row says about its manifest is compared with the manifest that is there."""

from __future__ import annotations

import pytest

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import CorruptFileError
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import manifest_path
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.sample_transactions import first_candidate

BASE = "data/table.lance"


@pytest.fixture
def rows() -> MemoryManifestStore:
    return MemoryManifestStore()


def on(store: ObjectStore, rows: MemoryManifestStore) -> ExternalManifestCommitHandler:
    return ExternalManifestCommitHandler(store, rows, BASE)


@pytest.mark.parametrize("versions", [1, 2, 3])
def test_rows_that_are_about_other_manifests_are_not_followed(
    rows: MemoryManifestStore, versions: int
) -> None:
    """Two buckets have tables of the same path, and one set of rows."""
    there, here = MemoryStore(), MemoryStore()
    for version in (1, 2):
        on(there, rows).commit(first_candidate(version=version))
    for version in range(1, versions + 1):
        here.put(manifest_path(version), first_candidate(version=version).data + b"more")
    with pytest.raises(CorruptFileError, match="bucket"):
        on(here, rows).latest()
    if versions > 1:
        with pytest.raises(CorruptFileError, match="bucket"):
            on(here, rows).locate(2)
    assert rows.get(BASE, 3) is None
    assert on(there, rows).latest() is not None


def test_a_row_without_a_size_is_followed(rows: MemoryManifestStore) -> None:
    store = MemoryStore()
    made = on(store, rows).commit(first_candidate())
    rows.put_if_present(BASE, ManifestEntry(1, f"{BASE}/{made.path}"))
    assert on(store, rows).locate(1).path == made.path
    assert on(store, rows).latest() is not None
