"""Uploads in parts: in order, within little memory, whole or not at all."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lance_core.errors import (
    LanceError,
    ObjectExistsError,
    ObjectNotFoundError,
    OutcomeUnknownError,
    StoreError,
)
from lance_core.store.base import PutMode
from lance_core.store.uri import parse_uri
from lance_core_gcs.capabilities import OF_GOOGLE
from lance_core_gcs.client import GcsClient
from lance_core_gcs.options import read_options
from lance_core_gcs.uploads import CHUNK
from lance_core_remote.client import Failure, RequestError, UploadedPart
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.network.fault_proxy import FaultProxy
from lance_core_testing.network.faults import Answer, Reset, Rule, Truncated, json_error
from tests.servers.gcs import GcsServer

MIB = 1 << 20
SMALL = RemoteSettings(part_size=CHUNK, max_single_put=CHUNK)


@pytest.fixture
def proxy(gcs: GcsServer) -> Iterator[FaultProxy]:
    with FaultProxy(gcs.endpoint) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: FaultProxy, bucket: str) -> Iterator[GcsClient]:
    options = {
        "google_base_url": proxy.url,
        "google_skip_signature": "true",
        "allow_http": "true",
    }
    made = GcsClient(read_options(parse_uri(f"gs://{bucket}"), options, {}), OF_GOOGLE)
    yield made
    made.close()


def content(size: int) -> bytes:
    return bytes(range(251)) * (size // 251 + 1)


def written(client: GcsClient, size: int, settings: RemoteSettings = SMALL) -> None:
    """Write an object by a writer and read it back."""
    store, body = RemoteStore(client, "t", settings), content(size)[:size]
    with store.open_writer("object") as writer:
        for start in range(0, size, 100_000):
            writer.write(body[start : start + 100_000])
    assert bytes(store.get("object")) == body


@pytest.mark.parametrize(
    "size", [CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 5 * CHUNK, 5 * CHUNK + 77]
)
def test_whatever_the_length_the_object_is_whole(
    client: GcsClient, proxy: FaultProxy, size: int
) -> None:
    written(client, size)
    # The last part goes with the end as far as it fills no chunk; a full one goes before it.
    parts = 0 if size <= CHUNK else size // CHUNK + 1
    assert proxy.count("PUT", "/upload/*") == parts


@pytest.mark.parametrize("fault", [Reset(), Reset(after=True), json_error(503, "backendError")])
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_part_that_is_not_answered_is_sent_once_more(
    client: GcsClient, proxy: FaultProxy, fault: Reset | Answer, nth: int
) -> None:
    proxy.set_rules([Rule(fault, "PUT", "/upload/*", nth=nth)])
    written(client, 3 * CHUNK + 5)
    assert proxy.struck == 1
    # A question, and the part again unless it had arrived.
    assert proxy.count("PUT", "/upload/*") - 4 in {1, 2}


def test_an_answer_that_breaks_off_at_the_end_is_asked_for_again(
    client: GcsClient, proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(Truncated(), "PUT", "/upload/*", nth=3)])
    written(client, 2 * CHUNK + 5)
    assert proxy.struck == 1


def test_an_object_that_is_there_stays_when_an_upload_begins(client: GcsClient) -> None:
    store = RemoteStore(client, "t", SMALL)
    store.put("object", b"first", PutMode.create)
    with pytest.raises(ObjectExistsError):
        store.put("object", content(3 * CHUNK), PutMode.create)
    assert bytes(store.get("object")) == b"first"


def test_an_object_that_appears_meanwhile_stays_when_the_upload_ends(client: GcsClient) -> None:
    upload = client.start_upload("t/object", if_absent=True)
    part = client.upload_part("t/object", upload, 1, [memoryview(content(CHUNK + 5))])
    client.put("t/object", [memoryview(b"first")], if_absent=True)
    with pytest.raises(RequestError) as caught:
        client.finish_upload("t/object", upload, [part], if_absent=True)
    assert caught.value.failure is Failure.EXISTS
    assert bytes(client.get("t/object", None).data) == b"first"


def test_a_condition_is_not_stated_at_the_end_only(client: GcsClient) -> None:
    upload = client.start_upload("object", if_absent=False)
    part = client.upload_part("object", upload, 1, [memoryview(b"abc")])
    with pytest.raises(RequestError) as caught:
        client.finish_upload("object", upload, [part], if_absent=True)
    assert caught.value.failure is Failure.UNSUPPORTED


def test_a_part_waits_for_those_in_front_of_it(client: GcsClient) -> None:
    upload = client.start_upload("object", if_absent=False)
    with pytest.raises(RequestError, match="part 2"):
        client.upload_part("object", upload, 2, [memoryview(b"abc")])


@pytest.mark.parametrize("mode", PutMode)
def test_a_long_object_is_written_at_once(
    client: GcsClient, proxy: FaultProxy, mode: PutMode
) -> None:
    store, body = RemoteStore(client, "t"), content(9 * MIB)
    store.put("object", body, mode)
    assert [one.method for one in proxy.requests] == ["POST", "PUT"]
    assert bytes(store.get("object")) == body
    proxy.set_rules([Rule(Reset(after=True), "PUT", "/upload/*", nth=1)])
    if mode is PutMode.create:
        with pytest.raises(OutcomeUnknownError):
            store.put("other", body, mode)
    else:
        store.put("other", body, mode)
    assert bytes(store.get("other")) == body


def test_bytes_that_change_on_the_way_make_no_object(
    client: GcsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = client._session.request

    def changing(method: str, url: str, data: bytes, **more: Any) -> Any:
        return send(method, url, data.replace(b"content", b"context"), **more)

    monkeypatch.setattr(client._session, "request", changing)
    with pytest.raises(RequestError, match="CRC32C") as caught:
        client.put("object", [memoryview(b"some content")], if_absent=True)
    assert caught.value.failure is Failure.REFUSED


@pytest.mark.parametrize("place", ["/upload/storage/v1/b/x/o?upload_id=5", "", "?\x7f"])
def test_an_answer_does_not_choose_where_an_upload_goes(
    client: GcsClient, proxy: FaultProxy, gcs: GcsServer, place: str
) -> None:
    with FaultProxy(gcs.endpoint) as other:
        named = Answer(200, b"", {"location": f"{other.url}{place}"})
        proxy.set_rules([Rule(named, "POST", "/upload/*")])
        with pytest.raises(RequestError):
            client.put("object", [memoryview(content(9 * MIB))], if_absent=True)
        with pytest.raises(LanceError):
            written(client, 3 * CHUNK, replace(SMALL, max_retries=0))
        assert other.requests == []


def test_an_upload_that_is_aborted_leaves_nothing(client: GcsClient, proxy: FaultProxy) -> None:
    store = RemoteStore(client, "t", SMALL)
    writer = store.open_writer("object")
    writer.write(content(3 * CHUNK))
    writer.abort()
    assert proxy.count("DELETE", "/upload/*") == 1
    with pytest.raises(ObjectNotFoundError):
        store.get("object")


def test_an_upload_that_the_service_forgot_is_an_error(
    client: GcsClient, proxy: FaultProxy
) -> None:
    proxy.set_rules([Rule(json_error(410, "gone"), "PUT", "/upload/*", nth=2)])
    with pytest.raises(StoreError, match="410"):
        written(client, 3 * CHUNK)
    assert list(RemoteStore(client, "t").list("")) == []


def test_nobody_else_knows_an_upload(client: GcsClient) -> None:
    with pytest.raises(RequestError, match="does not exist any more"):
        client.finish_upload("object", "made-up", [UploadedPart(1, "5")], if_absent=False)
    client.abort_upload("object", "made-up")


def test_a_long_upload_takes_little_memory(client: GcsClient, proxy: FaultProxy) -> None:
    store, piece = RemoteStore(client, "t"), bytes(MIB)
    tracemalloc.start()
    try:
        with store.open_writer("object") as writer:
            for _ in range(96):
                writer.write(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert store.head("object").size == 96 * MIB
    # The proxy, in this process, holds a part of 8 MiB as well.
    assert peak < 48 * MIB
    store.delete("object")
