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
from lance_core.errors import UnsupportedFeatureError


@dataclass
class Client:
    """A namespace of tables in one folder."""

    folder: Path
    managed_versioning: bool = False
    locations: dict[str, str] = field(default_factory=dict)

    def declare_table(self, request: Any) -> Any:
        name = ".".join(request.id)
        self.locations[name] = str(self.folder / name)
        return self.describe_table(request)

    def describe_table(self, request: Any) -> Any:
        return SimpleNamespace(
            location=self.locations.get(".".join(request.id)),
            storage_options={"durability": "fast"},
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


def test_tables_with_managed_versions_are_refused(tmp_path: Path) -> None:
    client = Client(tmp_path, managed_versioning=True)
    with pytest.raises(UnsupportedFeatureError, match="managed by its namespace"):
        lance.write_dataset(pa.table({"a": [1]}), namespace_client=client, table_id=["t"])
