"""Whatever a server says, a call ends in time, in bounded memory and by an error of the store."""

from __future__ import annotations

import dataclasses
import resource
import time
from collections.abc import Callable
from typing import Any

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import LanceError, OutcomeUnknownError, PluginError, StoreError
from lance_core.store.base import PutMode
from lance_core_remote.store import RemoteStore
from lance_core_s3.response import bound_responses
from tests.cloud.s3.places import opened
from tests.each_case import each_case
from tests.patience import ends_within
from tests.servers.raw import Says, http, saying, slowly_taking, trickling

KEYS = {
    "aws_access_key_id": "a",
    "aws_secret_access_key": "b",
    "aws_region": "us-east-1",
    "allow_http": "true",
    "client_max_retries": "1",
    "download_retry_count": "0",
    "timeout": "1s",
}
ENOUGH = 6.0
"""Seconds for two requests of one second."""

FLOOD = (b"10000\r\n" + b"x" * 65536 + b"\r\n", 40_000)
"""2.6 GB in chunks."""

OF_OBJECT = {"etag": '"e"', "last_modified": "Thu, 01 Jan 2026 00:00:00 GMT"}


def content(length: str = "10", placed: str = "bytes 0-9/10", **headers: str) -> Says:
    given = {"content_length": length, "content_range": placed} | OF_OBJECT | headers
    return http(206, b"0123456789", **given)


def listing(inner: bytes) -> Says:
    body = b"<?xml version='1.0'?><ListBucketResult><Name>b</Name>" + inner
    return http(200, body + b"</ListBucketResult>", content_type="application/xml")


def entry(key: str, size: str = "<Size>1</Size>") -> bytes:
    date = "<LastModified>2026-01-01T00:00:00Z</LastModified>"
    return f"<Contents><Key>{key}</Key>{size}{date}</Contents>".encode()


def more(token: str) -> bytes:
    said = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f"<IsTruncated>true</IsTruncated>{said}".encode()


def error(status: int, body: bytes, **headers: str) -> Says:
    return http(status, body, content_type="application/xml", **headers)


def flood(start: Says) -> Says:
    return dataclasses.replace(start, again=FLOOD[0], times=FLOOD[1])


def laughs() -> bytes:
    """An entity that is 10**9 characters long."""
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10}'>" for n in range(1, 10))
    start = f"<?xml version='1.0'?><!DOCTYPE l [<!ENTITY e0 'x'>{entities}]>"
    return f"{start}<Error><Code>AccessDenied</Code><Message>&e9;</Message></Error>".encode()


def get(store: RemoteStore) -> object:
    return store.get("x")


def ranges(store: RemoteStore) -> object:
    return store.get_ranges("x", [ByteRange(0, 10)])


def head(store: RemoteStore) -> object:
    return store.head("x")


def create(store: RemoteStore) -> object:
    return store.put("x", b"1", PutMode.create)


def upload(store: RemoteStore) -> object:
    with store.open_writer("x") as writer:
        writer.write(bytes(20 << 20))
    return None


def names(store: RemoteStore) -> object:
    return [list(store.list("")), list(store.list_names(""))]


CHUNKED = {"content_length": "", "transfer_encoding": "chunked"}
DRIBBLED = {"again": b"<", "times": 100, "seconds": 0.2}

ANSWERS: dict[str, tuple[Callable[[RemoteStore], object], list[Says]]] = {
    "a length below zero": (get, [content("-5")]),
    "a length below zero, and no end": (get, [flood(content("-5"))]),
    "a length that is no number": (get, [content("abc")]),
    "a size beyond all": (get, [content(placed=f"bytes 0-9/{'9' * 18}")]),
    "a size of 5000 digits": (get, [content(placed=f"bytes 0-9/{'9' * 5000}")]),
    "another range": (ranges, [content(placed="bytes 50-59/100")]),
    "a range of what": (ranges, [content(placed="pages 1-2/3")]),
    "an error without an end": (get, [flood(http(403, **CHUNKED))]),
    "a listing without an end": (names, [flood(http(200, **CHUNKED))]),
    "a body bit by bit": (
        ranges,
        [dataclasses.replace(content(), start=content().start[:-9], **DRIBBLED)],
    ),
    "a listing bit by bit": (
        names,
        [dataclasses.replace(http(200, content_length="99"), **DRIBBLED)],
    ),
    "an error of 10 MB": (get, [error(403, b"<Error><Message>" + b"x" * 10_000_000)]),
    "an error that grows": (get, [error(403, laughs())]),
    "an error of many elements": (get, [error(403, b"<a>" * 100_000)]),
    "a way that leads back": (get, [error(307, b"", location="/again")]),
    "a way for writers that leads back": (create, [error(307, b"", location="/again")]),
    "an object without a length": (head, [http(200, content_length="", **OF_OBJECT)]),
    "an object of less than nothing": (head, [http(200, content_length="-1", **OF_OBJECT)]),
    "an object without a date": (head, [http(200)]),
    "an object of no date": (head, [http(200, last_modified="never")]),
    "names without a size": (names, [listing(entry("t/a", ""))]),
    "sizes below zero": (names, [listing(entry("t/a", "<Size>-7</Size>"))]),
    "sizes without a name": (names, [listing(b"<Contents><Size>1</Size></Contents>")]),
    "nothing, for a listing": (names, [http(200)]),
    "a page of the web, for a listing": (names, [http(200, b"<html></html>")]),
    "a listing that goes on nowhere": (names, [listing(more(""))]),
    "a listing that goes in circles": (
        names,
        [listing(entry("t/a") + more("1")), listing(entry("t/b") + more("2"))],
    ),
    "an upload without a name": (upload, [http(200)]),
    "what is not HTTP": (get, [Says(b"SSH-2.0-OpenSSH\r\n\r\n")]),
    "nothing at all": (get, [Says(b"")]),
    "headers by the hundred": (get, [http(200, **{f"x{n}": "1" for n in range(500)})]),
}


@each_case("said", ANSWERS)
def test_what_makes_no_sense_ends_in_an_error_of_the_store(said: str) -> None:
    call, answers = ANSWERS[said]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with saying(*answers) as server, ends_within(ENOUGH):
        options: dict[str, Any] = KEYS | {"aws_endpoint": server.url}
        with opened("s3://bucket/t", options) as store, pytest.raises(LanceError):
            call(store)
        assert len(server.requests) < 10
    # 32 MiB of an answer, and once more while they are joined.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


@each_case("answer", [http(200), http(200, b"<html></html>"), http(503, b"upstream reset")])
def test_a_write_that_somebody_else_answers_is_unknown(answer: Says) -> None:
    with saying(answer) as server:
        options: dict[str, Any] = KEYS | {"aws_endpoint": server.url}
        with opened("s3://bucket/t", options) as store, pytest.raises(OutcomeUnknownError):
            create(store)


@each_case("call", [get, names, upload])
def test_a_condition_that_nobody_set_is_not_unmet(call: Callable[[RemoteStore], object]) -> None:
    with saying(error(412, b"<Error><Code>PreconditionFailed</Code></Error>")) as server:
        options: dict[str, Any] = KEYS | {"aws_endpoint": server.url}
        with opened("s3://bucket/t", options) as store, pytest.raises(StoreError) as refused:
            call(store)
        assert type(refused.value) is StoreError


def test_names_that_no_path_has_are_none_of_the_store() -> None:
    keys = ["/abs", "other/x", "t/", "t/../../etc/passwd", "t//x", "t/C:/x", "t/a", "t/z%20"]
    with saying(listing(b"".join(map(entry, sorted(keys))))) as server:
        options: dict[str, Any] = KEYS | {"aws_endpoint": server.url}
        with opened("s3://bucket/t", options) as store:
            assert [found.path for found in store.list("")] == ["a", "z%20"]


@each_case("through", ["endpoint", "proxy_url"])
@each_case(
    ("call", "failure"), [(get, StoreError), (head, StoreError), (create, OutcomeUnknownError)]
)
def test_an_answer_whose_head_trickles_is_given_up(
    call: Callable[[RemoteStore], object], failure: type[StoreError], through: str
) -> None:
    once = {"timeout": "500ms", "client_max_retries": "0", "endpoint": "http://s3.invalid"}
    with saying(trickling(b"HTTP/1.1 200 OK\r\nx: ")) as server:
        options: dict[str, Any] = KEYS | once | {through: server.url}
        with (
            ends_within(0.5),
            opened("s3://bucket/t", options) as store,
            pytest.raises(StoreError) as given_up,
        ):
            call(store)
        assert type(given_up.value) is failure
        assert len(server.requests) == 1


def test_a_body_that_is_taken_slowly_ends_in_time() -> None:
    with saying(slowly_taking(http(200, etag='"e"').start)) as server:
        options: dict[str, Any] = KEYS | {"client_max_retries": "0", "endpoint": server.url}
        with opened("s3://bucket/t", options) as store, pytest.raises(OutcomeUnknownError):
            store.put("a", bytes(8 << 20))


def test_a_client_that_cannot_be_bounded_in_time_is_refused() -> None:
    with pytest.raises(PluginError, match="cannot be bounded in time"):
        bound_responses(object(), 1.0)


def test_a_slow_line_may_take_longer_to_send_a_body_than_to_connect() -> None:
    patient = {"connect_timeout": "300ms", "timeout": "30s"}
    taking = dataclasses.replace(http(200, b"", etag='"e"'), seconds_to_take=0.04)
    with (
        saying(taking) as server,
        opened("s3://bucket/t", KEYS | patient | {"endpoint": server.url}) as store,
    ):
        start = time.monotonic()
        store.put("a", bytes(6 << 20))
        assert time.monotonic() - start > 1.0
        assert len(server.requests) == 1
