"""Tables whose versions a namespace manages: the contract of commit handlers, and bad answers."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance_namespace as names
import pyarrow as pa
import pytest
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import (
    CommitError,
    CorruptFileError,
    DatasetNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.commits import CommitHandler
from lance_core.hookspecs.stores import LocalStore, ObjectStore
from lance_core.namespace import DirectoryNamespace
from lance_core_namespace.managed import NamespaceCommitHandler
from lance_core_testing import CommitHandlerTests
from tests.each_case import each_case
from tests.examples import IS_FULL_RUN

ROWS = pa.table({"x": [1, 2]})
NAMED: Any = {"table_id": ["t"]}


def managed(root: Path) -> DirectoryNamespace:
    options: Any = {"manifest_enabled": "false", "table_version_tracking_enabled": "true"}
    return DirectoryNamespace(root=str(root), **options)


def handler_of(store: ObjectStore, root: Path, name: str = "t") -> CommitHandler:
    path = str(root / f"{name}.lance")
    return NamespaceCommitHandler(store, managed(root), [name], path, None)


@pytest.mark.skipif(not IS_FULL_RUN, reason="part of tox -e matrix")
class TestManagedVersions(CommitHandlerTests):
    """The namespace, not the handler, writes the manifest to its name, and it refuses versions that
    are not the next ones: these tests expect the opposite."""

    without_service = "the namespace is in this process"
    test_one_lost_answer_does_not_fail_a_commit: None = None  # type: ignore[assignment]
    test_a_lost_answer_that_cannot_be_looked_up_is_unknown: None = None  # type: ignore[assignment]
    test_of_candidates_of_racing_processes_exactly_one_becomes_the_version: None = None  # type: ignore[assignment]

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], ObjectStore]:
        return functools.partial(LocalStore, tmp_path / "t.lance")

    @pytest.fixture
    def make_handler(self, tmp_path: Path) -> Callable[[ObjectStore], CommitHandler]:
        return functools.partial(handler_of, root=tmp_path)

    @pytest.fixture
    def make_other(self, tmp_path: Path) -> Callable[[], tuple[ObjectStore, CommitHandler]]:
        def make() -> tuple[ObjectStore, CommitHandler]:
            store = LocalStore(tmp_path / "u.lance")
            return store, handler_of(store, tmp_path, "u")

        return make


class Liar(DirectoryNamespace):
    """Answers about versions with what a test says, if it says anything."""

    def __init__(self, root: Path) -> None:
        options: Any = {"manifest_enabled": "false", "table_version_tracking_enabled": "true"}
        super().__init__(root=str(root), **options)
        self.path: str | None = None
        self.error: Exception | None = None
        self.leaves = False

    def list_table_versions(self, request: Any) -> Any:
        response = super().list_table_versions(request)
        for version in response.versions:
            version.manifest_path = self.path or version.manifest_path
        return response

    def create_table_version(self, request: Any) -> Any:
        if self.error is not None:
            raise self.error
        if self.leaves:
            version = names.TableVersion(
                version=request.version, manifest_path=request.manifest_path
            )
            return names.CreateTableVersionResponse(version=version)
        return super().create_table_version(request)


V1 = "_versions/18446744073709551614.manifest"


@each_case(
    "path",
    [
        *("/etc/passwd", "", "..", f"other.lance/{V1}", V1, "t.lance/_versions/latest.manifest"),
        f"../t.lance/{V1}/../../../secret.manifest",
        "t.lance/_versions/18446744073709551613.manifest",
        f"t.lance/{V1}-a/b",
    ],
)
def test_a_manifest_outside_of_the_table_is_refused(tmp_path: Path, path: str) -> None:
    client = Liar(tmp_path)
    lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    client.path = path or " "
    with pytest.raises(CorruptFileError, match="names a manifest of version 1 that") as caught:
        lance.dataset(namespace_client=client, **NAMED)
    assert "\n" not in str(caught.value)


@each_case(
    "error, kind",
    [
        (errors.PermissionDeniedError("no"), "CommitError"),
        (errors.ThrottlingError("no"), "CommitError"),
        (errors.InternalError("no"), "CommitUnknownError"),
        (errors.ServiceUnavailableError("no"), "CommitUnknownError"),
        (ValueError("no"), "CommitUnknownError"),
    ],
)
def test_a_commit_that_the_namespace_refuses_changes_nothing(
    tmp_path: Path, error: Exception, kind: str
) -> None:
    client = Liar(tmp_path)
    dataset = lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    client.error = error
    with pytest.raises(CommitError) as caught:
        dataset.delete("x = 1")
    assert type(caught.value).__name__ == kind
    client.error = None
    assert lance.dataset(namespace_client=client, **NAMED).to_table() == ROWS


def test_a_manifest_that_the_namespace_leaves_is_copied_to_its_name(tmp_path: Path) -> None:
    client = Liar(tmp_path)
    client.leaves = True
    for count, mode in enumerate(("create", "append", "append"), 1):
        lance.write_dataset(ROWS, namespace_client=client, mode=mode, **NAMED)
        assert lance.dataset(namespace_client=client, **NAMED).version == count
    versions = [path.name for path in (tmp_path / "t.lance" / "_versions").iterdir()]
    assert sorted(versions) == [f"{(1 << 64) - 1 - number}.manifest" for number in (3, 2, 1)]


def test_branches_tags_and_cleanups_go_by_the_namespace(tmp_path: Path) -> None:
    client = managed(tmp_path)
    dataset = lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    dataset.tags.create("first", 1)
    branch = dataset.create_branch("b")
    branch.delete("x = 1")
    dataset.delete("x = 2")
    opened = lance.dataset(namespace_client=client, **NAMED)
    assert opened.to_table()["x"].to_pylist() == [1]
    assert opened.checkout_version(("b", None)).to_table()["x"].to_pylist() == [2]
    request = names.ListTableVersionsRequest(id=["t"], branch="b", descending=True)
    assert [one.version for one in client.list_table_versions(request).versions] == [2, 1]
    with pytest.raises(DatasetNotFoundError, match="no version 9"):
        opened.checkout_version(9)
    assert [version["version"] for version in opened.versions()] == [1, 2]
    batch = names.BatchDeleteTableVersionsRequest(
        id=["t"], ranges=[{"start_version": 2, "end_version": 3}]
    )
    with pytest.raises(errors.InvalidInputError, match="the newest one"):
        client.batch_delete_table_versions(batch)


class Unsendable(DirectoryNamespace):
    """It has something that no other process gets."""

    def __init__(self, root: Path) -> None:
        options: Any = {"manifest_enabled": "false", "table_version_tracking_enabled": "true"}
        super().__init__(root=str(root), **options)
        self.generator = (number for number in ())


def test_without_its_client_a_table_is_read_and_not_changed(tmp_path: Path) -> None:
    client = Unsendable(tmp_path)
    dataset = lance.write_dataset(ROWS, namespace_client=client, **NAMED)
    there = pickle.loads(pickle.dumps(dataset))
    assert there.to_table() == ROWS
    with pytest.raises(UnsupportedFeatureError, match="could not be pickled"):
        there.delete("x = 1")
