"""Tables on file systems that are for reading: a server of files, and an archive."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import lance as pylance
import pyarrow as pa
import pytest

import lance_core
from lance_core.byte_ranges import ByteRange
from lance_core.errors import (
    CorruptFileError,
    DatasetNotFoundError,
    ObjectNotFoundError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.plugins.store_cache import open_store
from tests.servers.process import running

TABLE = pa.table({"id": range(5000), "text": [f"text {n}" for n in range(5000)]})
Place = tuple[str, dict[str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a table of both implementations, and an object beside it."""
    folder = tmp_path_factory.mktemp("served")
    lance_core.write_dataset(TABLE[:2000], folder / "a table.lance")
    pylance.write_dataset(TABLE[2000:], str(folder / "a table.lance"), mode="append")
    (folder / "a table.lance" / "object #1").write_bytes(b"0123456789")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """Python's own server of files. It knows no ranges and sends whole objects."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with running(command, r" port (\d+) ", folder) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(params=["http", "zip", "tar"])
def place(request: pytest.FixtureRequest, folder: Path, tmp_path: Path) -> Place:
    if request.param == "http":
        return f"{request.getfixturevalue('server')}/a%20table.lance", {}
    archive = shutil.make_archive(str(tmp_path / "archive"), request.param, folder)
    # What an archive of Python calls a member begins with "./" in a tar.
    name = "./a%20table.lance" if request.param == "tar" else "a%20table.lance"
    return f"{request.param}://{name}", {"fo": archive}


def test_a_table_is_read(place: Place) -> None:
    uri, options = place
    dataset = lance_core.dataset(uri, storage_options=options)
    assert dataset.to_table().sort_by("id").equals(TABLE)
    assert dataset.take([7, 4711]).equals(TABLE.take([7, 4711]))
    assert dataset.count_rows("id >= 4000") == 1000
    assert lance_core.dataset(uri, version=1, storage_options=options).count_rows() == 2000


def test_nothing_is_written(place: Place) -> None:
    uri, options = place
    store = open_store(uri, options)
    before = sorted(store.list_names(""))
    for write in (
        lambda: store.put("new", b"x"),
        lambda: store.open_writer("new"),
        lambda: store.delete("object #1"),
        lambda: store.copy("object #1", "new"),
        lambda: lance_core.write_dataset(TABLE, uri, mode="append", storage_options=options),
    ):
        with pytest.raises(UnsupportedFeatureError, match="is read-only"):
            write()
    assert sorted(store.list_names("")) == before


def test_ranges_and_sizes_are_those_of_the_object(place: Place) -> None:
    store = open_store(*place)
    ranges = [ByteRange(8, 10), ByteRange(0, 1), ByteRange(3, 3), ByteRange(2, 7)]
    assert [bytes(b) for b in store.get_ranges("object #1", ranges)] == [b"89", b"0", b"", b"23456"]
    assert store.head("object #1").size == 10
    assert bytes(store.get("object #1")) == b"0123456789"
    assert {meta.path: meta.size for meta in store.list("")}["object #1"] == 10
    with pytest.raises(CorruptFileError):
        store.get_ranges("object #1", [ByteRange(5, 11)])
    for path in ("missing", "missing/object", "_versions"):
        with pytest.raises(ObjectNotFoundError):
            store.head(path)


def test_a_table_that_is_not_there_is_not_found(server: str) -> None:
    with pytest.raises(DatasetNotFoundError):
        lance_core.dataset(f"{server}/missing.lance")


class _Refusing(BaseHTTPRequestHandler):
    status = HTTPStatus.FORBIDDEN

    def do_GET(self) -> None:
        self.send_error(self.status)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def test_what_a_server_refuses_is_not_taken_for_missing() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        uri = f"http://127.0.0.1:{server.server_port}/t.lance"
        for look in (
            lambda: lance_core.dataset(uri),
            lambda: open_store(uri).head("object"),
            lambda: open_store(uri).get("object"),
            lambda: list(open_store(uri).list("")),
        ):
            with pytest.raises(StoreError, match="403"):
                look()
        server.shutdown()


class _Empty(_Refusing):
    status = HTTPStatus.NOT_FOUND


def test_a_server_that_finds_nothing_at_all_is_no_empty_table() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Empty) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}/"
        with pytest.raises(StoreError, match="404") as caught:
            lance_core.dataset(f"{host}t.lance")
        assert host in str(caught.value)
        server.shutdown()
