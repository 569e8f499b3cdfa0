"""The simplest external manifest store: rows in memory, for tests within one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lance_core.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.hookspecs.commits import ExternalManifestStore, ManifestEntry
from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.table.paths import DETACHED
from lance_core_testing.service import InProcessService

T = TypeVar("T")


class MemoryManifestStore(ExternalManifestStore):
    """Rows by table and version, shared by all users of this object.

    ``service``: receives all requests, so that tests can make them fail.
    """

    def __init__(self, service: InProcessService | None = None) -> None:
        self._service = InProcessService() if service is None else service
        self._lock = ForkSafeLock()
        self._rows: dict[str, dict[int, ManifestEntry]] = {}

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        return self._read(lambda: self._rows.get(base_uri, {}).get(version))

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        def newest() -> ManifestEntry | None:
            rows = self._rows.get(base_uri, {})
            number = max((number for number in rows if number < DETACHED), default=None)
            return None if number is None else rows[number]

        return self._read(newest)

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        def add() -> None:
            rows = self._rows.setdefault(base_uri, {})
            if entry.version in rows:
                raise ObjectExistsError(entry.path)
            rows[entry.version] = entry

        self._write(add)

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        def replace() -> None:
            rows = self._rows.get(base_uri, {})
            if entry.version not in rows:
                raise ObjectNotFoundError(entry.path)
            rows[entry.version] = entry

        self._write(replace)

    def delete(self, base_uri: str) -> None:
        def remove() -> None:
            self._rows.pop(base_uri, None)

        self._write(remove)

    def _read(self, request: Callable[[], T]) -> T:
        try:
            return self._service.send(lambda: self._locked(request))
        except (ConnectionRefusedError, TimeoutError) as error:
            raise StoreError(f"the rows cannot be read: {error}") from error

    def _write(self, request: Callable[[], None]) -> None:
        try:
            self._service.send(lambda: self._locked(request))
        except ConnectionRefusedError as error:
            raise StoreError(f"nothing was written: {error}") from error
        except TimeoutError as error:
            raise OutcomeUnknownError(f"whether the row was written is unknown: {error}") from error

    def _locked(self, request: Callable[[], T]) -> T:
        with self._lock:
            return request()
