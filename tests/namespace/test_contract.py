"""All namespaces of this project, and the example of another, keep the contract of namespaces."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lance.namespace import DirectoryNamespace as PylanceNamespace

from lance_core.namespace import DirectoryNamespace, RestAdapter, RestNamespace
from lance_core_testing.namespaces import NamespaceTests
from tests.example_catalog.catalog import SqlCatalog
from tests.examples import IS_FULL_RUN

KEY = "AKIAIOSFODNN7EXAMPLE0123"
MANAGED = {"table_version_tracking_enabled": "true"}


class TestFolder(NamespaceTests):
    secrets = (KEY,)

    @pytest.fixture
    def connect(self, tmp_path: Path) -> Callable[[], Any]:
        options: Any = {"storage.secret_access_key": KEY}
        return functools.partial(DirectoryNamespace, root=str(tmp_path), **options)


@pytest.mark.skipif(not IS_FULL_RUN, reason="part of tox -e matrix")
class TestFolderWithoutManifest(NamespaceTests):
    lacks: ClassVar = ("create_namespace", "register_table")

    @pytest.fixture
    def connect(self, tmp_path: Path) -> Callable[[], Any]:
        return functools.partial(DirectoryNamespace, root=str(tmp_path), manifest_enabled="false")


class TestServer(NamespaceTests):
    """It manages the versions of its tables."""

    secrets = (KEY,)

    @pytest.fixture
    def connect(self, tmp_path: Path) -> Iterator[Callable[[], Any]]:
        with RestAdapter("dir", {"root": str(tmp_path), **MANAGED}, port=0) as server:
            options: Any = {"header.authorization": f"Bearer {KEY}"}
            yield functools.partial(RestNamespace, uri=f"http://127.0.0.1:{server.port}", **options)


class TestExampleCatalog(NamespaceTests):
    @pytest.fixture
    def connect(self, tmp_path: Path) -> Callable[[], Any]:
        url = f"sqlite:///{tmp_path}/catalog.db"
        return functools.partial(SqlCatalog, url, str(tmp_path / "tables"))


def test_the_contract_is_kept_by_pylance_where_it_is_no_stricter(tmp_path: Path) -> None:
    """So that the suite asks for nothing that only this project does."""
    tests: Any = NamespaceTests()
    connect = functools.partial(PylanceNamespace, root=str(tmp_path), **MANAGED)
    for test in ("a_table_is_declared_written_and_opened_by_its_name", "missing_tables_are_errors"):
        getattr(tests, f"test_{test}")(PylanceNamespace(root=str(tmp_path / test), **MANAGED))
    tests.test_no_row_of_many_writers_is_lost(connect)
