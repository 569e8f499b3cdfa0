"""Part of the contract of object stores: reading."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, InvalidInputError, ObjectNotFoundError
from lance_core.hookspecs.stores import ByteRange, ObjectStore, PutMode
from lance_core_testing.assertions import check_bytes, must_raise
from lance_core_testing.threads import race_threads

MIB = 1 << 20
CONTENT = random.Random(7).randbytes(5 * MIB // 2)  # noqa: S311 (test data must be repeatable)
SIZES = (0, 1, 4096, (64 << 10) - 1, 64 << 10, MIB - 1, MIB, MIB + 1, len(CONTENT))
LARGE = 24 * MIB + 5
"""Bytes of an object that is longer than one request of any store."""

BEYOND = ((0, 1), (-1, 1), (1, 2), (5_000_000_000, 5_000_000_001))
"""Ranges outside an object, relative to its end."""

CLOCK_ERROR = timedelta(minutes=10)
"""Allowed clock error of a service. A wrong time zone causes at least 15 minutes."""


class ReadTests:
    """Whole objects, ranges and metadata."""

    def test_an_object_of_any_size_is_read_as_it_was_written(self, store: ObjectStore) -> None:
        for size in SIZES:
            content, path = CONTENT[:size], f"folder/{size}"
            store.put(path, content)
            buffer = store.get(path)
            assert isinstance(buffer, pa.Buffer), (
                f"get gave a {type(buffer).__name__}; it must give a pyarrow.Buffer"
            )
            check_bytes(buffer, content, f"get of an object of {size} bytes")
            stated = store.head(path).size
            assert stated == size, f"head gave a size of {stated} bytes; it must be {size}"

    def test_a_large_object_is_read_as_it_was_written(self, store: ObjectStore) -> None:
        content = (CONTENT * 10)[:LARGE]
        store.put("put", content)
        with store.open_writer("written") as writer:
            for start in range(0, LARGE, 7_000_003):
                writer.write(memoryview(content)[start : start + 7_000_003])
        ends = [ByteRange(LARGE - 9, LARGE), ByteRange(20 * MIB - 3, 20 * MIB + 3)]
        for path in ("put", "written"):
            stated = store.head(path).size
            assert stated == LARGE, f"head gave a size of {stated} bytes; it must be {LARGE}"
            check_bytes(store.get(path), content, f"get of an object of {LARGE} bytes")
            _check_ranges(store, path, ends, content)

    @pytest.mark.parametrize("size", [1000, 100_000])
    def test_ranges_come_in_the_order_asked_for(self, store: ObjectStore, size: int) -> None:
        store.put("object", CONTENT[:size])
        ranges = [
            ByteRange(500, 600),
            ByteRange(0, 10),
            ByteRange(size - 5, size),
            ByteRange(550, 560),
            ByteRange(0, 10),
            ByteRange(0, size),
        ]
        _check_ranges(store, "object", ranges, CONTENT[:size])

    def test_ranges_of_large_objects_come_as_they_were_written(self, store: ObjectStore) -> None:
        store.put("object", CONTENT)
        size = len(CONTENT)
        ranges = [
            ByteRange(MIB - 3, MIB + 3),
            ByteRange(2 * MIB - 1, 2 * MIB + 1),
            ByteRange(10, MIB + 10),
            ByteRange(MIB, 2 * MIB),
            ByteRange(0, size),
            ByteRange(size - 1, size),
        ]
        _check_ranges(store, "object", ranges, CONTENT)

    def test_thousands_of_ranges_can_be_asked_for_at_once(self, store: ObjectStore) -> None:
        content = CONTENT[:100_000]
        store.put("object", content)
        ranges = [ByteRange(start, start + 7) for start in range(0, 90_000, 30)]
        random.Random(3).shuffle(ranges)  # noqa: S311
        _check_ranges(store, "object", ranges, content)

    @pytest.mark.parametrize("position", [0, 1, 50, 100])
    def test_a_range_without_bytes_is_an_empty_buffer(
        self, store: ObjectStore, position: int
    ) -> None:
        store.put("object", CONTENT[:100])
        ranges = [ByteRange(position, position), ByteRange(0, 2)]
        sizes = [buffer.size for buffer in store.get_ranges("object", ranges)]
        assert sizes == [0, 2], f"ranges of 0 and 2 bytes gave buffers of {sizes} bytes"

    def test_no_ranges_are_no_buffers(self, store: ObjectStore) -> None:
        store.put("object", CONTENT[:100])
        buffers = store.get_ranges("object", [])
        assert buffers == [], "get_ranges without ranges must give an empty list"

    def test_a_range_past_the_end_is_a_typed_error(self, store: ObjectStore) -> None:
        for size, beyond in itertools.product((0, 100, 100_000), BEYOND):
            store.put("folder/object", CONTENT[:size])
            start, stop = max(0, size + beyond[0]), size + beyond[1]
            doing = f"get_ranges of bytes {start} to {stop} of an object of {size} bytes"
            with must_raise(CorruptFileError, doing) as caught:
                store.get_ranges("folder/object", [ByteRange(0, 0), ByteRange(start, stop)])
            told = (caught.error.path, caught.error.offset)
            assert told == ("folder/object", start), (
                f"{doing}: the error names path and offset {told}; it must name those that were "
                "asked for"
            )

    @pytest.mark.parametrize("bad", [(-1, 5), (5, 4), (-5, -1)])
    def test_what_is_no_range_is_refused(self, store: ObjectStore, bad: tuple[int, int]) -> None:
        store.put("object", CONTENT[:100])
        with must_raise((InvalidInputError, CorruptFileError), f"get_ranges of {bad}"):
            store.get_ranges("object", [ByteRange(*bad)])

    def test_what_is_not_there_is_not_found(self, store: ObjectStore) -> None:
        store.put("folder/object", b"1")
        for path in ("missing", "folder/missing", "missing/object", "folder/object/below"):
            _check_not_found(store, path)
        paths = [meta.path for meta in store.list("")]
        assert paths == ["folder/object"], "reading what is missing must not create anything"

    def test_a_folder_is_no_object(self, store: ObjectStore) -> None:
        store.put("folder/deep/object", b"1")
        for path in ("folder", "folder/deep"):
            _check_not_found(store, path)

    def test_size_and_date_are_known(self, store: ObjectStore) -> None:
        store.put("folder/object", b"12345")
        meta = store.head("folder/object")
        told = (meta.path, meta.size)
        assert told == ("folder/object", 5), "head must give the path asked for, and the size"
        _check_date(meta.last_modified, "head")
        (listed,) = store.list("folder")
        _check_date(listed.last_modified, "list")

    def test_an_etag_tells_contents_apart(self, store: ObjectStore) -> None:
        seen: dict[str, bytes] = {}
        for content in (b"first", b"other", b"third, longer"):
            store.put("folder/object", content)
            etag = store.head("folder/object").etag
            if etag is None:
                return  # etags are optional
            assert seen.setdefault(etag, content) == content, (
                f"head gave the etag {etag!r} for {seen[etag]!r} and for {content!r}; an etag must "
                "change with the content (or be None)"
            )
            (listed,) = store.list("folder")
            assert listed.etag in (None, etag), (
                f"list gave the etag {listed.etag!r} where head gave {etag!r}; they must agree"
            )

    @pytest.mark.parametrize("size", [100, 100_000])
    def test_a_held_buffer_outlives_its_object(self, store: ObjectStore, size: int) -> None:
        content = CONTENT[:size]
        store.put("object", content)
        whole = store.get("object")
        (part,) = store.get_ranges("object", [ByteRange(10, 90)])
        store.put("object", bytes(size))
        store.delete("object")
        store.put("object", b"x")
        doing = "a buffer that is held while its object is replaced"
        check_bytes(whole, content, doing)
        check_bytes(part, content[10:90], doing)

    @pytest.mark.parametrize("size", [100, 100_000])
    def test_a_held_buffer_outlives_other_reads(self, store: ObjectStore, size: int) -> None:
        contents = [CONTENT[number : number + size] for number in range(4)]
        for number, content in enumerate(contents):
            store.put(f"object{number}", content)
        held = [store.get(f"object{number}") for number in range(4)]
        held += [store.get_ranges(f"object{n}", [ByteRange(0, size)])[0] for n in range(4)]
        for buffer, content in zip(held, contents * 2, strict=True):
            check_bytes(buffer, content, "a buffer that is held while other objects are read")

    @pytest.mark.parametrize("size", [100, 100_000])
    def test_a_replaced_object_is_read_anew(self, store: ObjectStore, size: int) -> None:
        for number in range(5):
            store.put("object", bytes([number]) * size)
            check_bytes(store.get("object"), bytes([number]) * size, "get after an overwrite")
            store.delete("object")
            with must_raise(ObjectNotFoundError, "get of a deleted object"):
                store.get("object")

    def test_threads_read_at_the_same_time(self, store: ObjectStore) -> None:
        contents = {f"objects/{n}": CONTENT[n : n + 1000 * n] for n in range(20)}
        for path, content in contents.items():
            store.put(path, content)

        def read(thread: int) -> None:
            for path in list(contents)[thread:] + list(contents)[:thread]:
                size = store.head(path).size
                halves = [ByteRange(0, size // 2), ByteRange(size // 2, size)]
                parts = store.get_ranges(path, halves)
                read = b"".join(bytes(part) for part in parts)
                check_bytes(read, contents[path], "get_ranges in one of several threads")

        race_threads(read, 8)


def _check_ranges(
    store: ObjectStore, path: str, ranges: Sequence[ByteRange], content: bytes
) -> None:
    buffers = store.get_ranges(path, ranges)
    type_names = {type(buffer).__name__ for buffer in buffers if not isinstance(buffer, pa.Buffer)}
    assert not type_names, f"get_ranges gave {type_names}; it must give pyarrow.Buffers"
    assert len(buffers) == len(ranges), (
        f"get_ranges gave {len(buffers)} buffers for {len(ranges)} ranges; it must give as many"
    )
    for buffer, (start, stop) in zip(buffers, ranges, strict=True):
        check_bytes(buffer, content[start:stop], f"get_ranges of bytes {start} to {stop}")


def _check_not_found(store: ObjectStore, path: str) -> None:
    """Check that every method fails to read the object."""
    with must_raise(ObjectNotFoundError, f"get of {path!r}") as caught:
        store.get(path)
    told = caught.error.path
    assert told == path, f"the error of a missing object names {told!r}; it must name {path!r}"
    with must_raise(ObjectNotFoundError, f"get_ranges of {path!r}"):
        store.get_ranges(path, [ByteRange(0, 1)])
    with must_raise(ObjectNotFoundError, f"head of {path!r}"):
        store.head(path)
    with must_raise(ObjectNotFoundError, f"copy of {path!r}"):
        store.copy(path, "target", PutMode.overwrite)


def _check_date(modified: datetime, method: str) -> None:
    assert modified.tzinfo is not None, f"{method} gave {modified}; it must have a time zone"
    off = abs(datetime.now(UTC) - modified)
    assert off < CLOCK_ERROR, (
        f"{method} gave the date {modified} for an object that was just written, which is off by "
        f"{off}; it must be right to {CLOCK_ERROR}"
    )
