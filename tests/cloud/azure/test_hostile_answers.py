"""Answers of servers that are broken, or that are somebody else, end in the right failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import OutcomeUnknownError
from lance_core.store.base import PutMode
from lance_core.store.uri import parse_uri
from lance_core_azure.store import open_store
from lance_core_remote.client import Failure, RemoteClient, RequestError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Reset, Rule
from tests.cloud.azure.conftest import Open
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.azurite import ACCOUNT, KEY, Azurite
from tests.servers.raw import Says, saying, slowly_taking, trickling

PART = (
    b'HTTP/1.1 206 OK\r\nETag: "a"\r\nx-ms-blob-type: BlockBlob\r\n'
    b"Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\ncontent-range: bytes 5-7/20\r\n"
)
HEAD = b"HTTP/1.1 200 OK\r\nETag: a\r\nx-ms-blob-type: BlockBlob\r\n"
BLOB = (
    b"<Blob><Name>a</Name><Properties><Content-Length>3</Content-Length>"
    b"<Last-Modified>Mon, 01 Jan 2024 00:00:00 GMT</Last-Modified></Properties></Blob>"
)


@contextmanager
def answering(answer: Says, timeout: str = "500ms") -> Iterator[RemoteClient]:
    """A client of a server that says this to everybody."""
    with saying(answer) as server:
        options = {
            "account_name": ACCOUNT,
            "account_key": KEY,
            "endpoint": f"{server.url}/{ACCOUNT}",
        }
        options |= {"allow_http": "true", "timeout": timeout, "connect_timeout": "200ms"}
        store = open_store(parse_uri("az://container/t"), options)
        yield store.client  # type: ignore[attr-defined]  # stores of the factory are remote stores
        store.close()  # type: ignore[attr-defined]


def listed(blobs: bytes, marker: bytes = b"") -> bytes:
    """An answer with a page of a listing."""
    body = b"<EnumerationResults><Blobs>%s</Blobs><NextMarker>%s</NextMarker></EnumerationResults>"
    body %= (blobs, marker)
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@each_case(
    ("answer", "failure"),
    [
        (PART.replace(b"bytes 5", b"bytes 4") + b"\r\nabc", Failure.REFUSED),
        (PART.replace(b"5-7/20", b"*/20") + b"\r\nabc", Failure.REFUSED),
        (PART.replace(b"/20", b"/-20") + b"\r\nabc", Failure.REFUSED),
        (PART.replace(b"/20", b"/" + b"9" * 5000) + b"\r\nabc", Failure.UNKNOWN),
        (PART + b"content-length: 140737488355328\r\n\r\nabc", Failure.UNKNOWN),
        (PART + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", Failure.UNKNOWN),
        (PART.replace(b"-7", b"-6") + b"content-length: 2\r\n\r\nab", Failure.UNKNOWN),
        (PART + b"\r\n" + bytes(1 << 20), Failure.REFUSED),
        (PART.replace(b"206", b"207") + b"\r\nabc", Failure.UNKNOWN),
        (PART + b"x-ms-error-code: BlobNotFound\r\n\r\nabc", Failure.UNKNOWN),
        (PART.replace(b"bytes 5-7/20", b"bytes") + b"\r\nabc", Failure.UNKNOWN),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\njunk", Failure.UNKNOWN),
        (b"HTTP/1.1 500 no\r\n\r\n" + bytes(10 << 20), Failure.UNKNOWN),
        (b"HTTP/1.1 403 no\r\n\r\n" + bytes(10 << 20), Failure.REFUSED),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_failure(answer: bytes, failure: Failure) -> None:
    with answering(Says(answer)) as client:
        with pytest.raises(RequestError) as caught:
            client.get("key", ByteRange(5, 8))
        assert caught.value.failure is failure


def test_a_redirect_is_not_followed() -> None:
    with saying(Says(PART + b"\r\nabc")) as other:
        redirect = b"HTTP/1.1 307 no\r\nLocation: %s/x\r\ncontent-length: 0\r\n\r\n"
        with answering(Says(redirect % other.url.encode())) as client:
            with pytest.raises(RequestError, match="status 307") as caught:
                client.get("key", ByteRange(5, 8))
            assert caught.value.failure is Failure.REFUSED


@each_case(
    "more",
    [
        b"content-length: -5\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
        b"content-length: 5\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 +99999999999999999\r\n",
        b"content-length: 5\r\n",
    ],
)
def test_properties_that_cannot_be_are_not_believed(more: bytes) -> None:
    with answering(Says(HEAD + more + b"\r\n")) as client:
        with pytest.raises(RequestError) as caught:
            client.head("key")
        assert caught.value.failure is Failure.UNKNOWN


@each_case(
    "page",
    [
        listed(BLOB.replace(b">3<", b">-3<")),
        listed(BLOB.replace(b">3<", b">" + b"9" * 5000 + b"<")),
        listed(BLOB.replace(b"GMT", b"-0000")),
        listed(BLOB.replace(b"GMT", b"+99999999999999999999")),
        b"HTTP/1.1 200 OK\r\n\r\n<?xml version='1.0' encoding='zzz'?><a/>",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"<a>" * 200_000,
    ],
)
def test_a_page_that_cannot_be_is_not_believed(page: bytes) -> None:
    with answering(Says(page)) as client:
        with pytest.raises(RequestError) as caught:
            client.list_page("", None, None, deep=True)
        assert caught.value.failure is Failure.UNKNOWN


def test_a_listing_that_begins_anew_for_ever_is_given_up() -> None:
    page = listed(BLOB.replace(b">a<", ">\U00010000<".encode()), b"again")
    same = Says(page, keeps=True)
    with answering(same) as client, pytest.raises(RequestError, match="no progress"):
        client.list_page("", None, None, deep=True)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nx: ", PART + b"content-length: 99\r\n\r\n"])
def test_an_answer_that_trickles_is_given_up(head: bytes) -> None:
    with (
        answering(trickling(head)) as client,
        ends_within(0.5),
        pytest.raises(RequestError) as caught,
    ):
        client.get("key", ByteRange(5, 2000))
    assert caught.value.failure is Failure.UNKNOWN


def test_a_body_may_take_longer_to_be_sent_than_connecting() -> None:
    made = b"HTTP/1.1 201 Created\r\nETag: a\r\ncontent-length: 0\r\n\r\n"
    with answering(slowly_taking(made), timeout="5s") as client:
        client.put("first", [], if_absent=False)
        client.put("over the same connection", [memoryview(bytes(8 << 20))], if_absent=True)


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_that_breaks_by_way_of_a_proxy_leaves_a_write_open(
    azurite: Azurite, opened: Open, container: str, after: bool
) -> None:
    with FaultProxy(azurite.origin) as proxy:
        store = opened(f"az://{container}/t", proxy_url=proxy.url)
        proxy.set_rules([Rule(Reset(after), "PUT", times=1)])
        if after:  # the second attempt meets the first
            with pytest.raises(OutcomeUnknownError):
                store.put("file", b"content", PutMode.create)
        else:
            store.put("file", b"content", PutMode.create)
        assert proxy.count("PUT") == 2
        assert bytes(store.get("file")) == b"content"


@pytest.mark.parametrize("status", [200, 204])
def test_what_others_say_in_the_place_of_the_service_makes_no_object(
    azurite: Azurite, opened: Open, container: str, status: int
) -> None:
    with FaultProxy(azurite.origin) as proxy:
        endpoint = f"{proxy.url}/{ACCOUNT}"
        store = opened(f"az://{container}/t", endpoint=endpoint, client_max_retries="0")
        proxy.set_rules([Rule(Answer(status, b"junk" if status == 200 else b""), "PUT")])
        with pytest.raises(OutcomeUnknownError):
            store.put("file", b"content", PutMode.create)
