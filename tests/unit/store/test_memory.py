"""Objects in memory beyond the contract of all stores."""

from __future__ import annotations

import os
import time
import uuid

import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.errors import InvalidInputError
from lance_core.store.base import Guarantee, ObjectStore, PutMode
from lance_core.store.functions import list_paths
from lance_core.store.memory import CAPABILITIES, MemoryStore, Objects, open_memory
from lance_core.store.uri import parse_uri


def opened(uri: str) -> ObjectStore:
    return open_memory(parse_uri(uri), {})


def test_a_uri_names_the_same_objects_again() -> None:
    name = uuid.uuid4()
    opened(f"memory://{name}/tables/a").put("data/x", b"1")
    assert list_paths(opened(f"memory://{name}/tables/a/")) == ["data/x"]
    assert list_paths(opened(f"memory://{name}")) == ["tables/a/data/x"]
    assert list_paths(opened(f"memory://{name}/tables/b")) == []
    assert list_paths(opened(f"memory://{uuid.uuid4()}/tables/a")) == []


def test_stores_without_a_uri_share_nothing() -> None:
    MemoryStore().put("x", b"1")
    assert list_paths(MemoryStore()) == []
    objects = Objects()
    MemoryStore(objects).put("x", b"1")
    assert list_paths(MemoryStore(objects)) == ["x"]


def test_reads_are_views_of_what_is_stored() -> None:
    store = MemoryStore()
    store.put("x", b"0123456789")
    (part,) = store.get_ranges("x", [ByteRange(2, 4)])
    assert part.address == store.get("x").address + 2
    assert not part.is_mutable


def test_everything_is_guaranteed() -> None:
    assert CAPABILITIES.guaranteed() >= {"put_if_absent", "ordered_list", "strong_reads"}
    assert Guarantee.NO not in {MemoryStore().capabilities.put_if_absent}


def test_other_urls_are_refused() -> None:
    with pytest.raises(InvalidInputError):
        opened("s3://bucket/x")


@pytest.mark.parametrize("mode", ["create", None])
def test_a_mode_that_is_none_is_refused(mode: object) -> None:
    with pytest.raises(InvalidInputError):
        MemoryStore().put("x", b"1", mode)  # type: ignore[arg-type]  # what is tested


def test_a_forked_child_can_write() -> None:
    objects = Objects()
    store = MemoryStore(objects)
    with objects._lock:
        child = os.fork()
        if child == 0:
            store.put("x", b"1", PutMode.create)
            os._exit(0 if store.get("x").size == 1 else 1)
        assert wait_for(child) == 0
    assert list_paths(store) == []


def wait_for(child: int) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1
