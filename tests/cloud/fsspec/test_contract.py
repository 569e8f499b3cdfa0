"""File systems of fsspec keep the contract of stores."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from lance_core.commits.handlers.external_manifest import ExternalManifestCommitHandler
from lance_core.errors import InvalidInputError
from lance_core.store.base import Guarantee, ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core.store.probe import probe
from lance_core.store.uri import parse_uri
from lance_core_fsspec import register_file_system, unregister_file_system
from lance_core_fsspec.store import open_store
from lance_core_testing.commit_handlers.suite import CommitHandlerTests, MakeHandler, MakeOther
from lance_core_testing.manifest_stores.memory_manifest_store import MemoryManifestStore
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.object_stores.suite import ObjectStoreTests
from lance_core_testing.service import InProcessService
from tests.cloud.fsspec.s3 import s3_file_system
from tests.servers.moto import SECRET_KEY, Moto


def store_of(url: str) -> ObjectStore:
    return open_store(parse_uri(url), {})


def open_files(called: str, root: str) -> ObjectStore:
    files = LocalFileSystem(skip_instance_cache=True)
    with contextlib.suppress(InvalidInputError):  # it is registered already
        register_file_system(called, files, root)
    return store_of(f"fsspec://{called}/table.lance")


def open_folder(called: str, root: str) -> ObjectStore:
    files = DirFileSystem(root, LocalFileSystem(), skip_instance_cache=True)
    with contextlib.suppress(InvalidInputError):
        register_file_system(called, files)
    return store_of(f"fsspec://{called}/table.lance")


def open_s3(moto: Moto, bucket: str, folder: str) -> ObjectStore:
    with contextlib.suppress(InvalidInputError):
        register_file_system(bucket, s3_file_system(moto), bucket)
    return store_of(f"fsspec://{bucket}/{folder}/table.lance")


@pytest.fixture
def called() -> Iterator[str]:
    called = f"t{uuid.uuid4().hex}"
    yield called
    unregister_file_system(called)


class TestMemory(ObjectStoreTests):
    in_process_only = "objects live in the memory of one process"

    @pytest.fixture
    def store(self, called: str) -> Iterator[ObjectStore]:
        files = fsspec.filesystem("memory", skip_instance_cache=True)
        root = str(uuid.uuid4())
        yield store_of(f"{register_file_system(called, files)}/{root}")
        if files.exists(root):  # all instances keep objects until the process ends
            files.rm(root, recursive=True)


class TestLocal(ObjectStoreTests):
    """Writes are renamed into place; a listing comes from the operating system."""

    not_after_fork = "file systems are registered in one process"

    @pytest.fixture
    def open_store(self, called: str, tmp_path: Path) -> OpenStore:
        return partial(open_files, called, f"{tmp_path}/root")


class TestFolder(ObjectStoreTests):
    """A view of a folder is what it is a view of."""

    not_after_fork = "file systems are registered in one process"

    @pytest.fixture
    def open_store(self, called: str, tmp_path: Path) -> OpenStore:
        return partial(open_folder, called, str(tmp_path))


@pytest.fixture(scope="module")
def s3(moto: Moto) -> Iterator[str]:
    """A bucket on moto's server; each test takes a place of its own in it."""
    bucket = moto.new_bucket()
    yield bucket
    unregister_file_system(bucket)


class TestS3(ObjectStoreTests):
    """An asynchronous file system, on moto's server."""

    not_after_fork = "file systems are registered in one process"

    @pytest.fixture
    def open_store(self, moto: Moto, s3: str) -> OpenStore:
        return partial(open_s3, moto, s3, str(uuid.uuid4()))

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return (SECRET_KEY,)

    def test_the_condition_of_a_write_reaches_the_service(self, store: ObjectStore) -> None:
        assert store.capabilities.put_if_absent is Guarantee.UNKNOWN
        assert probe(store).put_if_absent is Guarantee.YES


class TestCommitsThroughRows(CommitHandlerTests):
    """On files that cannot decide who commits."""

    in_process_only = "rows live in the memory of one process"

    @pytest.fixture
    def store(self, called: str, tmp_path: Path) -> ObjectStore:
        url = register_file_system(called, LocalFileSystem(skip_instance_cache=True), str(tmp_path))
        return store_of(f"{url}/t.lance")

    @pytest.fixture
    def service(self) -> InProcessService:
        return InProcessService()

    @pytest.fixture
    def rows(self, service: InProcessService) -> MemoryManifestStore:
        return MemoryManifestStore(service)

    @pytest.fixture
    def make_handler(self, rows: MemoryManifestStore) -> MakeHandler:
        return lambda store: ExternalManifestCommitHandler(store, rows, "t.lance")

    @pytest.fixture
    def make_other(self, rows: MemoryManifestStore) -> MakeOther:
        store = MemoryStore()
        return lambda: (store, ExternalManifestCommitHandler(store, rows, "other.lance"))
