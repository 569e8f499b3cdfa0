"""What requests to S3 hold."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Callable

import pytest
from botocore.awsrequest import AWSPreparedRequest

from lance_core.byte_ranges import ByteRange
from lance_core_remote.client import RemoteClient, RequestError, UploadedPart
from lance_core_s3.body import JOINED, Body, body_of
from tests.cloud.s3.places import opened, seen_requests, store_of
from tests.each_case import each_case
from tests.servers.moto import Moto

URI = "s3://bucket/table"
GIVEN = {
    "aws_access_key_id": "id",
    "aws_secret_access_key": "secret",
    "aws_endpoint": "https://host.example",
}
SMALL = [memoryview(b"ab"), memoryview(b"c")]
LARGE = [memoryview(bytes(JOINED)), memoryview(b"end")]

CALLS: dict[str, Callable[[RemoteClient], object]] = {
    "get": lambda client: client.get("k", ByteRange(1, 3), '"e"'),
    "head": lambda client: client.head("k"),
    "put": lambda client: client.put("k", SMALL, if_absent=True),
    "put of much": lambda client: client.put("k", LARGE, if_absent=False),
    "delete": lambda client: client.delete("k"),
    "copy": lambda client: client.copy("k", "t", if_absent=False),
    "list": lambda client: client.list_page("p", "p/a", None, deep=False),
    "start": lambda client: client.start_upload("k", if_absent=True),
    "part": lambda client: client.upload_part("k", "u", 1, LARGE),
    "finish": lambda client: client.finish_upload("k", "u", [UploadedPart(1, "t")], if_absent=True),
    "abort": lambda client: client.abort_upload("k", "u"),
}


def request_of(call: str, **given: str) -> AWSPreparedRequest:
    """The only request that a call makes."""
    too_short = contextlib.suppress(RequestError)
    with opened(URI, {**GIVEN, **given}) as store, seen_requests(store) as requests, too_short:
        CALLS[call](store.client)
    (request,) = requests
    return request


def header(request: AWSPreparedRequest, name: str) -> str | None:
    value = request.headers.get(name)
    return value.decode() if isinstance(value, bytes) else value


@each_case("call", CALLS)
def test_whoever_pays_says_so_in_every_request(call: str) -> None:
    assert header(request_of(call, request_payer="true"), "x-amz-request-payer") == "requester"
    assert header(request_of(call), "x-amz-request-payer") is None


@each_case("call", CALLS)
def test_requests_are_signed_unless_that_is_skipped(call: str) -> None:
    signed = header(request_of(call), "Authorization")
    assert signed is not None
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=id/")
    assert header(request_of(call, skip_signature="true"), "Authorization") is None


@pytest.mark.parametrize("call", ["put", "finish"])
def test_conditions_are_sent(call: str) -> None:
    assert header(request_of(call), "If-None-Match") == "*"


def test_an_overwriting_put_has_no_condition() -> None:
    assert header(request_of("put of much"), "If-None-Match") is None


def test_a_read_asks_for_the_range_of_one_version() -> None:
    request = request_of("get")
    assert header(request, "Range") == "bytes=1-2"
    assert header(request, "If-Match") == '"e"'


def test_a_listing_starts_behind_a_key_and_at_one_level() -> None:
    url = request_of("list").url
    assert "start-after=p%2Fa" in url
    assert "delimiter=%2F" in url


def test_a_listing_starts_at_what_xml_can_hold() -> None:
    with opened(URI, GIVEN) as store, seen_requests(store) as requests:
        store.client.list_page("p", "p/a\uffffb", None, deep=True)
    assert requests[0].url.endswith("start-after=p%2Fa&encoding-type=url")


@each_case("call", ["put", "put of much", "part"])
def test_signatures_cover_bodies_unless_they_are_left_out(call: str) -> None:
    digest = hashlib.sha256(b"".join(SMALL if call == "put" else LARGE)).hexdigest()
    assert header(request_of(call), "x-amz-content-sha256") == digest
    unsigned = request_of(call, unsigned_payload="true")
    assert header(unsigned, "x-amz-content-sha256") == "UNSIGNED-PAYLOAD"


@pytest.mark.parametrize("call", ["put of much", "part"])
def test_no_body_waits_for_a_word_of_the_server(call: str) -> None:
    assert header(request_of(call), "Expect") is None
    assert header(request_of(call), "Content-Length") == str(JOINED + 3)


ENCRYPTION = "x-amz-server-side-encryption"
SOURCE = "x-amz-copy-source-server-side-encryption"


@each_case("call", ["put", "copy", "start"])
@each_case(
    ("kind", "sent"),
    [("AES256", "AES256"), ("sse:kms", "aws:kms"), ("aws:kms:dsse", "aws:kms:dsse")],
)
def test_what_is_made_is_encrypted_as_was_asked_for(call: str, kind: str, sent: str) -> None:
    given = {"aws_server_side_encryption": kind}
    if sent != "AES256":
        given |= {"aws_sse_kms_key_id": "key", "aws_sse_bucket_key_enabled": "true"}
    request = request_of(call, **given)
    assert header(request, ENCRYPTION) == sent
    if sent != "AES256":
        assert header(request, f"{ENCRYPTION}-aws-kms-key-id") == "key"
        assert header(request, f"{ENCRYPTION}-bucket-key-enabled") == "true"


@each_case("call", ["get", "head", "put", "start", "part", "copy"])
def test_a_key_of_the_customer_goes_along(call: str) -> None:
    key = base64.b64encode(bytes(range(32))).decode()
    given = {"aws_server_side_encryption": "sse-c", "aws_sse_customer_key_base64": key}
    request = request_of(call, **given)
    assert header(request, f"{ENCRYPTION}-customer-key") == key
    assert header(request, f"{ENCRYPTION}-customer-algorithm") == "AES256"
    assert header(request, f"{SOURCE}-customer-key") == (key if call == "copy" else None)


def test_a_body_is_read_in_views_of_its_buffers() -> None:
    whole = bytes(range(256)) * 8192
    views = [memoryview(whole)[:1], memoryview(b""), memoryview(whole)[1:1500000]]
    body = body_of([*views, memoryview(whole)[1500000:]])
    assert isinstance(body, Body)
    assert len(body) == len(whole)
    pieces = list(iter(lambda: body.read(10), b""))
    assert b"".join(pieces) == whole
    assert all(isinstance(piece, memoryview) and piece.obj is whole for piece in pieces)
    for position in (0, 1, 2, 1499999, 1500000, len(whole) - 1, len(whole)):
        assert body.seek(position) == body.tell() == position
        assert body.read() == whole[position:]


def test_a_small_body_goes_out_in_one_piece() -> None:
    assert body_of(SMALL) == b"abc"


def test_objects_are_encrypted_where_the_service_keeps_them(moto: Moto, bucket: str) -> None:
    with store_of(moto, f"s3://{bucket}/t", aws_server_side_encryption="AES256") as store:
        store.put("a", b"content")
        store.copy("a", "b")
        with store.open_writer("c") as writer:
            writer.write(bytes(9 << 20))
        assert bytes(store.get("a")) == b"content"
    for name in "abc":
        found = moto.client("s3").head_object(Bucket=bucket, Key=f"t/{name}")
        assert found["ServerSideEncryption"] == "AES256"
