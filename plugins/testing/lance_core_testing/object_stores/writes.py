"""Part of the contract of object stores: writing, copying, deleting."""

from __future__ import annotations

import array
import contextlib
import gc
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, InvalidInputError, LanceError, ObjectNotFoundError
from lance_core.hookspecs.stores import Buffers, ByteRange, ObjectStore, list_paths
from lance_core_testing.assertions import check_bytes, check_returns_nothing, must_raise
from lance_core_testing.threads import background_calls

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


ROUNDS = 30
"""Repetitions of calls that must not leak descriptors or threads."""


class WriteTests:
    """Whole objects, streaming writers, deletion and copies."""

    def test_all_kinds_of_bytes_are_written(self, store: ObjectStore) -> None:
        for number, (label, (data, content)) in enumerate(ACCEPTED.items()):
            store.put(f"folder/{number}", data)
            check_bytes(store.get(f"folder/{number}"), content, f"get after put of {label}")

    def test_writes_return_nothing(self, store: ObjectStore) -> None:
        writer, dropped = store.open_writer("written"), store.open_writer("aborted")
        calls: dict[str, Callable[[], object]] = {
            "put": lambda: store.put("put", b"content"),
            "write of a writer": lambda: writer.write(b"content"),
            "close of a writer": writer.close,
            "abort of a writer": dropped.abort,
            "copy": lambda: store.copy("put", "copy"),
            "delete": lambda: store.delete("copy"),
        }
        for name, call in calls.items():
            check_returns_nothing(name, call)
        paths = sorted(list_paths(store))
        assert paths == ["put", "written"], "what returned None must have been applied"

    def test_what_has_no_bytes_is_refused(self, store: ObjectStore) -> None:
        for label, data in REFUSED.items():
            with must_raise(InvalidInputError, f"put of {label} ({data!r})"):
                store.put("object", data)
            paths = list_paths(store)
            assert paths == [], f"a put of {label} that is refused must create nothing"

    def test_a_refused_write_keeps_what_was_there(self, store: ObjectStore) -> None:
        store.put("object", b"old")
        for label, data in REFUSED.items():
            with must_raise(InvalidInputError, f"put of {label} where an object is"):
                store.put("object", data)
            check_bytes(store.get("object"), b"old", "get after an overwrite that was refused")

    def test_buffers_may_change_once_a_write_returned(self, store: ObjectStore) -> None:
        data = bytearray(b"before")
        store.put("put", data)
        with store.open_writer("written") as writer:
            writer.write(memoryview(data))
        data[:] = b"behind"
        for path in ("put", "written"):
            doing = "get of what was written from a buffer that changed after the write"
            check_bytes(store.get(path), b"before", doing)

    def test_a_write_replaces_what_was_there(self, store: ObjectStore) -> None:
        store.put("object", b"a longer first content")
        store.put("object", b"second")
        check_bytes(store.get("object"), b"second", "get after an overwrite")
        size = store.head("object").size
        assert size == 6, f"head gave {size} bytes after an overwrite by 6; it must give 6"

    def test_readers_see_the_old_or_the_new_object(self, store: ObjectStore) -> None:
        contents = [bytes([n]) * (70_000 + n) for n in range(10)]
        store.put("object", contents[0])
        for number, content in enumerate(contents):
            store.put(f"sources/{number}", content)

        def look() -> None:
            try:
                seen = bytes(store.get("object"))
            except ObjectNotFoundError as error:
                raise AssertionError(
                    "an object was missing while it was overwritten; readers must see the old or "
                    "the new one, so it must not be deleted first"
                ) from error
            assert seen in contents, (
                f"get gave {len(seen)} bytes that nobody wrote while an object was overwritten; "
                "readers must see the old or the new one as a whole"
            )

        with background_calls(look):
            for number, content in enumerate(contents):
                store.put("object", content)
                store.copy(f"sources/{9 - number}", "object")
                with store.open_writer("object") as writer:
                    writer.write(content[:50_000])
                    writer.write(content[50_000:])

    def test_a_writer_appends(self, store: ObjectStore) -> None:
        pieces = [bytes([n % 251]) * (n % 97) for n in range(2000)]
        position = 0
        with store.open_writer("folder/object") as writer:
            for number, piece in enumerate(pieces):
                writer.write(piece if number % 2 else pa.py_buffer(piece))
                position += len(piece)
                told = writer.tell()
                assert told == position, f"tell gave {told} after {position} bytes were written"
        content = store.get("folder/object")
        check_bytes(content, b"".join(pieces), "get of what a writer wrote in many pieces")

    def test_a_writer_takes_large_buffers(self, store: ObjectStore) -> None:
        pieces = [bytes([n]) * (3_000_000 + n) for n in range(5)]
        with store.open_writer("object") as writer:
            writer.write(b"start")
            for piece in pieces:
                writer.write(piece)
        content = b"start" + b"".join(pieces)
        check_bytes(store.get("object"), content, "get of what a writer wrote in large pieces")

    def test_a_writer_without_bytes_makes_an_empty_object(self, store: ObjectStore) -> None:
        with store.open_writer("object"):
            pass
        size = store.head("object").size
        assert size == 0, f"a writer that wrote nothing made an object of {size} bytes"

    def test_nothing_is_visible_before_a_writer_is_closed(self, store: ObjectStore) -> None:
        store.put("old", b"old")
        new, old = store.open_writer("new"), store.open_writer("old")
        for writer in (new, old):
            writer.write(b"x" * 2_000_000)
        with must_raise(ObjectNotFoundError, "get of what an open writer has written"):
            store.get("new")
        check_bytes(store.get("old"), b"old", "get of an object that an open writer will replace")
        for writer in (new, old):
            writer.close()
        sizes = [store.head(path).size for path in ("new", "old")]
        assert sizes == [2_000_000] * 2, f"closed writers of 2000000 bytes made {sizes} bytes"

    def test_an_aborted_writer_leaves_nothing(self, store: ObjectStore) -> None:
        store.put("old", b"old")
        for path in ("new", "old", "folder/new"):
            writer = store.open_writer(path)
            writer.write(b"x" * 2_000_000)
            writer.abort()
            writer.abort()
        paths = list_paths(store)
        assert paths == ["old"], "an aborted writer must leave no object"
        check_bytes(store.get("old"), b"old", "get of what an aborted writer would have replaced")

    def test_an_error_inside_the_block_aborts_the_writer(self, store: ObjectStore) -> None:
        def fail_while_writing() -> None:
            with store.open_writer("object") as writer:
                writer.write(b"x")
                raise KeyError("broken")

        with must_raise(KeyError, "a block of a writer that raises KeyError"):
            fail_while_writing()
        paths = list_paths(store)
        assert paths == [], "a writer whose block raises must leave no object"

    def test_a_writer_ends_once(self, store: ObjectStore) -> None:
        closed = store.open_writer("closed")
        closed.write(b"1")
        closed.close()
        closed.close()
        closed.abort()
        with must_raise(LanceError, "write after close"):
            closed.write(b"2")
        aborted = store.open_writer("aborted")
        aborted.abort()
        with must_raise(LanceError, "write after abort"):
            aborted.write(b"2")
        with must_raise(LanceError, "close after abort"):
            aborted.close()
        check_bytes(store.get("closed"), b"1", "get after a second close and an abort")
        paths = list_paths(store)
        assert paths == ["closed"], "the writer that was closed, and no other, makes an object"

    def test_a_second_close_writes_nothing(self, store: ObjectStore) -> None:
        writer = store.open_writer("object")
        writer.write(b"first")
        writer.close()
        store.put("object", b"second")
        writer.close()
        doing = "get of what was overwritten after a writer was closed, and closed again,"
        check_bytes(store.get("object"), b"second", doing)

    def test_deleting_removes_one_object(self, store: ObjectStore) -> None:
        for path in ("a/b", "a/bc", "a/b.d", "ab"):
            store.put(path, b"1")
        store.delete("a/b")
        paths = sorted(list_paths(store))
        assert paths == ["a/b.d", "a/bc", "ab"], "delete must remove the one object of that path"
        with must_raise(ObjectNotFoundError, "head of a deleted object"):
            store.head("a/b")

    def test_deleting_what_is_not_there_is_no_error(self, store: ObjectStore) -> None:
        store.put("object", b"1")
        for path in ("missing", "missing/object", "object/below"):
            store.delete(path)
        store.delete("object")
        store.delete("object")
        paths = list_paths(store)
        assert paths == [], "delete must remove the object, and nothing else create one"

    def test_deleting_a_folder_removes_nothing(self, store: ObjectStore) -> None:
        objects = ["folder/below/object", "folder/object"]
        for path in objects:
            store.put(path, b"1")
        for folder in ("folder", "folder/below"):
            with contextlib.suppress(LanceError):
                store.delete(folder)
            paths = sorted(list_paths(store))
            assert paths == objects, (
                f"delete of the folder {folder!r} must not remove what is below"
            )

    @pytest.mark.parametrize("size", [0, 10, 3_000_000])
    def test_a_copy_is_an_object_of_its_own(self, store: ObjectStore, size: int) -> None:
        store.put("source", b"s" * size)
        store.put("target", b"something else")
        store.copy("source", "target")
        store.copy("source", "new/folder/target")
        store.put("source", b"changed")
        store.delete("source")
        for path in ("target", "new/folder/target"):
            doing = "get of a copy whose source was changed and deleted"
            check_bytes(store.get(path), b"s" * size, doing)

    def test_a_copy_onto_itself_changes_nothing(self, store: ObjectStore) -> None:
        store.put("object", b"content")
        store.copy("object", "object")
        check_bytes(store.get("object"), b"content", "get of what was copied onto itself")

    def test_ranges_of_objects_are_appended_between_writes(self, store: ObjectStore) -> None:
        content = bytes(range(256)) * 60_000
        store.put("source", content)
        store.put("other", b"0123456789")
        with store.open_writer("folder/target") as writer:
            writer.write(b"start")
            store.append_from(writer, "source", [ByteRange(3, 9), ByteRange(0, 0)])
            writer.write(b"between")
            store.append_from(writer, "other", [ByteRange(4, 10), ByteRange(0, 4)])
            store.append_from(writer, "source", [ByteRange(0, len(content))])
            assert writer.tell() == 5 + 6 + 7 + 10 + len(content)
            writer.write(b"end")
        expected = b"start" + content[3:9] + b"between4567890123" + content + b"end"
        check_bytes(store.get("folder/target"), expected, "get of an object of appended ranges")

    def test_ranges_that_do_not_exist_are_not_appended(self, store: ObjectStore) -> None:
        store.put("source", b"0123456789")
        writer = store.open_writer("target")
        with must_raise(ObjectNotFoundError, "append_from of an object that does not exist"):
            store.append_from(writer, "missing", [ByteRange(0, 1)])
        writer.abort()
        writer = store.open_writer("target")
        with must_raise(CorruptFileError, "append_from of a range that ends past the object"):
            store.append_from(writer, "source", [ByteRange(5, 11)])
        writer.abort()
        assert "target" not in list_paths(store), "an aborted writer must publish nothing"

    def test_calls_give_back_descriptors_and_threads(self, store: ObjectStore) -> None:
        for _ in range(3):  # connections and pools are kept
            _use_everything(store)
        before = _descriptors(), threading.active_count()
        for _ in range(ROUNDS):
            _use_everything(store)
        left = _more_than(before)
        if max(left) >= ROUNDS // 2:
            gc.collect()  # releases what is only waiting for collection
            left = _more_than(before)
        for what, count in zip(("descriptors", "threads"), left, strict=True):
            assert count < ROUNDS // 2, (
                f"{ROUNDS} rounds of calls left {count} {what} more than there were; each call "
                "must give back what it opens"
            )


def _use_everything(store: ObjectStore) -> None:
    """Call every method once, including its usual errors."""
    store.put("folder/object", bytes(70_000))
    store.get("folder/object")
    store.get_ranges("folder/object", [ByteRange(0, 9), ByteRange(60_000, 60_009)])
    store.head("folder/object")
    next(iter(store.list("")))
    next(iter(store.list_names("folder")))
    for path in ("folder/written", "folder/aborted"):
        writer = store.open_writer(path)
        writer.write(bytes(70_000))
        (writer.close if path == "folder/written" else writer.abort)()
    store.copy("folder/written", "folder/copy")
    for missing in (store.get, store.head):
        with contextlib.suppress(ObjectNotFoundError):
            missing("folder/missing")
    with contextlib.suppress(LanceError):
        store.get_ranges("folder/object", [ByteRange(0, 80_000)])
    for path in ("folder/written", "folder/copy", "folder/object"):
        store.delete(path)


def _more_than(before: tuple[int, int]) -> tuple[int, int]:
    """The number of descriptors and threads beyond ``before``."""
    return _descriptors() - before[0], threading.active_count() - before[1]


def _descriptors() -> int:
    """The number of open descriptors of this process; 0 where the system has no such list."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return len(list(Path(folder).iterdir()))
    return 0
