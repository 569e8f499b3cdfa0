"""The storage plugin of the documentation keeps the contracts, on a server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest
from lance_core_example_webdav.client import WebdavClient

import lance_core
from lance_core.errors import (
    InvalidInputError,
    NoSafeCommitHandlerError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.commits import PutIfAbsentCommitHandler
from lance_core.hookspecs.stores import ByteRange, Guarantee, ObjectStore, parse_uri, probe
from lance_core.plugins import get_manager, open_store
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.commit_handlers.suite import CommitHandlerTests, MakeHandler
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Reset, Rule
from lance_core_testing.object_stores.instances import OpenStore
from lance_core_testing.object_stores.suite import ObjectStoreTests
from tests.servers.webdav import running_webdav

TABLE = pa.table({"id": [1, 2, 3]})
PASSWORD = "canary-9b2e"
HTTP = {"allow_http": "true"}
LOGIN = {"webdav_user": "writer", "webdav_password": PASSWORD}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_webdav("--login", f"writer:{PASSWORD}") as host:
        yield host


def opened(uri: str) -> ObjectStore:
    """Another instance, which shares nothing with those that tables have open."""
    return get_manager().object_store("webdav").open(parse_uri(uri), HTTP | LOGIN)


class TestWebdav(ObjectStoreTests):
    @pytest.fixture
    def open_store(self, server: str) -> OpenStore:
        return partial(opened, f"webdav://{server}/{uuid.uuid4()}/table")

    @pytest.fixture
    def secrets(self) -> tuple[str, ...]:
        return (PASSWORD,)

    def test_the_probe_proves_all_that_is_left_open(self, store: ObjectStore) -> None:
        seen = probe(store)
        assert seen.put_if_absent is seen.copy_if_absent is Guarantee.YES


class TestCommitsOnWebdav(CommitHandlerTests):
    without_service = "the handler talks to the store alone"
    tables_share_nothing = "each table has a store of its own"

    @pytest.fixture
    def open_store(self, server: str) -> OpenStore:
        return partial(opened, f"webdav://{server}/{uuid.uuid4()}/table")

    @pytest.fixture
    def make_handler(self) -> MakeHandler:
        return PutIfAbsentCommitHandler


def test_a_table_is_written_and_read(server: str) -> None:
    uri = f"webdav://{server}/{uuid.uuid4()}/table.lance"
    lance_core.write_dataset(TABLE, uri, storage_options=HTTP | LOGIN)
    lance_core.write_dataset(TABLE, uri, mode="append", storage_options=HTTP | LOGIN)
    dataset = lance_core.dataset(uri, storage_options=HTTP | LOGIN)
    assert dataset.version == 2
    assert dataset.to_table(filter="id > 2").to_pydict() == {"id": [3, 3]}
    dataset.delete("id = 1")
    assert lance_core.dataset(uri, storage_options=HTTP | LOGIN).count_rows() == 4


def test_a_server_that_ignores_conditions_is_found_out() -> None:
    with running_webdav("--ignore-conditions") as host:
        uri = f"webdav://{host}/table.lance"
        with pytest.raises(NoSafeCommitHandlerError, match="put_if_absent"):
            lance_core.write_dataset(TABLE, uri, storage_options=HTTP)
        assert probe(open_store(uri, HTTP)).put_if_absent is Guarantee.NO


def test_the_parts_of_an_upload_become_one_object_or_nothing(server: str) -> None:
    settings = RemoteSettings(allow_http=True, part_size=5 << 20, max_single_put=5 << 20)
    client = WebdavClient(server, ("writer", PASSWORD), settings)
    store = RemoteStore(client, f"uploads-{uuid.uuid4()}", settings)
    content = bytes(range(256)) * (50 << 10)
    with store.open_writer("object") as writer:
        writer.write(content)
    assert bytes(store.get("object")) == content
    writer = store.open_writer("object")
    writer.write(content)
    writer.abort()
    assert [found.path for found in store.list("")] == ["object"]
    assert not client.list_page(".uploads/", None, None, deep=True).objects


def test_a_server_without_webdav_has_no_empty_folders(server: str) -> None:
    with FaultProxy(f"http://{server}") as proxy:
        uri = f"webdav://{proxy.url.removeprefix('http://')}/{uuid.uuid4()}/table.lance"
        proxy.set_rules([Rule(Answer(404, b"<html>no such page</html>"), "PROPFIND")])
        with pytest.raises(StoreError, match="404"):
            lance_core.write_dataset(TABLE, uri, storage_options=HTTP | LOGIN)
        assert proxy.count("PUT") == 0


def test_retries_come_with_the_store(server: str) -> None:
    with FaultProxy(f"http://{server}") as proxy:
        uri = f"webdav://{proxy.url.removeprefix('http://')}/{uuid.uuid4()}/table.lance"
        rules = [Rule(Reset(after=True), probability=0.1), Rule(Answer(503), probability=0.1)]
        lance_core.write_dataset(TABLE, uri, storage_options=HTTP | LOGIN)
        proxy.set_rules(rules)
        for _ in range(5):
            lance_core.write_dataset(TABLE, uri, mode="append", storage_options=HTTP | LOGIN)
        dataset = lance_core.dataset(uri, storage_options=HTTP | LOGIN)
        assert (dataset.version, dataset.count_rows()) == (6, 18)
        assert proxy.struck > 0


PART = {"Content-Range": "bytes 0-2/9", "ETag": "a"}

STRANGE = {
    "a page for people": (Answer(200, b"<html>"), Failure.REFUSED),
    "another range": (Answer(206, b"abc", PART), Failure.REFUSED),
    "a range of nothing": (Answer(206, b"abc", {"Content-Range": "bytes 5-7/*"}), Failure.REFUSED),
    "no content": (Answer(204), Failure.UNKNOWN),
    "a time-out": (Answer(408), Failure.UNKNOWN),
    "a time that is none": (Answer(503, b"", {"Retry-After": "\u00b2"}), Failure.BUSY),
}


@pytest.mark.parametrize("case", STRANGE)
def test_an_answer_of_somebody_else_is_a_failure(server: str, case: str) -> None:
    answer, failure = STRANGE[case]
    with FaultProxy(f"http://{server}") as proxy:
        settings = RemoteSettings(allow_http=True)
        host = proxy.url.removeprefix("http://")
        client = WebdavClient(host, ("writer", PASSWORD), settings)
        proxy.set_rules([Rule(answer)])
        with pytest.raises(RequestError) as caught:
            client.get("object", ByteRange(5, 8))
        assert caught.value.failure is failure
        proxy.set_rules([Rule(Answer(200, b"<html>"))])
        for request in (
            lambda: client.head("object"),
            lambda: client.put("object", [memoryview(b"x")], if_absent=True),
            lambda: client.list_page("", None, None, deep=True),
        ):
            with pytest.raises(RequestError) as caught:
                request()
            assert caught.value.failure is Failure.UNKNOWN


REFUSED = {
    "a wrong password": (HTTP | LOGIN | {"webdav_password": "wrong"}, StoreError, "401"),
    "no TLS": (LOGIN, StoreError, "SSL"),
    "a proxy": (HTTP | LOGIN | {"proxy_url": "http://x"}, UnsupportedFeatureError, "proxies"),
    "an unknown option": (HTTP | LOGIN | {"webdav_usr": "x"}, InvalidInputError, "webdav_user"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_is_one_typed_error(server: str, case: str) -> None:
    options, kind, telling = REFUSED[case]
    with pytest.raises(kind) as caught:
        open_store(f"webdav://{server}/table", options).get("object")
    assert telling in str(caught.value)
    assert PASSWORD not in repr(caught.value)


def test_a_url_holds_no_password(server: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_store(f"webdav://writer:{PASSWORD}@{server}/table", HTTP)
    assert PASSWORD not in str(caught.value)
