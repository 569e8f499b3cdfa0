"""What is sent to the service, over which connections, and how pages of a listing are joined."""

from __future__ import annotations

import multiprocessing
import socket
import threading
import tracemalloc

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import StoreError
from lance_core.store.base import PutMode
from lance_core_azure.session import Session
from lance_core_remote.client import RequestError
from lance_core_remote.store import RemoteStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Rule
from tests.cloud.azure.conftest import Open
from tests.servers.azurite import ACCOUNT


@pytest.fixture
def store(opened: Open, container: str, proxy: FaultProxy) -> RemoteStore:
    return opened(f"az://{container}/t", endpoint=f"{proxy.url}/{ACCOUNT}")


def test_every_operation_is_one_request(store: RemoteStore, proxy: FaultProxy) -> None:
    sent = []
    for operation in (
        lambda: store.put("file", b"content", PutMode.create),
        lambda: store.get("file"),
        lambda: store.get_ranges("file", [ByteRange(0, 2), ByteRange(3, 5)]),
        lambda: store.head("file"),
        lambda: store.client.copy("t/file", "t/copy", if_absent=True),
        lambda: list(store.list("")),
        lambda: list(store.list_names("")),
        lambda: store.delete("file"),
    ):
        proxy.set_rules(())
        operation()
        sent.append([(one.method, one.condition, one.range) for one in proxy.requests])
    assert sent == [
        [("PUT", "*", None)],
        [("GET", None, "bytes=0-8388607")],
        [("GET", None, "bytes=0-4")],
        [("HEAD", None, None)],
        [("PUT", "*", None)],
        [("GET", None, None)],
        [("GET", None, None)],
        [("DELETE", None, None)],
    ]


def test_an_upload_is_blocks_and_their_list(store: RemoteStore, proxy: FaultProxy) -> None:
    with store.open_writer("big") as writer:
        for _ in range(5):
            writer.write(bytes(4 << 20))
    assert proxy.count("PUT", query="*comp=block&*") == 2  # of 10 MiB each
    assert proxy.count("PUT", query="*comp=blocklist*") == 1
    assert store.head("big").size == 20 << 20


def test_a_large_upload_takes_little_memory(opened: Open, container: str) -> None:
    store = opened(f"az://{container}/t")
    piece = bytes(1 << 20)
    tracemalloc.start()
    with store.open_writer("big") as writer:
        for _ in range(96):
            writer.write(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_connections_are_kept(opened: Open, container: str) -> None:
    store = opened(f"az://{container}/t")
    store.put("file", b"content")
    for _ in range(20):
        store.get("file")
    (pool,) = store.client._session._pool().pools._container.values()  # type: ignore[attr-defined]
    assert pool.num_connections == 1
    assert pool.num_requests == 21


def _read_in_child(store: RemoteStore) -> None:
    assert bytes(store.get("file")) == b"content"


def test_a_forked_process_makes_connections_of_its_own(opened: Open, container: str) -> None:
    store = opened(f"az://{container}/t")
    store.put("file", b"content")
    children = [
        multiprocessing.get_context("fork").Process(target=_read_in_child, args=(store,))
        for _ in range(3)
    ]
    for child in children:
        child.start()
    for _ in range(20):
        assert bytes(store.get("file")) == b"content"
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]


def listing(names: str, marker: str, kind: str | None = None) -> Answer:
    """A page that names ``names``, each a folder if it ends in a slash."""
    blobs = ""
    for name in names.split():
        folder = "directory" if name.endswith("/") else "file"
        blobs += (
            f"<Blob><Name>t/{name.rstrip('/')}</Name><Properties>"
            "<Last-Modified>Wed, 09 Sep 2009 09:20:02 GMT</Last-Modified><Etag>0x1</Etag>"
            f"<Content-Length>1</Content-Length>"
            f"{f'<ResourceType>{folder}</ResourceType>' if kind == 'folders' else ''}"
            "</Properties></Blob>"
        )
    body = (
        f"<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>{blobs}</Blobs>"
        f"<NextMarker>{marker}</NextMarker></EnumerationResults>"
    )
    return Answer(200, body.encode(), {"Content-Type": "application/xml"})


def test_pages_follow_each_other(store: RemoteStore, proxy: FaultProxy) -> None:
    proxy.set_rules(
        [
            Rule(listing("a/x a/y", "2!44!next--"), nth=1),
            Rule(listing("b", ""), query="*marker=2%2144%21next--*"),
        ]
    )
    found = store.list("")
    assert [next(found).path, next(found).path] == ["a/x", "a/y"]
    assert proxy.count() == 1
    assert [one.path for one in found] == ["b"]


def test_folders_are_no_objects_and_do_not_change_the_order(
    store: RemoteStore, proxy: FaultProxy
) -> None:
    proxy.set_rules(
        [
            Rule(listing("0 a/ a/x", "m1", "folders"), nth=1),
            Rule(listing("a-b b/ b/x", "m2", "folders"), query="*marker=m1*"),
            Rule(listing("b.c", "", "folders"), query="*marker=m2*"),
        ]
    )
    assert [one.path for one in store.list("")] == ["0", "a-b", "a/x", "b.c", "b/x"]


def test_a_folder_of_files_is_listed_page_by_page(store: RemoteStore, proxy: FaultProxy) -> None:
    proxy.set_rules([Rule(listing("_v/1 _v/2", "m1", "folders"))])
    assert next(iter(store.list("_v"))).path == "_v/1"
    assert proxy.count() == 1


@pytest.mark.parametrize(("start", "is_sent"), [("v/2", 1), ("v/2.x", 0), ("v/é", 0), ("w", 0)])
def test_a_listing_begins_where_it_is_wanted(
    store: RemoteStore, proxy: FaultProxy, start: str, is_sent: int
) -> None:
    names = ["v/1", "v/2", "v/2/x", "v/2.x", "v/2.y", "v/3", "v/é", "v/ê"]
    for name in names:
        store.put(name, b"")
    proxy.set_rules(())
    assert {one.path for one in store.list("v", start)} == {name for name in names if name > start}
    assert proxy.count(query="*startFrom=*") == is_sent


@pytest.mark.parametrize(
    "headers", [{}, {"Content-Length": "x", "Last-Modified": "y"}, {"Content-Range": "bytes z"}]
)
def test_headers_that_make_no_sense_are_an_error(
    store: RemoteStore, proxy: FaultProxy, headers: dict[str, str]
) -> None:
    proxy.set_rules([Rule(Answer(200, b"body", headers))])
    with pytest.raises(RequestError):
        store.client.get("t/file", ByteRange(0, 4))
    if "Content-Length" not in headers:
        with pytest.raises(RequestError):
            store.client.head("t/file")


@pytest.mark.parametrize("body", [b"<html>", b"", b"<Blobs/>", b"<a><Blobs><Blob/></Blobs></a>"])
def test_what_is_no_listing_is_an_error(
    opened: Open, container: str, proxy: FaultProxy, body: bytes
) -> None:
    store = opened(f"az://{container}/t", endpoint=f"{proxy.url}/{ACCOUNT}", client_max_retries="0")
    proxy.set_rules([Rule(Answer(200, body, {"Content-Type": "text/html"}))])
    with pytest.raises(StoreError):
        list(store.list(""))


class ForwardProxy:
    """Keeps the head of the one request that it gets, and answers that there is nothing."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.head = b""
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with connection, self._listening:
            while b"\r\n\r\n" not in self.head:
                self.head += connection.recv(65536)
            connection.sendall(
                b"HTTP/1.1 404 Not Found\r\nx-ms-error-code: ContainerNotFound\r\n"
                b"Content-Length: 0\r\nConnection: close\r\n\r\n"
            )


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_proxy_is_used(opened: Open, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = ForwardProxy()
    url, given = f"http://me:secret@{proxy.address}", {}
    if by == "option":
        given = {"proxy_url": url}
    else:
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", "example.org")
    store = opened("az://container/t", endpoint="http://far.invalid/acct", **given)
    with pytest.raises(StoreError, match="there is no container 'container'"):
        store.get("file")
    proxy.thread.join()
    assert proxy.head.startswith(b"GET http://far.invalid/acct/container/t/file HTTP/1.1\r\n")
    assert b"\r\nproxy-authorization: Basic bWU6c2VjcmV0\r\n" in proxy.head.lower().replace(
        b"basic bwu6c2vjcmv0", b"Basic bWU6c2VjcmV0"
    )


@pytest.mark.parametrize("names", ["invalid", ".far.invalid", "a,far.invalid", "*"])
def test_a_proxy_is_not_used_where_it_is_excluded(opened: Open, names: str) -> None:
    store = opened(
        "az://container/t",
        endpoint="http://far.invalid/acct",
        proxy_url="http://127.0.0.1:1",
        proxy_excludes=names,
    )
    session = Session(store.client._settings)  # type: ignore[attr-defined]
    assert type(session._pool()).__name__ == "PoolManager"
