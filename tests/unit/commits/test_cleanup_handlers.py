"""Cleanups where versions are found in other ways than by listing a folder of V2 names."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lance_core.commits.cleanup.execution import clean
from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_row import entry_of
from lance_core.commits.loop import commit_transaction
from lance_core.commits.options import CommitOptions
from lance_core.errors import DatasetNotFoundError
from lance_core.table.paths import NamingScheme, manifest_path
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.sample_transactions import append, creation
from tests.unit.commits.dated_table import ALL_BUT_ONE, DAY, Table, new_name, overwritten

BASE = "data/table.lance"


def external(table: Table) -> tuple[ExternalManifestCommitHandler, MemoryManifestStore]:
    """The table with a row for each version."""
    rows = MemoryManifestStore()
    for location in table.handler.list_versions():
        rows.put_if_absent(BASE, entry_of(BASE, location.version, location.path, location.size))
    return ExternalManifestCommitHandler(table.store, rows, BASE), rows


def test_a_version_that_rows_know_as_staged_is_not_completed_again() -> None:
    table = overwritten(4)
    handler, rows = external(table)
    staged = f"{manifest_path(2)}-{new_name()}"
    content = bytes(table.store.get(manifest_path(2)))
    table.store.put(staged, content)
    rows.put_if_present(BASE, entry_of(BASE, 2, staged, len(content)))
    report = clean(table.store, handler, ALL_BUT_ONE, table.environment)
    assert report.versions == (1, 2, 3)
    with pytest.raises(DatasetNotFoundError):
        handler.locate(2)
    assert [location.version for location in handler.list_versions()] == [4]
    assert table.missing() == []


def test_a_half_finished_newest_version_is_completed_and_kept() -> None:
    table = overwritten(3)
    handler, rows = external(table)
    staged = f"{manifest_path(3)}-{new_name()}"
    content = bytes(table.store.get(manifest_path(3)))
    table.store.put(staged, content)
    table.store.delete(manifest_path(3))
    rows.put_if_present(BASE, entry_of(BASE, 3, staged, len(content)))
    table.wait(30 * DAY)
    clean(table.store, handler, ALL_BUT_ONE, table.environment)
    # It was superseded, and completed, just now: nothing is known of what came before.
    assert handler.list_versions()[-1].version == 3
    assert bytes(table.store.get(manifest_path(3))) == content
    assert table.missing() == []


def test_tables_with_v1_names_are_cleaned_up() -> None:
    table = Table()
    options = CommitOptions(naming=NamingScheme.V1)
    for version in range(1, 12):
        made = creation() if version == 1 else append(version - 1)
        commit_transaction(table.handler, table.store, made, None, options, table.environment)
        table.wait(timedelta(hours=1))
    report = clean(table.store, table.handler, ALL_BUT_ONE, table.environment)
    assert report.versions == tuple(range(1, 11))
    assert table.versions == [11]
