"""The contract of external manifest stores, as tests to inherit.

::

    class TestLedger(ExternalManifestStoreTests):
        @pytest.fixture
        def make_rows(self, tmp_path):
            return functools.partial(LedgerManifestStore, tmp_path / "ledger")
"""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pytest

from lance_core.errors import LanceError, ObjectExistsError, ObjectNotFoundError
from lance_core.hookspecs.commits import ExternalManifestStore, ManifestEntry
from lance_core.table.paths import DETACHED, manifest_path
from lance_core_testing.assertions import check_returns_nothing, must_raise
from lance_core_testing.manifest_stores.faults import RowFaultTests
from lance_core_testing.manifest_stores.races import MakeRows, RowRaceTests
from lance_core_testing.processes import portable
from lance_core_testing.service import FaultyService, service_or_reason

__all__ = ["ExternalManifestStoreTests", "MakeRows"]

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
"""Names of tables that must not be confused."""


def row(version: int, base_uri: str, suffix: str = "") -> ManifestEntry:
    """The row of ``version``; names a staged file if there is a ``suffix``."""
    path = manifest_path(version)
    full = f"{base_uri}/{path}" if base_uri else path
    return ManifestEntry(version, f"{full}{suffix}", 100 + version)


class ExternalManifestStoreTests(RowRaceTests, RowFaultTests):
    """The contract of an external manifest store. Subclass it and provide a fixture.

    ``make_rows``: each call returns an `ExternalManifestStore`; all instances of a test share their
    rows, which no other test sees. Other processes call it, so it must be picklable: a module-level
    function, a class or a `functools.partial` of one. If only one process can use the rows, set
    ``in_process_only``.
    ``service``: the `FaultyService` that stores the rows. If faults cannot be injected, say why in
    ``without_service``: the tests of lost answers are skipped only for a reason that is given.
    """

    in_process_only: ClassVar[str] = ""
    """The reason why no other process sees the rows; tests with several processes are then
    skipped."""

    without_service: ClassVar[str] = ""
    """The reason why the service of the rows cannot be made to fail; tests of lost answers are then
    skipped."""

    keeps_etags: ClassVar[bool] = True
    """False if the store does not keep the etag, which is then None in every row read."""

    @pytest.fixture
    def make_rows(self) -> MakeRows:
        raise NotImplementedError("provide the fixture `make_rows`")

    @pytest.fixture
    def rows(self, make_rows: MakeRows) -> ExternalManifestStore:
        return make_rows()

    @pytest.fixture
    def shared_rows(self, make_rows: MakeRows) -> MakeRows:
        """``make_rows``, for other processes."""
        if self.in_process_only:
            pytest.skip(f"other processes do not see the rows: {self.in_process_only}")
        return portable(make_rows, "make_rows")

    @pytest.fixture
    def service(self) -> FaultyService | None:
        return None

    @pytest.fixture
    def failing(self, service: FaultyService | None) -> FaultyService:
        """``service``; without one, skips the test if ``without_service`` says why."""
        return service_or_reason(service, self.without_service)

    @pytest.fixture
    def base_uri(self) -> str:
        """A unique name of a table."""
        return f"tests/{uuid.uuid4()}.lance"

    def test_a_table_without_rows_has_none(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        answers = (rows.get(base_uri, 1), rows.get_latest(base_uri))
        assert answers == (None, None), "get and get_latest of a table without rows must give None"
        check_returns_nothing("delete", partial(rows.delete, base_uri))

    def test_a_row_is_found_as_it_was_added(
        self, rows: ExternalManifestStore, make_rows: MakeRows, base_uri: str
    ) -> None:
        added = [
            ManifestEntry(1, f"{base_uri}/_versions/1.manifest"),
            ManifestEntry(2, f"{base_uri}/_versions/2.manifest-{uuid.uuid4()}", 0),
            ManifestEntry(3, f"{base_uri}/_versions/3.manifest", (1 << 40) + 1),
            ManifestEntry(4, f"{base_uri}/_versions/4.manifest", 7, '"etag-ä/4"'),
            ManifestEntry(5, f"{base_uri}/_versions/5.manifest", None, "0x8DD"),
        ]
        for entry in added:
            check_returns_nothing("put_if_absent", partial(rows.put_if_absent, base_uri, entry))
        replaced = partial(rows.put_if_present, base_uri, added[-1])
        check_returns_nothing("put_if_present", replaced)
        for reader in (rows, make_rows()):
            for entry in added:
                _check_row(reader, base_uri, entry.version, self._as_kept(entry))
            _check_latest(reader, base_uri, self._as_kept(added[-1]))
            _check_row(reader, base_uri, 6, None)

    def test_the_latest_row_is_that_of_the_highest_number(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        for version in (2, 100, 9, (1 << 40), 10):
            rows.put_if_absent(base_uri, row(version, base_uri))
        _check_latest(rows, base_uri, row(1 << 40, base_uri))

    def test_a_detached_version_is_never_the_latest(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, row(7, base_uri))
        _check_row(rows, base_uri, DETACHED + 5, None)
        with contextlib.suppress(LanceError):  # a store may refuse rows of detached versions
            rows.put_if_absent(base_uri, row(DETACHED + 5, base_uri))
        _check_latest(rows, base_uri, row(7, base_uri))

    def test_a_row_is_not_added_twice(self, rows: ExternalManifestStore, base_uri: str) -> None:
        first = row(1, base_uri, f"-{uuid.uuid4()}")
        rows.put_if_absent(base_uri, first)
        for entry in (first, row(1, base_uri, f"-{uuid.uuid4()}")):
            with must_raise(ObjectExistsError, "put_if_absent where a row is"):
                rows.put_if_absent(base_uri, entry)
        _check_row(rows, base_uri, 1, first)

    def test_a_row_is_replaced_as_a_whole(
        self, rows: ExternalManifestStore, make_rows: MakeRows, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, row(1, base_uri, f"-{uuid.uuid4()}"))
        rows.put_if_absent(base_uri, row(2, base_uri))
        without_size = ManifestEntry(1, f"{base_uri}/_versions/1.manifest")
        with_etag = ManifestEntry(1, f"{base_uri}/_versions/1.manifest", 9, "tag")
        for entry in (row(1, base_uri), without_size, with_etag, without_size, without_size):
            make_rows().put_if_present(base_uri, entry)
            _check_row(rows, base_uri, 1, self._as_kept(entry))
        _check_latest(rows, base_uri, row(2, base_uri))

    def test_only_a_row_that_is_there_is_replaced(
        self, rows: ExternalManifestStore, base_uri: str
    ) -> None:
        rows.put_if_absent(base_uri, row(1, base_uri))
        with must_raise(ObjectNotFoundError, "put_if_present where no row is"):
            rows.put_if_present(base_uri, row(2, base_uri))
        _check_row(rows, base_uri, 2, None)
        _check_latest(rows, base_uri, row(1, base_uri))

    def test_tables_do_not_see_each_others_rows(self, rows: ExternalManifestStore) -> None:
        for number, base_uri in enumerate(BASES, start=1):
            _check_latest(rows, base_uri, None)
            rows.put_if_absent(base_uri, row(number, base_uri))
        for number, base_uri in enumerate(BASES, start=1):
            _check_latest(rows, base_uri, row(number, base_uri))
        rows.delete(BASES[0])
        _check_latest(rows, BASES[0], None)
        for number, base_uri in list(enumerate(BASES, start=1))[1:]:
            _check_latest(rows, base_uri, row(number, base_uri))
        for base_uri in BASES:
            rows.delete(base_uri)

    def test_deleting_removes_all_rows_however_many(
        self, rows: ExternalManifestStore, make_rows: MakeRows, base_uri: str
    ) -> None:
        for version in range(1, 131):
            rows.put_if_absent(base_uri, row(version, base_uri))
        make_rows().delete(base_uri)
        _check_latest(rows, base_uri, None)
        _check_row(rows, base_uri, 1, None)
        rows.put_if_absent(base_uri, row(1, base_uri))
        _check_latest(rows, base_uri, row(1, base_uri))

    def _as_kept(self, entry: ManifestEntry) -> ManifestEntry:
        return entry if self.keeps_etags else replace(entry, etag=None)


def _check_row(
    rows: ExternalManifestStore, base_uri: str, version: int, expected: ManifestEntry | None
) -> None:
    row = rows.get(base_uri, version)
    assert row == expected, f"get of version {version} gave {row}; it must give {expected}"


def _check_latest(
    rows: ExternalManifestStore, base_uri: str, expected: ManifestEntry | None
) -> None:
    row = rows.get_latest(base_uri)
    assert row == expected, f"get_latest of {base_uri!r} gave {row}; it must give {expected}"
