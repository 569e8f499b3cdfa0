"""Ranges of objects that the service copies as parts of an upload."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import CorruptFileError, ObjectNotFoundError
from lance_core.store.local import LocalStore
from lance_core_remote import uploads
from lance_core_remote.client import Failure, RequestError, UploadedPart
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_testing.memory_client import MemoryClient

MIN_PART = 100
SETTINGS = RemoteSettings(part_size=150, read_size=1000, max_single_put=1000, max_retries=1)
CONTENT = random.Random(1).randbytes(10_000)


class Service(MemoryClient):
    """A service with short parts, which are checked at the end of an upload."""

    min_part_size = MIN_PART
    is_strict = False

    @property
    def equal_parts(self) -> bool:
        return self.is_strict

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        lengths = [len(self._parts(upload)[part.number]) for part in parts]
        if self.is_strict and (len(set(lengths[:-1])) > 1 or lengths[-1] > lengths[0]):
            raise RequestError(Failure.REFUSED, "400 InvalidPart")
        super().finish_upload(key, upload, parts, if_absent=if_absent)

    def count(self, method: str) -> int:
        return sum(one == method for one, _ in self.requests)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(uploads, "COPIED_PART", 1000)
    return Service()


def test_long_ranges_are_copied_by_the_service(service: Service) -> None:
    store = RemoteStore(service, "root", SETTINGS)
    store.put("source", CONTENT)
    service.requests.clear()
    with store.open_writer("new") as writer:
        store.append_from(writer, "source", [ByteRange(0, 5000)])
    assert service.count("copy_part") == 5
    assert service.count("get") == 0
    assert store.get("new").to_pybytes() == CONTENT[:5000]


def test_copies_have_the_length_of_parts_where_all_need_one_length(service: Service) -> None:
    service.is_strict = True
    store = RemoteStore(service, "root", SETTINGS)
    store.put("source", CONTENT)
    service.requests.clear()
    with store.open_writer("new") as writer:
        writer.write(b"a" * 20)
        store.append_from(writer, "source", [ByteRange(0, 5000)])
    assert service.count("copy_part") == (5000 - 130) // 150
    assert service.count("get") == 2
    assert store.get("new").to_pybytes() == b"a" * 20 + CONTENT[:5000]


@pytest.mark.parametrize("is_strict", [False, True])
def test_writes_and_ranges_of_all_lengths_make_valid_parts(
    service: Service, is_strict: bool
) -> None:
    service.is_strict = is_strict
    store = RemoteStore(service, "", SETTINGS)
    store.put("source", CONTENT)
    lengths = [0, 1, 60, 99, 100, 101, 150, 199, 200, 250, 1000, 1099, 1100, 2300]
    for number, (before, first, between, second) in enumerate(
        itertools.product([0, 30, 160], lengths, [0, 7], lengths)
    ):
        with store.open_writer(f"new{number}") as writer:
            writer.write(b"a" * before)
            store.append_from(writer, "source", [ByteRange(3, 3 + first)])
            writer.write(b"b" * between)
            store.append_from(writer, "source", [ByteRange(9, 9 + second), ByteRange(0, 2)])
            position = writer.tell()
        wanted = b"a" * before + CONTENT[3 : 3 + first] + b"b" * between
        wanted += CONTENT[9 : 9 + second] + CONTENT[:2]
        assert position == len(wanted)
        assert store.get(f"new{number}").to_pybytes() == wanted


def test_sources_that_are_missing_short_or_changed_are_errors(service: Service) -> None:
    store = RemoteStore(service, "", SETTINGS)
    store.put("source", CONTENT)
    for source, stop, error in (
        ("missing", 5000, ObjectNotFoundError),
        ("source", 10_001, CorruptFileError),
    ):
        writer = store.open_writer("new")
        with pytest.raises(error):
            store.append_from(writer, source, [ByteRange(0, stop)])
        writer.abort()

    class Changed(Service):
        def head(self, key: str):  # type: ignore[no-untyped-def]
            found = super().head(key)
            super().put(key, [memoryview(b"x" * 20_000)], if_absent=False)
            return found

    other = RemoteStore(Changed(), "", SETTINGS)
    other.put("source", CONTENT)
    with (
        pytest.raises(CorruptFileError, match="'source': the object was replaced"),
        other.open_writer("new") as target,
    ):
        other.append_from(target, "source", [ByteRange(0, 5000)])
    assert service.unfinished_uploads == 0


def test_ranges_of_another_container_pass_through_this_process(
    service: Service, tmp_path: Path
) -> None:
    store, local = RemoteStore(service, "", SETTINGS), LocalStore(tmp_path)
    local.put("source", CONTENT)
    with store.open_writer("new") as writer:
        local.append_from(writer, "source", [ByteRange(10, 9000)])
    assert store.get("new").to_pybytes() == CONTENT[10:9000]
    assert service.count("copy_part") == 0
