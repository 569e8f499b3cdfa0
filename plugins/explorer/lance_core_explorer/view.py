"""Views: a world as a reader sees it while no other actor runs.

The shipped code reads a copy of the world: a reader that completes other commits changes only that
copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from lance_core.commits.history import transaction_of
from lance_core.commits.latest import list_manifests
from lance_core.errors import LanceError
from lance_core.hookspecs.commits import ManifestLocation
from lance_core.hookspecs.concurrency import cached_property
from lance_core.hookspecs.stores import ObjectStore
from lance_core.table.manifest.file import (
    ManifestFile,
    parse_manifest_file,
    serialize_manifest_file,
)
from lance_core.table.transactions.transaction import Transaction
from lance_core_explorer.configuration import Configuration, Effects
from lance_core_explorer.port import LivePort
from lance_core_explorer.spaces import Stored
from lance_core_explorer.worlds import Worlds

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """A version as a reader sees it. ``transaction`` created it, None if it is unknown."""

    location: ManifestLocation
    file: ManifestFile
    transaction: Transaction | None
    digest: str

    @property
    def version(self) -> int:
        return self.location.version

    @property
    def uuid(self) -> str:
        """The uuid of the transaction."""
        return "" if self.transaction is None else self.transaction.uuid

    @property
    def data_files(self) -> list[str]:
        """Paths of the data files, in order and with repetitions."""
        return [file.path for part in self.file.manifest.fragments for file in part.files]


@dataclass(frozen=True, slots=True)
class Look:
    """The outcome of a body that ran alone: a result or an error, and the world after it."""

    result: object
    error: Exception | None
    world: int


class View:
    """A world, read on demand."""

    def __init__(self, configuration: Configuration, worlds: Worlds, world: int) -> None:
        self._configuration = configuration
        self.worlds = worlds
        self.world = world

    def alone(
        self, body: Callable[[Effects], object], now: float = 0.0, name: str = "observer"
    ) -> Look:
        """Run ``body`` in this world without other actors and without faults."""
        port = LivePort(self.worlds, name, self.world, now)
        try:
            result = body(Effects(port, self._configuration))
        except Exception as error:
            return Look(None, error, port.world)
        return Look(result, None, port.world)

    def then(self, look: Look) -> View:
        """The world after ``look``."""
        return View(self._configuration, self.worlds, look.world)

    @cached_property
    def objects(self) -> dict[str, bytes]:
        """The objects of the store, by path."""
        items = self.worlds.states[self.world]["store"]
        return {path: item.content for path, item in items.items() if isinstance(item, Stored)}

    @cached_property
    def read(self) -> Look:
        """All versions, read through the handler: a list of `Seen`, oldest first."""
        return self.alone(_read_all)

    @cached_property
    def versions(self) -> list[Seen]:
        """All versions that can be read, oldest first; none if reading fails (see `problem`)."""
        result = self.read.result
        return result if isinstance(result, list) else []

    @property
    def problem(self) -> str:
        """The reason why the versions cannot be read, or ""."""
        error = self.read.error
        return "" if error is None else f"{type(error).__name__}: {error}"

    @property
    def head(self) -> Seen | None:
        """The newest version."""
        return self.versions[-1] if self.versions else None

    @cached_property
    def by_number(self) -> dict[int, Seen]:
        """The versions by their numbers."""
        return {seen.version: seen for seen in self.versions}

    @cached_property
    def folder(self) -> Look:
        """All versions that the table's folder lists, without an external store."""
        return self.alone(lambda effects: _read(effects.store, list_manifests(effects.store)))


def _read_all(effects: Effects) -> list[Seen]:
    newest = effects.handler.latest()
    versions = _read(effects.store, effects.handler.list_versions())
    if (newest.version if newest else None) != (versions[-1].version if versions else None):
        raise LanceError(f"the newest version is {newest}, the last of the list {versions[-1:]}")
    return versions


def _read(store: ObjectStore, locations: object) -> list[Seen]:
    assert isinstance(locations, list)
    versions = []
    for location in locations:
        data = store.get(location.path).to_pybytes()
        file = parsed(data, location.path)
        versions.append(Seen(location, file, transaction_of(store, file), digest_of(file)))
    return versions


_PARSED: dict[bytes, ManifestFile] = {}


def parsed(data: bytes, path: str) -> ManifestFile:
    """A manifest file, parsed once; parsing depends on the bytes only."""
    file = _PARSED.get(data)
    if file is None:
        if len(_PARSED) > 100_000:
            _PARSED.clear()
        file = _PARSED[data] = parse_manifest_file(data, path)
    return file


def digest_of(file: ManifestFile) -> str:
    """A hash of the content of a manifest."""
    return hashlib.blake2b(serialize_manifest_file(file), digest_size=8).hexdigest()
