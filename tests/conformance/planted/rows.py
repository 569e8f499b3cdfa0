"""Defects of external manifest stores: each good rows with one thing wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.table.paths import DETACHED
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.service import InProcessService
from tests.conformance.planted.runner import Defect, defects_of


class Rows(MemoryManifestStore):
    """Rows without a defect, whose service can be reached."""

    def __init__(self) -> None:
        super().__init__(InProcessService())

    @property
    def service(self) -> InProcessService:
        return self._service


class LooksThenAdds(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        if self.get(base_uri, entry.version) is not None:
            raise ObjectExistsError(entry.path)
        time.sleep(0.002)
        self._rows.setdefault(base_uri, {})[entry.version] = entry


class AddsOver(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        self._rows.setdefault(base_uri, {})[entry.version] = entry


class AcceptsTheSameAgain(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        if self.get(base_uri, entry.version) != entry:
            super().put_if_absent(base_uri, entry)


class ReplacesWhatIsMissing(Rows):
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        self._rows.setdefault(base_uri, {})[entry.version] = entry


class MergesRows(Rows):
    """What is None in the new row stays as it was in the old one."""

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        old = self.get(base_uri, entry.version)
        if old is not None and entry.size is None:
            entry = replace(entry, size=old.size)
        super().put_if_present(base_uri, entry)


class MissingIsAnyError(Rows):
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_present(base_uri, entry)
        except ObjectNotFoundError as error:
            raise StoreError(str(error)) from error


class DropsTheEtag(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_absent(base_uri, replace(entry, etag=None))


class DropsTheSizeZero(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_absent(base_uri, replace(entry, size=entry.size or None))


class CutsSizes(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        size = entry.size if entry.size is None else entry.size % (1 << 32)
        super().put_if_absent(base_uri, replace(entry, size=size))


class SortsAsText(Rows):
    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        rows = self._rows.get(base_uri, {})
        return rows[max(rows, key=str)] if rows else None


class LatestIsTheLastAdded(Rows):
    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        rows = self._rows.get(base_uri, {})
        return rows[list(rows)[-1]] if rows else None


class LatestMayBeDetached(Rows):
    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        rows = self._rows.get(base_uri, {})
        return rows[max(rows)] if rows else None


class DropsTheHighBit(Rows):
    """Numbers of detached versions are taken for those of others."""

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        return super().get(base_uri, version % DETACHED % 2)


class IgnoresCase(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_absent(base_uri.casefold(), entry)

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        return super().get_latest(base_uri.casefold())


class StripsNames(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_absent(base_uri.strip(), entry)

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        return super().get_latest(base_uri.strip())


class CutsNames(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_absent(base_uri[:255], entry)


class DeletesByPrefix(Rows):
    def delete(self, base_uri: str) -> None:
        for name in list(self._rows):
            if name.startswith(base_uri):
                super().delete(name)


class DeletesAPage(Rows):
    def delete(self, base_uri: str) -> None:
        rows = self._rows.get(base_uri, {})
        for version in sorted(rows)[:100]:
            del rows[version]


class DeletesOnlyWhatIsThere(Rows):
    def delete(self, base_uri: str) -> None:
        if base_uri not in self._rows:
            raise ObjectNotFoundError(base_uri)
        super().delete(base_uri)


class LeavesMarks(Rows):
    """What was deleted can never be added again."""

    def __init__(self) -> None:
        super().__init__()
        self.added: set[tuple[str, int]] = set()

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        if (base_uri, entry.version) in self.added:
            raise ObjectExistsError(entry.path)
        super().put_if_absent(base_uri, entry)
        self.added.add((base_uri, entry.version))


class LostIsRefused(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_absent(base_uri, entry)
        except OutcomeUnknownError as error:
            raise StoreError(str(error)) from error


class RefusedIsUnknown(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_absent(base_uri, entry)
        except StoreError as error:
            raise OutcomeUnknownError(str(error)) from error


class RefusedReplacementIsUnknown(Rows):
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_present(base_uri, entry)
        except StoreError as error:
            raise OutcomeUnknownError(str(error)) from error


class ExistsIsUnknown(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_absent(base_uri, entry)
        except ObjectExistsError as error:
            raise OutcomeUnknownError(str(error)) from error


class MissingIsUnknown(Rows):
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_present(base_uri, entry)
        except ObjectNotFoundError as error:
            raise OutcomeUnknownError(str(error)) from error


class ReturnsTrue(Rows):
    """True: added. A caller that does not look would take False for the same."""

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_absent(base_uri, entry)
        return True  # type: ignore[return-value]


class ReturnsTheRow(Rows):
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        super().put_if_present(base_uri, entry)
        return entry  # type: ignore[return-value]


class CountsDeleted(Rows):
    def delete(self, base_uri: str) -> None:
        super().delete(base_uri)
        return 0  # type: ignore[return-value]


class LostReplacementIsRefused(Rows):
    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_present(base_uri, entry)
        except OutcomeUnknownError as error:
            raise ObjectNotFoundError(str(error)) from error


class LostIsApplied(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_absent(base_uri, entry)
        except OutcomeUnknownError:
            return


class OutageIsNoRow(Rows):
    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        try:
            return super().get(base_uri, version)
        except StoreError:
            return None


class OutageIsNoTable(Rows):
    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        try:
            return super().get_latest(base_uri)
        except StoreError:
            return None


class OutageIsUntyped(Rows):
    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        return self._service.send(lambda: self._rows.get(base_uri, {}).get(version))


class OutageIsExists(Rows):
    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        try:
            super().put_if_absent(base_uri, entry)
        except StoreError:
            raise ObjectExistsError(entry.path) from None


class CachesTheLatest(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, ManifestEntry] = {}

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        found = self.known.get(base_uri) or super().get_latest(base_uri)
        if found is not None:
            self.known[base_uri] = found
        return found


def in_one_process() -> ExternalManifestStore:
    """Rows that no other process sees."""
    return _ROWS


_ROWS = Rows()


def fixtures(make: Callable[[], Rows]) -> Mapping[str, object]:
    """The fixtures of `ExternalManifestStoreTests` for rows in memory."""
    rows = make()
    return {
        "rows": rows,
        "make_rows": lambda: rows,
        "shared_rows": make,
        "failing": getattr(rows, "service", None),
        "base_uri": "tests/table.lance",
    }


_KEPT = "test_a_row_is_found_as_it_was_added"
_UNTRUE = "test_what_is_said_not_to_be_applied_is_not"
_OUTAGE = "test_an_outage_is_an_error_and_no_answer"

ALL: Sequence[Defect] = [
    *defects_of("test_of_racing_writers_exactly_one_adds_the_row", LooksThenAdds),
    *defects_of("test_a_row_is_not_added_twice", AddsOver, AcceptsTheSameAgain),
    *defects_of(
        "test_only_a_row_that_is_there_is_replaced", ReplacesWhatIsMissing, MissingIsAnyError
    ),
    *defects_of("test_a_row_is_replaced_as_a_whole", MergesRows),
    *defects_of("test_a_row_is_not_added_twice", ExistsIsUnknown),
    *defects_of("test_only_a_row_that_is_there_is_replaced", MissingIsUnknown),
    *defects_of(_KEPT, DropsTheEtag, DropsTheSizeZero, CutsSizes, DropsTheHighBit),
    *defects_of(_KEPT, ReturnsTrue, ReturnsTheRow),
    *defects_of(
        "test_the_latest_row_is_that_of_the_highest_number", SortsAsText, LatestIsTheLastAdded
    ),
    *defects_of("test_a_detached_version_is_never_the_latest", LatestMayBeDetached),
    *defects_of("test_tables_do_not_see_each_others_rows", IgnoresCase, StripsNames, CutsNames),
    *defects_of("test_tables_do_not_see_each_others_rows", DeletesByPrefix),
    *defects_of("test_deleting_removes_all_rows_however_many", DeletesAPage, LeavesMarks),
    *defects_of("test_a_table_without_rows_has_none", DeletesOnlyWhatIsThere),
    *defects_of("test_a_table_without_rows_has_none", CountsDeleted),
    *defects_of(
        "test_a_write_that_the_service_refuses_is_not_called_unknown",
        RefusedIsUnknown,
        RefusedReplacementIsUnknown,
    ),
    *defects_of(_UNTRUE, LostIsRefused, LostReplacementIsRefused, LostIsApplied),
    *defects_of(_OUTAGE, OutageIsNoRow, OutageIsNoTable, OutageIsUntyped, OutageIsExists),
    *defects_of("test_of_racing_writers_exactly_one_adds_the_row", CachesTheLatest),
    *defects_of("test_another_process_sees_the_same_rows", in_one_process),
]
