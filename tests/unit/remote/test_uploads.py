"""Uploads in parts: how long parts are, how many are in memory, and what is left of a failure."""

from __future__ import annotations

import os
import random
import threading
import tracemalloc
from collections.abc import Sequence

import pytest

from lance_core.errors import (
    InvalidInputError,
    ObjectExistsError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.store.base import Guarantee, PutMode
from lance_core_remote.client import Failure, RequestError, UploadedPart
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import CAPABILITIES, MemoryClient
from tests.each_case import each_case
from tests.unit.remote.scripted import Fails, ScriptedClient, Time

MIB = 1 << 20
SMALL = RemoteSettings(part_size=100, max_single_put=1000, max_retries=2)


class Sink(MemoryClient):
    """Keeps no bytes but counts them, and parts under way."""

    min_part_size = 5 * MIB

    def __init__(self) -> None:
        super().__init__()
        self.lengths: dict[int, int] = {}
        self.most_at_once = 0
        self._at_once = 0
        self._counting = threading.Lock()

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        with self._counting:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        threading.Event().wait(0.001)
        with self._counting:
            self.lengths[number] = sum(view.nbytes for view in body)
            self._at_once -= 1
        return UploadedPart(number, "tag")

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        assert [part.number for part in parts] == list(range(1, len(self.lengths) + 1))


@each_case("piece", [1000, 70_000, 3 * MIB, 20 * MIB])
def test_an_upload_takes_little_memory_however_long_it_is(piece: int) -> None:
    client = Sink()
    total = 256 * MIB if piece > 1000 else 48 * MIB
    data = bytes(piece)
    tracemalloc.start()
    try:
        with RemoteStore(client).open_writer("file") as writer:
            for _ in range(total // piece):
                # A copy each time, as a caller has it that makes new buffers.
                writer.write(bytearray(data))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(client.lengths.values()) == total // piece * piece
    assert most < 64 * MIB + piece
    assert client.most_at_once <= 3


class EqualParts(MemoryClient):
    """A service like Cloudflare R2: all parts but the last must have one length."""

    min_part_size = 10
    max_parts = 16
    can_copy = True

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[list[int]] = []

    @property
    def copies_parts(self) -> bool:
        return self.can_copy

    @property
    def equal_parts(self) -> bool:
        return True

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        sent = self._parts(upload)
        lengths = [len(sent[part.number]) for part in parts]
        self.lengths.append(lengths)
        if len(set(lengths[:-1])) > 1 or lengths[-1] > lengths[0] or len(parts) > self.max_parts:
            raise RequestError(Failure.REFUSED, "400 InvalidPart")
        super().finish_upload(key, upload, parts, if_absent=if_absent)


TINY = RemoteSettings(part_size=10, max_single_put=10, read_size=7)


def test_the_parts_of_an_upload_have_one_length() -> None:
    uploads = RemoteStore(MemoryClient())._uploads
    assert {uploads.part_size(), uploads.part_size(90 << 30)} == {10 * MIB}
    assert uploads.part_size(5 << 40) * uploads.client.max_parts >= 5 << 40


def test_an_object_of_known_length_has_parts_that_suffice() -> None:
    client = EqualParts()
    content = bytes(range(250)) * 5
    RemoteStore(client, settings=TINY).put("file", content)
    assert client.lengths == [[80] * 15 + [50]]
    assert RemoteStore(client).get("file").to_pybytes() == content


@each_case("can_copy", [True, False])
@each_case("length", [160, 161, 170, 1279, 1280, 1281, 1290, 10_241, 20_007])
def test_an_object_of_unknown_length_is_continued_with_longer_parts(
    can_copy: bool, length: int
) -> None:
    client = EqualParts()
    client.can_copy = can_copy
    store = RemoteStore(client, settings=TINY)
    content = random.Random(length).randbytes(length)
    with store.open_writer("file") as writer:
        for start in range(0, length, 23):
            writer.write(content[start : start + 23])
        assert writer.tell() == length
    assert store.get("file").to_pybytes() == content
    assert len(client.lengths) == 1 + (length > 160) + (length > 1280) + (length > 10_240)
    assert client.unfinished_uploads == 0


def test_an_upload_that_is_continued_is_dropped_with_its_object() -> None:
    client = EqualParts()
    store = RemoteStore(client, settings=TINY)
    writer = store.open_writer("file")
    writer.write(bytes(500))
    assert store.head("file").size == 160
    writer.abort()
    assert list(store.list("")) == []
    assert client.unfinished_uploads == 0


def test_an_upload_that_is_continued_replaces_no_object() -> None:
    client = EqualParts()
    store = RemoteStore(client, settings=TINY)
    store.put("file", b"old")
    with pytest.raises(UnsupportedFeatureError, match="'file' has more than 16 parts"):
        store.open_writer("file").write(bytes(500))
    assert store.get("file").to_pybytes() == b"old"
    assert client.unfinished_uploads == 0
    with store.open_writer("file") as writer:
        writer.reserve(500)
        writer.write(bytes(500))
    assert store.get("file").to_pybytes() == bytes(500)


def test_parts_keep_to_what_the_service_takes() -> None:
    class Odd(Sink):
        min_part_size = 9 * MIB
        part_multiple = 256 << 10
        max_parts_at_once = 1

    client = Odd()
    with RemoteStore(client, settings=RemoteSettings(part_size=10 * MIB + 1)).open_writer("f") as w:
        w.write(bytes(50 * MIB))
    lengths = [client.lengths[number] for number in sorted(client.lengths)]
    assert all(length % (256 << 10) == 0 for length in lengths)
    assert min(lengths[:-1]) >= 9 * MIB
    assert client.most_at_once == 1


@each_case(
    ("length", "requests"),
    [
        (0, ["put"]),
        (100, ["put"]),
        (101, ["start_upload", "upload_part", "upload_part", "finish_upload"]),
        (200, ["start_upload", "upload_part", "upload_part", "finish_upload"]),
    ],
)
def test_what_fits_into_one_part_is_one_request(length: int, requests: list[str]) -> None:
    client = ScriptedClient()
    store = RemoteStore(client, settings=SMALL)
    with store.open_writer("file") as writer:
        for _ in range(length):
            writer.write(b"x")
    assert [method for method, _ in client.requests] == requests
    assert bytes(store.get("file")) == b"x" * length


def test_an_upload_that_fails_is_dropped_and_its_writer_closed() -> None:
    client = ScriptedClient()
    store = RemoteStore(client, settings=SMALL, waiting=Time().waiting)
    client.fail_always("upload_part", Fails(Failure.UNKNOWN))
    writer = store.open_writer("file")
    with pytest.raises(StoreError, match="uploading 'file'"):
        writer.write(b"x" * 5000)
    assert client.unfinished_uploads == 0
    with pytest.raises(InvalidInputError, match="is closed"):
        writer.write(b"x")
    with pytest.raises(InvalidInputError, match="is closed"):
        writer.close()
    writer.abort()


def test_an_upload_that_cannot_be_dropped_is_left() -> None:
    client = ScriptedClient()
    store = RemoteStore(client, settings=SMALL, waiting=Time().waiting)
    client.fail_always("abort_upload", Fails(Failure.REFUSED))
    writer = store.open_writer("file")
    writer.write(b"x" * 500)
    writer.abort()
    assert client.unfinished_uploads == 1


class NoCondition(ScriptedClient):
    """Cannot make an object of parts only where none is."""

    max_put_size = 2000


def test_a_long_object_is_created_by_what_has_the_condition() -> None:
    plain = ScriptedClient()
    store = RemoteStore(plain, settings=SMALL)
    store.put("file", b"x" * 1500, PutMode.create)
    assert plain.sent["finish_upload"] == 1
    with pytest.raises(ObjectExistsError):
        store.put("file", b"y" * 1500, PutMode.create)
    assert plain.unfinished_uploads == 0
    without = NoCondition(
        type(CAPABILITIES)(put_if_absent=Guarantee.YES, multipart_if_absent=Guarantee.NO)
    )
    store = RemoteStore(without, settings=SMALL)
    store.put("file", b"x" * 1500, PutMode.create)
    assert without.sent["put"] == 1
    with pytest.raises(UnsupportedFeatureError, match="of 2001 bytes it takes 2000"):
        store.put("other", b"x" * 2001, PutMode.create)
    store.put("other", b"x" * 2001)
    assert without.sent["finish_upload"] == 1


def test_a_long_object_is_copied_through_this_process() -> None:
    class Short(MemoryClient):
        max_copy_size = 1000
        min_part_size = 1

        def copy(self, source: str, target: str, *, if_absent: bool) -> None:
            raise RequestError(Failure.REFUSED, "too long")

    client = Short()
    store = RemoteStore(client, settings=RemoteSettings(part_size=100, read_size=300))
    store.put("source", bytes(range(250)) * 5)
    store.copy("source", "target")
    assert bytes(store.get("target")) == bytes(range(250)) * 5
    with pytest.raises(ObjectExistsError):
        store.copy("source", "target", PutMode.create)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forked_child_leaves_the_upload_of_its_parent_alone() -> None:
    client = MemoryClient()
    store = RemoteStore(client, "root", RemoteSettings(part_size=8 << 20))
    with store.open_writer("new") as writer:
        writer.write(bytes(30 << 20))
        child = os.fork()
        if not child:
            try:
                with pytest.raises(InvalidInputError, match="another process"):
                    writer.write(b"x")
                writer.abort()
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert store.head("new").size == 30 << 20
    assert "abort_upload" not in {method for method, _ in client.requests}
