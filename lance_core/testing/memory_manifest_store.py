"""The simplest external manifest store: rows in memory, for tests within one process."""

from __future__ import annotations

from lance_core.commits.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.errors import ObjectExistsError, ObjectNotFoundError
from lance_core.store.fork_safe import ForkSafeLock
from lance_core.table.paths import DETACHED


class MemoryManifestStore(ExternalManifestStore):
    """Rows by table and version, seen by whoever holds this object."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._rows: dict[str, dict[int, ManifestEntry]] = {}

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        with self._lock:
            return self._rows.get(base_uri, {}).get(version)

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        with self._lock:
            rows = self._rows.get(base_uri, {})
            newest = max((number for number in rows if number < DETACHED), default=None)
            return None if newest is None else rows[newest]

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        with self._lock:
            rows = self._rows.setdefault(base_uri, {})
            if entry.version in rows:
                raise ObjectExistsError(entry.path)
            rows[entry.version] = entry

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        with self._lock:
            rows = self._rows.get(base_uri, {})
            if entry.version not in rows:
                raise ObjectNotFoundError(entry.path)
            rows[entry.version] = entry

    def delete(self, base_uri: str) -> None:
        with self._lock:
            self._rows.pop(base_uri, None)
