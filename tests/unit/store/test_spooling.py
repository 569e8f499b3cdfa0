"""A writer for stores that have no streaming writes."""

from __future__ import annotations

import gc
import os
import tracemalloc
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest

from lance_core.errors import InvalidInputError, OutcomeUnknownError, StoreError
from lance_core.store import spooling
from lance_core.store.base import Buffers, ObjectWriter, PutMode
from lance_core.store.buffers import byte_views
from lance_core.store.functions import list_paths
from lance_core.store.local import Durability, LocalStore
from lance_core.store.memory import MemoryStore
from lance_core.store.spooling import SpoolingWriter
from lance_core_testing import ObjectStoreTests
from tests.each_case import each_case


class Whole(MemoryStore):
    """A store whose only write is `put`."""

    limit = 1000

    def open_writer(self, path: str) -> ObjectWriter:
        return SpoolingWriter(self, path, self.limit)


class Sizes(Whole):
    """Takes what is written without keeping it."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        self.sizes.append(sum(view.nbytes for view in byte_views(data)))


class Failing(Whole):
    """Its `put` raises what it is given."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def put(self, path: str, data: Buffers, mode: PutMode = PutMode.overwrite) -> None:
        raise self.error


class TestAStoreWithoutStreamingWrites(ObjectStoreTests):
    """The whole contract, with objects on both sides of the limit."""

    in_process_only = "its objects are in memory"

    @pytest.fixture
    def store(self) -> Whole:
        return Whole()


@each_case("sizes", [[], [0], [999], [1000], [1000, 1], [400, 700, 3], [5000, 0, 7]])
def test_what_is_written_is_put_in_one_piece(sizes: list[int]) -> None:
    store = Whole()
    pieces = [bytes([n + 65]) * size for n, size in enumerate(sizes)]
    writer = store.open_writer("a/object")
    for piece in pieces:
        reused = bytearray(piece)
        writer.write(reused)
        reused[:] = b"?" * len(reused)
    assert writer.tell() == sum(sizes)
    assert list_paths(store) == []
    writer.close()
    assert bytes(store.get("a/object")) == b"".join(pieces)


def test_a_large_object_takes_no_memory() -> None:
    store, piece = Sizes(), bytes(1 << 20)
    tracemalloc.start()
    try:
        with store.open_writer("object") as writer:
            for _ in range(64):
                writer.write(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store.sizes == [64 << 20]
    assert peak < 8 << 20


@each_case("error", [StoreError("no"), OutcomeUnknownError("maybe"), KeyError("x")])
def test_a_put_that_fails_is_not_repeated(error: Exception) -> None:
    writer = Failing(error).open_writer("object")
    writer.write(b"content")
    with pytest.raises(type(error)):
        writer.close()
    writer.abort()
    for call in (writer.close, lambda: writer.write(b"more")):
        with pytest.raises(InvalidInputError, match="failed"):
            call()


class Full:
    """A file on a disk that is full for a moment."""

    def __init__(self) -> None:
        self.closed = 0

    def write(self, data: Any) -> None:
        raise OSError(28, "No space left on device")

    def close(self) -> None:
        self.closed += 1


def test_nothing_is_published_once_a_write_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    store, file = Whole(), Full()
    monkeypatch.setattr(spooling, "TemporaryFile", lambda: file)
    writer = store.open_writer("object")
    with pytest.raises(StoreError, match="'object' cannot be buffered"):
        writer.write(bytes(2000))
    with pytest.raises(InvalidInputError, match="incomplete"):
        writer.close()
    writer.abort()
    assert list_paths(store) == []
    assert file.closed == 1


def test_every_writer_closes_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Whole()
    files: list[IO[bytes]] = []

    def noted() -> IO[bytes]:
        files.append(TemporaryFile())  # noqa: SIM115  # the writer closes it
        return files[-1]

    monkeypatch.setattr(spooling, "TemporaryFile", noted)
    for end in ("close", "abort", "tell"):  # the last one is forgotten
        writer = store.open_writer("object")
        writer.write(bytes(5000))
        getattr(writer, end)()
        del writer
    gc.collect()
    assert [file.closed for file in files] == [True] * 3


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_writer_belongs_to_its_process() -> None:
    store = Whole()
    writer = store.open_writer("object")
    writer.write(bytes(2000))
    child = os.fork()
    if child == 0:
        try:
            writer.write(b"from the child")
        except InvalidInputError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    writer.close()
    assert store.head("object").size == 2000


def test_a_local_writer_publishes_nothing_once_a_write_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path, Durability.fast)
    writer = store.open_writer("object")
    with monkeypatch.context() as full:
        full.setattr(os, "pwritev", _no_space)
        with pytest.raises(StoreError):
            writer.write(bytes(2 << 20))
    with pytest.raises(InvalidInputError):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def _no_space(*given: Any) -> int:
    raise OSError(28, "No space left on device")
