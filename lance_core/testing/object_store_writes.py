"""Part of the contract of object stores: writing, copying, deleting."""

from __future__ import annotations

import array
import threading

import pyarrow as pa
import pytest

from lance_core.errors import InvalidInputError, LanceError, ObjectNotFoundError
from lance_core.store.base import Buffers, ObjectStore
from lance_core.store.shortcuts import list_paths

PARTS = [
    pa.py_buffer(b"first"),
    pa.py_buffer(b""),
    pa.py_buffer(b"a third").slice(2),
    pa.py_buffer(array.array("q", [1, 2])),
]
ACCEPTED: dict[str, tuple[Buffers, bytes]] = {
    "bytes": (b"abc", b"abc"),
    "nothing": (b"", b""),
    "bytearray": (bytearray(b"abc"), b"abc"),
    "memoryview": (memoryview(b"abcdef")[2:4], b"cd"),
    "memoryview of numbers": (memoryview(array.array("h", [1, 2])), b"\x01\x00\x02\x00"),
    "buffer": (pa.py_buffer(b"abc"), b"abc"),
    "slice of a buffer": (pa.py_buffer(b"abcdef").slice(1, 3), b"bcd"),
    "several buffers": (PARTS, b"".join(bytes(part) for part in PARTS)),
    "no buffers": ([], b""),
    "thousands of buffers": ([pa.py_buffer(b"xy")] * 3000, b"xy" * 3000),
}
REFUSED: dict[str, object] = {
    "text": "abc",
    "number": 3,
    "nothing": None,
    "gaps": memoryview(b"abcdef")[::2],
    "texts": ["a"],
}


class WriteTests:
    """Whole objects, streaming writers, deletion and copies."""

    @pytest.mark.parametrize("kind", ACCEPTED)
    def test_all_kinds_of_bytes_are_written(self, store: ObjectStore, kind: str) -> None:
        data, content = ACCEPTED[kind]
        store.put("folder/object", data)
        assert bytes(store.get("folder/object")) == content

    @pytest.mark.parametrize("kind", REFUSED)
    def test_what_has_no_bytes_is_refused(self, store: ObjectStore, kind: str) -> None:
        with pytest.raises(InvalidInputError):
            store.put("object", REFUSED[kind])
        assert list_paths(store) == []

    def test_buffers_may_change_once_a_write_returned(self, store: ObjectStore) -> None:
        data = bytearray(b"before")
        store.put("put", data)
        with store.open_writer("written") as writer:
            writer.write(memoryview(data))
        data[:] = b"behind"
        assert bytes(store.get("put")) == b"before"
        assert bytes(store.get("written")) == b"before"

    def test_a_write_replaces_what_was_there(self, store: ObjectStore) -> None:
        store.put("object", b"a longer first content")
        store.put("object", b"second")
        assert bytes(store.get("object")) == b"second"
        assert store.head("object").size == 6

    def test_readers_see_the_old_or_the_new_object(self, store: ObjectStore) -> None:
        contents = [bytes([n]) * (70_000 + n) for n in range(10)]
        store.put("object", contents[0])
        done = threading.Event()
        torn: list[int] = []

        def look() -> None:
            while not done.is_set():
                seen = bytes(store.get("object"))
                if seen not in contents:
                    torn.append(len(seen))

        readers = [threading.Thread(target=look) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for content in contents * 3:
                store.put("object", content)
        finally:
            done.set()
            for reader in readers:
                reader.join()
        assert torn == []

    def test_a_writer_appends(self, store: ObjectStore) -> None:
        pieces = [bytes([n % 251]) * (n % 97) for n in range(2000)]
        with store.open_writer("folder/object") as writer:
            for number, piece in enumerate(pieces):
                writer.write(piece if number % 2 else pa.py_buffer(piece))
                assert writer.tell() == sum(len(p) for p in pieces[: number + 1])
        assert bytes(store.get("folder/object")) == b"".join(pieces)

    def test_a_writer_takes_large_buffers(self, store: ObjectStore) -> None:
        pieces = [bytes([n]) * (3_000_000 + n) for n in range(5)]
        with store.open_writer("object") as writer:
            writer.write(b"start")
            for piece in pieces:
                writer.write(piece)
        assert bytes(store.get("object")) == b"start" + b"".join(pieces)

    def test_a_writer_without_bytes_makes_an_empty_object(self, store: ObjectStore) -> None:
        with store.open_writer("object"):
            pass
        assert store.head("object").size == 0

    def test_nothing_is_visible_before_a_writer_is_closed(self, store: ObjectStore) -> None:
        store.put("old", b"old")
        new, old = store.open_writer("new"), store.open_writer("old")
        for writer in (new, old):
            writer.write(b"x" * 2_000_000)
        with pytest.raises(ObjectNotFoundError):
            store.get("new")
        assert bytes(store.get("old")) == b"old"
        for writer in (new, old):
            writer.close()
        assert store.head("new").size == store.head("old").size == 2_000_000

    def test_an_aborted_writer_leaves_nothing(self, store: ObjectStore) -> None:
        store.put("old", b"old")
        for path in ("new", "old", "folder/new"):
            writer = store.open_writer(path)
            writer.write(b"x" * 2_000_000)
            writer.abort()
            writer.abort()
        assert list_paths(store) == ["old"]
        assert bytes(store.get("old")) == b"old"

    def test_an_error_inside_the_block_aborts_the_writer(self, store: ObjectStore) -> None:
        def fail_while_writing() -> None:
            with store.open_writer("object") as writer:
                writer.write(b"x")
                raise KeyError("broken")

        with pytest.raises(KeyError, match="broken"):
            fail_while_writing()
        assert list_paths(store) == []

    def test_a_writer_ends_once(self, store: ObjectStore) -> None:
        closed = store.open_writer("closed")
        closed.write(b"1")
        closed.close()
        closed.close()
        closed.abort()
        with pytest.raises(LanceError):
            closed.write(b"2")
        aborted = store.open_writer("aborted")
        aborted.abort()
        with pytest.raises(LanceError):
            aborted.write(b"2")
        with pytest.raises(LanceError):
            aborted.close()
        assert bytes(store.get("closed")) == b"1"
        assert list_paths(store) == ["closed"]

    def test_deleting_removes_one_object(self, store: ObjectStore) -> None:
        for path in ("a/b", "a/bc", "a/b.d", "ab"):
            store.put(path, b"1")
        store.delete("a/b")
        assert sorted(list_paths(store)) == ["a/b.d", "a/bc", "ab"]
        with pytest.raises(ObjectNotFoundError):
            store.head("a/b")

    def test_deleting_what_is_not_there_is_no_error(self, store: ObjectStore) -> None:
        store.put("object", b"1")
        for path in ("missing", "missing/object", "object/below"):
            store.delete(path)
        store.delete("object")
        store.delete("object")
        assert list_paths(store) == []

    @pytest.mark.parametrize("size", [0, 10, 3_000_000])
    def test_a_copy_is_an_object_of_its_own(self, store: ObjectStore, size: int) -> None:
        store.put("source", b"s" * size)
        store.put("target", b"something else")
        store.copy("source", "target")
        store.copy("source", "new/folder/target")
        store.put("source", b"changed")
        store.delete("source")
        for path in ("target", "new/folder/target"):
            assert bytes(store.get(path)) == b"s" * size

    def test_a_copy_onto_itself_changes_nothing(self, store: ObjectStore) -> None:
        store.put("object", b"content")
        store.copy("object", "object")
        assert bytes(store.get("object")) == b"content"
