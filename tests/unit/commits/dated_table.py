"""A table in memory whose objects are as old as a test says."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from lance_core.commits.cleanup.policy import CleanupPolicy
from lance_core.commits.environment import Environment
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.commits.history import Version, read_version
from lance_core.commits.loop import commit_transaction
from lance_core.store.base import ObjectStore, PutMode
from lance_core.store.memory import MemoryStore, Objects
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.table.file_references import references
from lance_core.table.transactions.transaction import Transaction
from lance_core_testing.sample_transactions import append, creation

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
ALL_BUT_ONE = CleanupPolicy(retain_versions=1)


class DatedObjects(Objects):
    """Objects that are dated ``now`` when they are written."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START

    def put(self, path: str, content: pa.Buffer, mode: PutMode) -> None:
        super().put(path, content, mode)
        self._objects[path] = (content, self.now, self._objects[path][2])

    def contents(self) -> dict[str, bytes]:
        return {path: bytes(found[0]) for path, found in self.sorted_items()}

    def copy(self) -> DatedObjects:
        other = DatedObjects()
        other._objects, other._writes, other.now = dict(self._objects), self._writes, self.now
        return other


@dataclass
class Table:
    """A table below ``folder``. Its clock stands still but for `wait`."""

    objects: DatedObjects = field(default_factory=DatedObjects)
    folder: str = ""

    @property
    def store(self) -> ObjectStore:
        store = MemoryStore(self.objects)
        return PrefixStore(store, self.folder) if self.folder else store

    @property
    def handler(self) -> PutIfAbsentCommitHandler:
        return PutIfAbsentCommitHandler(self.store)

    @property
    def environment(self) -> Environment:
        return Environment(
            clock=lambda: int(self.objects.now.timestamp()) * 10**9, sleep=lambda _: None
        )

    @property
    def paths(self) -> set[str]:
        return set(self.objects.contents())

    @property
    def versions(self) -> list[int]:
        return [location.version for location in self.handler.list_versions()]

    def wait(self, time: timedelta) -> None:
        self.objects.now += time

    def commit(self, transaction: Transaction) -> Version:
        """Commit, with the files that the new version names."""
        made = commit_transaction(
            self.handler, self.store, transaction, environment=self.environment
        )
        for reference in references(made.file):
            if not reference.is_folder and not self.has(reference.path):
                self.store.put(reference.path, b"content")
        return made

    def has(self, path: str) -> bool:
        return f"{self.folder}/{path}".lstrip("/") in self.objects.contents()

    def overwrite(self) -> Version:
        """A version that shares no file with the one before it."""
        latest = self.handler.latest()
        made = replace(creation(), read_version=latest.version if latest else 0)
        return self.commit(made)

    def append(self) -> Version:
        latest = self.handler.latest()
        assert latest is not None
        return self.commit(append(latest.version))

    def missing(self) -> list[str]:
        """Files that versions name and that are not there."""
        files = [read_version(self.store, found).file for found in self.handler.list_versions()]
        named = (reference for file in files for reference in references(file))
        return [r.path for r in named if not r.is_folder and not self.has(r.path)]

    def copy(self) -> Table:
        return Table(self.objects.copy(), self.folder)


def overwritten(versions: int, apart: timedelta = DAY) -> Table:
    """A table of so many versions that share no file; the newest is old enough for anything."""
    table = Table()
    for _ in range(versions):
        table.overwrite()
        table.wait(apart)
    return table


def plant(table: Table, paths: Iterable[str], age: timedelta) -> None:
    """Write objects that are so old."""
    now = table.objects.now
    table.objects.now = now - age
    for path in paths:
        table.store.put(path, b"planted")
    table.objects.now = now


def new_name() -> str:
    return str(uuid.uuid4())
