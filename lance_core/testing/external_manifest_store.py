"""The contract of external manifest stores, as tests to inherit.

::

    class TestLedger(ExternalManifestStoreTests):
        @pytest.fixture
        def make_rows(self, tmp_path):
            return lambda: LedgerManifestStore(tmp_path / "ledger")
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from lance_core.commits.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.errors import ObjectExistsError, ObjectNotFoundError
from lance_core.table.paths import DETACHED, manifest_path
from lance_core.testing.external_manifest_store_races import RowRaceTests

MakeRows = Callable[[], ExternalManifestStore]
"""Makes an object for the same rows each time it is called within a test."""

BASES = (
    "data/table.lance",
    "data/Table.lance",
    "data/table.lance ",
    "data/table.lance/tree/branch",
    "data/t%20a_b%.lance",
    "data/tëst-表-🚀.lance",
    'd\'; drop table x; --/"quoted"',
    "long/" + "x" * 900,
)
"""Names of tables that must be told apart."""


def row(version: int, base_uri: str, suffix: str = "") -> ManifestEntry:
    """The row of ``version``, staged if there is a ``suffix``."""
    path = manifest_path(version)
    full = f"{base_uri}/{path}" if base_uri else path
    return ManifestEntry(version, f"{full}{suffix}", 100 + version)


class ExternalManifestStoreTests(RowRaceTests):
    """Everything that an external manifest store must hold. Subclass it and provide a fixture.

    ``make_rows``: makes a `MakeRows`, for rows that no other test sees.
    """

    @pytest.fixture
    def make_rows(self) -> MakeRows:
        raise NotImplementedError("provide the fixture `make_rows`")

    @pytest.fixture
    def rows(self, make_rows: MakeRows) -> ExternalManifestStore:
        return make_rows()

    @pytest.fixture
    def base_uri(self) -> str:
        """The name of a table."""
        return f"tests/{uuid.uuid4()}.lance"

    def test_a_table_without_rows_has_none(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        assert rows.get(base_uri, 1) is None
        assert rows.get_latest(base_uri) is None
        rows.delete(base_uri)

    def test_a_row_is_found_as_it_was_added(
        self, rows: ExternalManifestStore, make_rows: MakeRows, base_uri: str
    ) -> None:
        added = [
            ManifestEntry(1, f"{base_uri}/_versions/1.manifest"),
            ManifestEntry(2, f"{base_uri}/_versions/2.manifest-{uuid.uuid4()}", 0),
            ManifestEntry(3, f"{base_uri}/_versions/3.manifest", (1 << 40) + 1),
        ]
        for entry in added:
            rows.put_if_absent(base_uri, entry)
        for reader in (rows, make_rows()):
            assert [reader.get(base_uri, number) for number in (1, 2, 3)] == added
            assert reader.get_latest(base_uri) == added[-1]
            assert reader.get(base_uri, 4) is None

    def test_the_latest_row_is_that_of_the_highest_number(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        for version in (2, 100, 9, (1 << 40), 10):
            rows.put_if_absent(base_uri, row(version, base_uri))
        assert rows.get_latest(base_uri) == row(1 << 40, base_uri)

    def test_a_detached_version_is_never_the_latest(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, row(7, base_uri))
        assert rows.get(base_uri, DETACHED + 5) is None
        assert rows.get_latest(base_uri) == row(7, base_uri)

    def test_a_row_is_not_added_twice(self, rows: ExternalManifestStore, base_uri: str) -> None:
        first = row(1, base_uri, f"-{uuid.uuid4()}")
        rows.put_if_absent(base_uri, first)
        for entry in (first, row(1, base_uri, f"-{uuid.uuid4()}")):
            with pytest.raises(ObjectExistsError):
                rows.put_if_absent(base_uri, entry)
        assert rows.get(base_uri, 1) == first

    def test_a_row_is_replaced_as_a_whole(
        self, rows: ExternalManifestStore, make_rows: MakeRows, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, row(1, base_uri, f"-{uuid.uuid4()}"))
        rows.put_if_absent(base_uri, row(2, base_uri))
        without_size = ManifestEntry(1, f"{base_uri}/_versions/1.manifest")
        for entry in (row(1, base_uri), without_size, without_size):
            make_rows().put_if_present(base_uri, entry)
            assert rows.get(base_uri, 1) == entry
        assert rows.get_latest(base_uri) == row(2, base_uri)

    def test_only_a_row_that_is_there_is_replaced(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, row(1, base_uri))
        with pytest.raises(ObjectNotFoundError):
            rows.put_if_present(base_uri, row(2, base_uri))
        assert rows.get(base_uri, 2) is None
        assert rows.get_latest(base_uri) == row(1, base_uri)

    def test_tables_do_not_see_each_others_rows(self, rows: ExternalManifestStore) -> None:
        for number, base_uri in enumerate(BASES, start=1):
            assert rows.get_latest(base_uri) is None
            rows.put_if_absent(base_uri, row(number, base_uri))
        for number, base_uri in enumerate(BASES, start=1):
            assert rows.get_latest(base_uri) == row(number, base_uri)
        rows.delete(BASES[0])
        assert rows.get_latest(BASES[0]) is None
        assert all(rows.get_latest(base_uri) is not None for base_uri in BASES[1:])
        for base_uri in BASES:
            rows.delete(base_uri)

    def test_deleting_removes_all_rows_however_many(
        self, rows: ExternalManifestStore, make_rows: MakeRows, base_uri: str
    ) -> None:
        for version in range(1, 131):
            rows.put_if_absent(base_uri, row(version, base_uri))
        make_rows().delete(base_uri)
        assert rows.get_latest(base_uri) is None
        assert rows.get(base_uri, 1) is None
        rows.put_if_absent(base_uri, row(1, base_uri))
        assert rows.get_latest(base_uri) == row(1, base_uri)
