"""Answers of servers that are broken, or that are somebody else, end in the right failure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import OutcomeUnknownError
from lance_core.store.base import PutMode
from lance_core.store.uri import parse_uri
from lance_core_gcs.capabilities import OF_GOOGLE
from lance_core_gcs.client import GcsClient
from lance_core_gcs.options import read_options
from lance_core_remote.client import Failure, RequestError
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Rule
from tests.cloud.gcs.conftest import Open
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.gcs import GcsServer
from tests.servers.raw import Says, saying, slowly_taking, trickling

PART = b"HTTP/1.1 206 OK\r\nx-goog-generation: 1\r\ncontent-range: bytes 5-7/20\r\n"
DIGITS = b"9" * 5000


@contextmanager
def answering(answer: Says, timeout: str = "500ms") -> Iterator[GcsClient]:
    """A client of a server that says this to everybody."""
    with saying(answer) as server:
        options = {"google_base_url": server.url, "allow_http": "true"}
        options |= {"google_skip_signature": "1", "timeout": timeout, "connect_timeout": "200ms"}
        read = read_options(parse_uri("gs://bucket"), options, {})
        with closing(GcsClient(read, OF_GOOGLE)) as client:
            yield client


def ok(value: object) -> Says:
    """An answer with a JSON body."""
    body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    return Says(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


@each_case(
    ("answer", "failure"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", Failure.UNKNOWN),
        (PART.replace(b"206", b"200") + b"content-length: 3\r\n\r\nabc", Failure.REFUSED),
        (PART.replace(b"bytes 5", b"bytes 4") + b"\r\nabc", Failure.REFUSED),
        (PART.replace(b"5-7/20", b"5-7/*") + b"\r\nabc", Failure.REFUSED),
        (PART.replace(b"/20", b"/" + DIGITS) + b"\r\nabc", Failure.REFUSED),
        (PART.replace(b"x-goog-generation", b"etag") + b"\r\nabc", Failure.UNKNOWN),
        (PART.replace(b"206", b"204") + b"\r\n", Failure.UNKNOWN),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\njunk", Failure.UNKNOWN),
        (b"HTTP/1.1 500 no\r\n\r\n" + bytes(10 << 20), Failure.UNKNOWN),
        (b"HTTP/1.1 403 no\r\n\r\n" + bytes(10 << 20), Failure.REFUSED),
        (PART + b"transfer-encoding: chunked\r\n\r\nzz\r\n", Failure.UNKNOWN),
        (PART + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", Failure.UNKNOWN),
        (PART + b"a: b\r\n" * 200 + b"\r\n", Failure.UNKNOWN),
        (b"HTTP/1.1 2\r\n\r\n", Failure.UNKNOWN),
        (b"nonsense\r\n\r\n", Failure.UNKNOWN),
        (b"", Failure.UNKNOWN),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_failure(answer: bytes, failure: Failure) -> None:
    with answering(Says(answer)) as client, pytest.raises(RequestError) as caught:
        client.get("key", ByteRange(5, 8))
    assert caught.value.failure is failure


@each_case("length", [b"-5", b"\xb2", DIGITS])
def test_a_length_that_is_none_is_not_believed(length: bytes) -> None:
    with answering(Says(PART + b"content-length: " + length + b"\r\n\r\nabc")) as client:
        assert client.get("key", ByteRange(5, 8)).data.to_pybytes() == b"abc"


def test_a_body_in_chunks_is_read_as_one() -> None:
    head = PART.replace(b"5-7", b"5-9") + b"transfer-encoding: chunked\r\n\r\n"
    with answering(Says(head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) as client:
        found = client.get("key", ByteRange(5, 10))
    assert (found.data.to_pybytes(), found.size) == (b"abcde", 20)


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nx: ", PART + b"content-length: 1000\r\n\r\n"]
)
def test_an_answer_that_trickles_is_given_up(head: bytes) -> None:
    with (
        answering(trickling(head)) as client,
        ends_within(0.5),
        pytest.raises(RequestError) as caught,
    ):
        client.get("key", ByteRange(5, 2000))
    assert caught.value.failure is Failure.UNKNOWN


def test_a_body_may_take_longer_to_be_sent_than_connecting() -> None:
    body = [memoryview(bytes(8 << 20))]
    with answering(slowly_taking(ok({"generation": "1"}).start), timeout="5s") as client:
        client.put("first", [memoryview(b"x")], if_absent=False)
        client.put("over the same connection", body, if_absent=True)


ITEM: Mapping[str, object] = {
    "name": "a",
    "size": "3",
    "generation": "1",
    "updated": "2024-01-01T00:00:00Z",
}


@each_case(
    "wrong",
    [
        {"name": 5},
        {"size": "-3"},
        {"size": "9" * 5000},
        {"size": float("inf")},
        {"generation": 1},
        {"updated": "2024-01-01T00:00:00"},
        {"updated": 5},
    ],
)
def test_properties_that_cannot_be_are_not_believed(wrong: Mapping[str, object]) -> None:
    item = {**ITEM, **wrong}
    with answering(ok(item)) as client, pytest.raises(RequestError) as caught:
        client.head("a")
    assert caught.value.failure is Failure.UNKNOWN
    with answering(ok({"items": [item]})) as client, pytest.raises(RequestError) as caught:
        client.list_page("", None, None, deep=True)
    assert caught.value.failure is Failure.UNKNOWN


@each_case(
    "page", ["[]", "null", "[" * 200_000, {"items": None}, {"nextPageToken": 5}, {"items": ["a"]}]
)
def test_a_page_that_is_none_is_not_believed(page: object) -> None:
    with answering(ok(page)) as client, pytest.raises(RequestError) as caught:
        client.list_page("", None, None, deep=True)
    assert caught.value.failure is Failure.UNKNOWN


@each_case(
    "said",
    [
        {"done": False, "rewriteToken": "a", "totalBytesRewritten": "5"},
        {"done": False, "rewriteToken": "a"},
        {"done": "false"},
        {},
        {"done": False, "rewriteToken": "a", "totalBytesRewritten": "5", "objectSize": "9"},
        {"done": False, "rewriteToken": None, "totalBytesRewritten": "5", "objectSize": "9"},
        {"done": "false", "resource": {}, "totalBytesRewritten": "5", "objectSize": "9"},
    ],
)
def test_a_copy_that_makes_no_progress_is_given_up(said: object) -> None:
    with answering(ok(said)) as client, pytest.raises(RequestError) as caught:
        client.copy("a", "b", if_absent=True)
    assert caught.value.failure is Failure.UNKNOWN


@pytest.mark.parametrize("status", [200, 204])
@pytest.mark.parametrize("body", [b"", b"junk", b'{"error": {}}', b'{"size": "1"}'])
def test_what_others_say_in_the_place_of_the_service_makes_no_object(
    gcs: GcsServer, opened: Open, bucket: str, status: int, body: bytes
) -> None:
    with FaultProxy(gcs.endpoint) as proxy:
        options = {"google_base_url": proxy.url, "client_max_retries": "0"}
        store = opened(f"gs://{bucket}", **options)
        proxy.set_rules([Rule(Answer(status, body if status == 200 else b""), "POST")])
        with pytest.raises(OutcomeUnknownError):
            store.put("a", b"content", PutMode.create)
        # The last request of an upload is the one that makes the object.
        proxy.set_rules([Rule(Answer(status, body if status == 200 else b""), "PUT", nth=3)])
        writer = store.open_writer("b")
        writer.write(bytes(9 << 20))
        with pytest.raises(OutcomeUnknownError):
            writer.close()
    assert list(opened(f"gs://{bucket}").list("")) == []
