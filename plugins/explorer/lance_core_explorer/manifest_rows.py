"""A simulated external manifest store."""

from __future__ import annotations

from collections.abc import Hashable

from lance_core.hookspecs.commits import ExternalManifestStore, ManifestEntry
from lance_core.table.paths import DETACHED
from lance_core_explorer.calls import Call, exists, not_found
from lance_core_explorer.port import Port
from lance_core_explorer.spaces import NOTHING, Changes, Items, Space

NAME = "rows"


class ManifestRows(Space):
    """Rows by table and version. Calls are atomic, and reads see every earlier write."""

    name = NAME
    writes = frozenset({"put_if_absent", "put_if_present", "delete"})

    def answer(self, items: Items, call: Call, now: float) -> tuple[Changes, Hashable]:
        base_uri = call.key
        if call.method == "get_latest":
            return NOTHING, _latest(items, base_uri)
        if call.method == "delete":
            return {key: None for key in items if key.startswith(f"{base_uri}#")}, None
        if call.method == "get":
            return NOTHING, items.get(_key(base_uri, call.arguments[1]))
        entry = call.arguments[1]
        assert isinstance(entry, ManifestEntry)
        key = _key(base_uri, entry.version)
        if call.method == "put_if_absent":
            return (NOTHING, exists(key)) if key in items else ({key: entry}, None)
        return ({key: entry}, None) if key in items else (NOTHING, not_found(key))


class SimulatedManifestStore(ExternalManifestStore):
    """Accesses the rows through a port."""

    def __init__(self, port: Port) -> None:
        self._port = port

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        entry = self._port.ask(NAME, "get", base_uri, version)
        assert entry is None or isinstance(entry, ManifestEntry)
        return entry

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        entry = self._port.ask(NAME, "get_latest", base_uri)
        assert entry is None or isinstance(entry, ManifestEntry)
        return entry

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        self._port.ask(NAME, "put_if_absent", base_uri, entry)

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        self._port.ask(NAME, "put_if_present", base_uri, entry)

    def delete(self, base_uri: str) -> None:
        self._port.ask(NAME, "delete", base_uri)


def _latest(items: Items, base_uri: str) -> Hashable:
    keys = [key for key in items if key.startswith(f"{base_uri}#")]
    attached = [key for key in keys if int(key.rpartition("#")[2]) < DETACHED]
    return items[max(attached)] if attached else None


def _key(base_uri: str, version: object) -> str:
    return f"{base_uri}#{version:020}"
