"""An external manifest store of rows in memory, and commits that crash halfway."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.commits.handlers.external_manifest_row import staging_path
from lance_core.commits.handlers.external_manifest_store import ManifestEntry
from lance_core.errors import (
    OutcomeUnknownError,
)
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.functions import list_paths
from lance_core.store.memory import MemoryStore
from lance_core.table.paths import manifest_path
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.sample_transactions import (
    first_candidate,
)
from lance_core_testing.stores.faulty import (
    FaultRule,
    FaultyStore,
    Refused,
)

BASE = "data/table.lance"


class Rows(MemoryManifestStore):
    """Fails where it is told to: before or after the call is applied."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[str, list[Exception]] = {}
        self.after: dict[str, list[Exception]] = {}

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        with self._fails("put_if_absent"):
            super().put_if_absent(base_uri, entry)

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        with self._fails("put_if_present"):
            super().put_if_present(base_uri, entry)

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        with self._fails("get"):
            return super().get(base_uri, version)

    def _fails(self, method: str) -> _Fails:
        return _Fails(self.before.get(method, []), self.after.get(method, []))


class _Fails:
    def __init__(self, before: list[Exception], after: list[Exception]) -> None:
        self._before, self._after = before, after

    def __enter__(self) -> None:
        if self._before:
            raise self._before.pop(0)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._after:
            raise self._after.pop(0)


class NoCarefulCopy(MemoryStore):
    """Copies replace what is there, as on many object stores."""

    @property
    def capabilities(self) -> StoreCapabilities:
        return replace(super().capabilities, copy_if_absent=Guarantee.NO)


def on(store: ObjectStore, rows: Rows) -> ExternalManifestCommitHandler:
    return ExternalManifestCommitHandler(store, rows, BASE)


def row_path(rows: Rows, version: int) -> str:
    entry = MemoryManifestStore.get(rows, BASE, version)
    assert entry is not None
    return entry.path


def crash_after_row(store: ObjectStore, rows: Rows, version: int) -> bytes:
    """Leaves version ``version`` half-finished; returns its manifest."""
    candidate = first_candidate(version=version)
    faulty = FaultyStore(store, [FaultRule(Refused(), "copy")])
    with pytest.raises(OutcomeUnknownError, match="half-finished"):
        on(faulty, rows).commit(candidate)
    assert row_path(rows, version) == f"{BASE}/{staging_path(candidate)}"
    return candidate.data


def check_complete(store: ObjectStore, rows: Rows, version: int, data: bytes) -> None:
    final = manifest_path(version)
    assert bytes(store.get(final)) == data
    assert row_path(rows, version) == f"{BASE}/{final}"
    assert not [path for path in list_paths(store, "_versions") if "-" in path]


def during(store: ObjectStore, method: str, act: Callable[[], object]) -> FaultyStore:
    """``store``, where ``act`` happens just before the first call of ``method``."""
    pending = [act]

    class Interrupted(FaultyStore):
        def around(self, call, run):  # type: ignore[no-untyped-def]
            if call.method == method and pending:
                pending.pop()()
            return super().around(call, run)

    return Interrupted(store)
