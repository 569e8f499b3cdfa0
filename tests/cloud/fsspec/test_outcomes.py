"""What becomes of a call when a file system fails, or does less than others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import (
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.plugins.store_cache import open_store
from lance_core.store.base import ObjectStore, PutMode
from lance_core.store.functions import list_paths
from lance_core_fsspec import register_file_system, unregister_file_system
from lance_core_fsspec.errors import Redaction, read_failure, write_failure
from lance_core_fsspec.listing import meta_of
from lance_core_fsspec.mount import Mount
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Reset, Rule, xml_error
from tests.cloud.fsspec.s3 import s3_file_system
from tests.each_case import each_case
from tests.servers.moto import Moto

Open = Callable[..., ObjectStore]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens a store on a file-system object."""
    names = []

    def open_on(files: Any, root: str | None = None) -> ObjectStore:
        names.append(f"t{uuid.uuid4().hex}")
        return open_store(f"{register_file_system(names[-1], files, root)}/table")

    yield open_on
    for name in names:
        unregister_file_system(name)


@pytest.fixture(scope="module")
def proxy(moto: Moto) -> Iterator[FaultProxy]:
    with FaultProxy(moto.endpoint) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def files(proxy: FaultProxy) -> Any:
    return s3_file_system(Moto(proxy.url))


class TestBehindAFailingNetwork:
    @pytest.fixture
    def store(
        self, files: Any, proxy: FaultProxy, bucket: str, opened: Open
    ) -> Iterator[ObjectStore]:
        yield opened(files, bucket)
        proxy.set_rules([])

    def test_a_write_that_the_file_system_sent_twice_is_not_taken_for_anothers(
        self, store: ObjectStore, proxy: FaultProxy
    ) -> None:
        proxy.set_rules([Rule(Reset(after=True), "PUT", "*/object", times=1)])
        with pytest.raises(OutcomeUnknownError, match="written just now"):
            store.put("object", b"content", PutMode.create)
        assert proxy.struck == 1
        assert bytes(store.get("object")) == b"content"
        with pytest.raises(ObjectExistsError):
            store.put("object", b"other", PutMode.create)

    @pytest.mark.parametrize("refused", ["GET", "PUT"])
    def test_a_write_that_cannot_be_looked_at_afterwards_is_unknown(
        self, store: ObjectStore, proxy: FaultProxy, refused: str
    ) -> None:
        denied = Rule(xml_error(403, "AccessDenied"), refused, "*/object")
        proxy.set_rules([Rule(Reset(after=True), "PUT", "*/object", times=1), denied])
        with pytest.raises(OutcomeUnknownError, match="just now"):
            store.put("object", b"content", PutMode.create)
        proxy.set_rules([])
        assert bytes(store.get("object")) == b"content"

    def test_a_write_that_is_refused_is_not_applied(
        self, store: ObjectStore, proxy: FaultProxy
    ) -> None:
        proxy.set_rules([Rule(xml_error(403, "AccessDenied"), "*", "*/object")])
        with pytest.raises(StoreError, match="refused to write") as caught:
            store.put("object", b"content", PutMode.create)
        assert not isinstance(caught.value, OutcomeUnknownError)

    def test_a_write_without_an_answer_is_unknown(
        self, store: ObjectStore, proxy: FaultProxy
    ) -> None:
        proxy.set_rules([Rule(xml_error(501, "NotImplemented"), "PUT", "*/object")])
        with pytest.raises(OutcomeUnknownError):
            store.put("object", b"content")

    def test_what_is_refused_for_lack_of_rights_is_not_applied(
        self, store: ObjectStore, proxy: FaultProxy
    ) -> None:
        proxy.set_rules([Rule(xml_error(403, "AccessDenied"))])
        with pytest.raises(StoreError, match="PermissionError") as caught:
            store.put("object", b"content")
        assert not isinstance(caught.value, OutcomeUnknownError)
        for read in (store.get, store.head, lambda folder: list(store.list_names(folder))):
            with pytest.raises(StoreError, match="PermissionError"):
                read("object")


def test_a_write_into_a_bucket_that_is_not_there_makes_none(moto: Moto, opened: Open) -> None:
    store = opened(s3_file_system(moto), f"missing-{uuid.uuid4()}")
    for _ in range(2):
        with pytest.raises(StoreError, match="bucket") as caught:
            store.put("object", b"content")
        assert not isinstance(caught.value, OutcomeUnknownError)


class RefusingToReplace(LocalFileSystem):
    """Renames only to where nothing is, as SMB does, and cannot copy."""

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        if self.exists(path2):
            raise OSError("the target exists")
        super().mv(path1, path2, **kwargs)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        raise NotImplementedError

    def get_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        super().cp_file(path1, path2)


def test_what_cannot_be_renamed_onto_an_object_replaces_it(opened: Open, tmp_path: Path) -> None:
    store = opened(RefusingToReplace(skip_instance_cache=True), str(tmp_path))
    for content in (b"first", b"second"):
        store.put("folder/object", content)
        assert bytes(store.get("folder/object")) == content
        store.copy("folder/object", "copy")
        assert bytes(store.get("copy")) == content
    assert sorted(list_paths(store)) == ["copy", "folder/object"]


class HalfWriting(LocalFileSystem):
    """Fills up in the middle of a write."""

    def pipe_file(self, path: str, value: bytes, **kwargs: Any) -> None:
        super().pipe_file(path, value[: len(value) // 2], **kwargs)
        raise OSError("no space left")


def test_half_an_object_is_never_seen(opened: Open, tmp_path: Path) -> None:
    store = opened(HalfWriting(skip_instance_cache=True), str(tmp_path))
    with pytest.raises(StoreError, match="no space left") as caught:
        store.put("object", b"content")
    assert not isinstance(caught.value, OutcomeUnknownError)
    assert list_paths(store) == []


def test_an_object_does_not_get_into_a_folder_of_its_name(opened: Open, tmp_path: Path) -> None:
    store = opened(LocalFileSystem(skip_instance_cache=True), str(tmp_path))
    store.put("name/object", b"content")
    with pytest.raises(StoreError, match="a folder of this name"):
        store.put("name", b"content")
    assert list_paths(store) == ["name/object"]


class FilesAsFolders(MemoryFileSystem):
    """Lists a file as if it were in itself, as FTP does."""

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        found = super().ls(path, detail, **kwargs)
        if self.isfile(path):
            return [{**found[0], "name": f"{path}/{path.rpartition('/')[2]}"}]
        return found


def test_a_file_is_not_a_folder_with_itself_inside(opened: Open) -> None:
    store = opened(FilesAsFolders(skip_instance_cache=True), f"/{uuid.uuid4()}")
    store.put("a", b"1")
    store.put("b/b", b"1")
    assert list(store.list_names("a")) == []
    assert list(store.list_names("b")) == ["b"]
    assert sorted(list_paths(store)) == ["a", "b/b"]


class Unreadable(MemoryFileSystem):
    """Has a folder that cannot be listed."""

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        if path.endswith("closed"):
            raise OSError("input/output error")
        return super().ls(path, detail, **kwargs)


def test_a_folder_that_cannot_be_read_is_not_taken_for_empty(opened: Open) -> None:
    store = opened(Unreadable(skip_instance_cache=True), f"/{uuid.uuid4()}")
    store.put("closed/object", b"1")
    for folder in ("", "closed"):
        with pytest.raises(StoreError, match="input/output"):
            list(store.list(folder))


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


class Answered(Exception):  # noqa: N818
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


FAILURES: dict[str, tuple[Exception, type[LanceError], type[LanceError]]] = {
    "missing": (FileNotFoundError("x"), ObjectNotFoundError, StoreError),
    "a folder": (IsADirectoryError("x"), ObjectNotFoundError, StoreError),
    "below a file": (NotADirectoryError("x"), ObjectNotFoundError, StoreError),
    "404": (caused(FileNotFoundError("x"), Answered(404)), ObjectNotFoundError, StoreError),
    "403": (caused(FileNotFoundError("x"), Answered(403)), StoreError, OutcomeUnknownError),
    "no way": (
        caused(FileNotFoundError("x"), ConnectionResetError("reset")),
        StoreError,
        OutcomeUnknownError,
    ),
    "no right": (PermissionError("x"), StoreError, StoreError),
    "not done": (NotImplementedError(), UnsupportedFeatureError, UnsupportedFeatureError),
    "too late": (TimeoutError("x"), StoreError, OutcomeUnknownError),
    "in the way": (FileExistsError("x"), StoreError, ObjectExistsError),
    "anything": (ZeroDivisionError("x"), StoreError, OutcomeUnknownError),
}


@each_case("case", FAILURES)
def test_a_failure_is_typed_by_what_it_proves(case: str) -> None:
    error, of_read, of_write = FAILURES[case]
    assert type(read_failure(error, "path", "place", Redaction(()))) is of_read
    assert type(write_failure(error, "path", "place", Redaction(()))) is of_write


NINE = datetime(2026, 3, 4, 9, 0, 0, tzinfo=UTC)
DATES: dict[str, tuple[dict[str, object], datetime]] = {
    "seconds": ({"mtime": NINE.timestamp()}, NINE),
    "milliseconds": ({"modificationTime": int(NINE.timestamp() * 1000)}, NINE),
    "text": ({"updated": "2026-03-04T09:00:00.000Z"}, NINE),
    "of FTP": ({"modify": "20260304T090000"}, NINE),
    "naive": ({"mtime": NINE.replace(tzinfo=None)}, NINE),
    "elsewhere": ({"LastModified": NINE.astimezone(timezone(timedelta(hours=5)))}, NINE),
    "of an archive": ({"date_time": (2026, 3, 4, 9, 0, 0)}, NINE),
    "the better one": ({"created": 1, "mtime": NINE}, NINE),
}


@each_case("case", DATES)
def test_a_date_is_found_however_it_is_written(case: str) -> None:
    entry, date = DATES[case]
    mount = Mount(MemoryFileSystem(), "/", ForkSafeLock())
    assert meta_of(mount, "object", {"size": 1, **entry}).last_modified == date


@each_case("entry", [{}, {"mtime": "soon"}, {"mtime": 1e300}, {"date_time": (0,)}])
def test_what_has_no_date_is_as_new_as_can_be(entry: dict[str, object]) -> None:
    mount = Mount(MemoryFileSystem(), "/", ForkSafeLock())
    seen = meta_of(mount, "object", {"size": 1, **entry}).last_modified
    assert abs(datetime.now(UTC) - seen) < timedelta(minutes=1)


def test_a_size_that_nobody_tells_is_an_error() -> None:
    files = MemoryFileSystem(skip_instance_cache=True)
    files.info = lambda path: {"size": None}
    with pytest.raises(StoreError, match="size"):
        meta_of(Mount(files, "/", ForkSafeLock()), "object", {"size": None})


class Circular(LocalFileSystem):
    """Lists every folder, and the one above, as being in itself."""

    def ls(self, path: str, detail: bool = False, **options: Any) -> list[Any]:
        found = super().ls(path, detail=True, **options)
        for name in (".", ".."):
            found.append({"name": f"{path.rstrip('/')}/{name}", "type": "directory", "size": 0})
        return found


def test_a_folder_that_lists_itself_is_walked_once(opened: Open, tmp_path: Path) -> None:
    store = opened(Circular(), str(tmp_path))
    for path in ("a", "b/c"):
        store.put(path, b"content")
    assert list_paths(store) == ["a", "b/c"]
    assert list(store.list_names("b")) == ["c"]
