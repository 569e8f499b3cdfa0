"""Tables are found, created and committed to by their names in a namespace."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits.checked_handler import unchecked
from lance_core.commits.handlers.put_if_absent import PutIfAbsentCommitHandler
from lance_core.dataset.snapshot import namespace_tables
from lance_core.dataset.snapshot.namespace_tables import EXPIRY
from lance_core.file import LanceFileSession
from lance_core.plugins import open_store
from lance_core.store.base import ObjectStore
from lance_core.store.namespaces import TableProvider
from lance_core.store.uri import StoreUrl


@dataclass
class Client:
    """A namespace of tables in one folder."""

    folder: Path
    managed_versioning: bool = False
    expires: str | None = None
    locations: dict[str, str] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, str]:
        vended = {"durability": "fast"}
        return vended if self.expires is None else {**vended, EXPIRY: self.expires}

    def declare_table(self, request: Any) -> Any:
        name = ".".join(request.id)
        self.locations[name] = str(self.folder / name)
        return self.describe_table(request)

    def describe_table(self, request: Any) -> Any:
        return SimpleNamespace(
            location=self.locations.get(".".join(request.id)),
            storage_options=self.options,
            managed_versioning=self.managed_versioning,
        )


@pytest.fixture(autouse=True)
def _requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is used of the package lance-namespace, which these tests do not need."""
    package: Any = ModuleType("lance_namespace")
    package.DeclareTableRequest = package.DescribeTableRequest = SimpleNamespace
    monkeypatch.setitem(sys.modules, "lance_namespace", package)


def test_a_table_is_written_and_opened_by_its_name(tmp_path: Path) -> None:
    client, rows = Client(tmp_path), pa.table({"a": [1, 2]})
    named: Any = {"namespace_client": client, "table_id": ["b", "t"]}
    made = lance.write_dataset(rows, **named)
    assert made.uri == str(tmp_path / "b.t")
    assert made.initial_storage_options == {"durability": "fast"}
    lance.write_dataset(rows, mode="append", **named)
    assert lance.dataset(**named).count_rows() == 4
    assert lance.LanceDataset(made.uri, **named).version == 2
    fragments = lance.fragment.write_fragments(rows, made.uri, **named)
    appended = lance.LanceOperation.Append(fragments)
    assert lance.LanceDataset.commit(made.uri, appended, 2, **named).version == 3


class Handler(PutIfAbsentCommitHandler):
    """That of a namespace."""


class Provider(TableProvider):
    """Opens stores without the option that has an end, and commits by a handler of its own."""

    def __init__(self, client: Any, table_id: list[str], vended: Any, is_managed: bool) -> None:
        self.table_id, self.vended, self.is_managed = table_id, vended, is_managed
        self.opened: list[str] = []

    def provider_id(self) -> str:
        return f"provider of {self.table_id}"

    def storage_options(self) -> dict[str, Any]:
        return {"durability": "durable"}

    def open_store(self, url: StoreUrl, options: Any) -> ObjectStore:
        self.opened.append(url.path)
        lasting = {name: value for name, value in options.items() if name != EXPIRY}
        return open_store(url, {**lasting, **self.storage_options()})

    def commit_handler(self, store: ObjectStore, url: StoreUrl, folder: str) -> Any:
        return Handler(store) if self.is_managed else None


@pytest.mark.parametrize("changes", [{"expires": "1"}, {"managed_versioning": True}])
def test_a_provider_opens_tables_whose_options_expire_or_whose_versions_are_managed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setattr(namespace_tables, "get_manager", lambda: SimpleNamespace(tool=tool))
    client: Any = Client(tmp_path, **changes)
    named: Any = {"namespace_client": client, "table_id": ["t"]}
    dataset = lance.write_dataset(pa.table({"a": [1]}), **named)
    provider = dataset.snapshot.root.config.provider
    assert isinstance(provider, Provider)
    assert provider.opened == [str(tmp_path / "t")]
    is_managed = isinstance(unchecked(dataset.snapshot.root.handler), Handler)
    assert is_managed == client.managed_versioning
    accessor = dataset.storage_options_accessor
    assert accessor is not None
    assert accessor.has_provider()
    assert accessor.accessor_id() == "provider of ['t']"
    assert accessor.get_storage_options()["durability"] == "durable"
    assert dataset.latest_storage_options() == accessor.get_storage_options()
    assert dataset.initial_storage_options == client.options
    assert dataset.new_file_session().contains("_versions/18446744073709551614.manifest")
    dataset.create_branch("b")
    assert lance.dataset(**named).checkout_version(("b", None)).count_rows() == 1
    session = LanceFileSession(tmp_path / "t", **named)
    assert session.contains("_versions/18446744073709551614.manifest")


def tool(name: str) -> Any:
    assert name == "table_provider"
    return Provider
