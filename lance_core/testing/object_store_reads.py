"""Part of the contract of object stores: reading."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from lance_core.errors import CorruptFileError, InvalidInputError, ObjectNotFoundError
from lance_core.store.base import ByteRange, ObjectStore, PutMode

CONTENT = random.Random(7).randbytes(100_000)  # noqa: S311 (test data must be repeatable)
SIZES = (0, 1, 4096, (64 << 10) - 1, 64 << 10, 1_000_003)


class ReadTests:
    """Whole objects, ranges of them, and what is known of them."""

    @pytest.mark.parametrize("size", SIZES)
    def test_an_object_of_any_size_is_read_as_it_was_written(
        self, store: ObjectStore, size: int
    ) -> None:
        content = (CONTENT * 11)[:size]
        store.put("folder/object", content)
        buffer = store.get("folder/object")
        assert isinstance(buffer, pa.Buffer)
        assert bytes(buffer) == content
        assert store.head("folder/object").size == size

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
        buffers = store.get_ranges("object", ranges)
        assert all(isinstance(buffer, pa.Buffer) for buffer in buffers)
        assert [bytes(b) for b in buffers] == [CONTENT[r.start : r.stop] for r in ranges]

    def test_thousands_of_ranges_can_be_asked_for_at_once(self, store: ObjectStore) -> None:
        store.put("object", CONTENT)
        ranges = [ByteRange(start, start + 7) for start in range(0, 90_000, 30)]
        random.Random(3).shuffle(ranges)  # noqa: S311
        buffers = store.get_ranges("object", ranges)
        assert [bytes(b) for b in buffers] == [CONTENT[r.start : r.stop] for r in ranges]

    @pytest.mark.parametrize("position", [0, 1, 50, 100])
    def test_a_range_without_bytes_is_an_empty_buffer(
        self, store: ObjectStore, position: int
    ) -> None:
        store.put("object", CONTENT[:100])
        ranges = [ByteRange(position, position), ByteRange(0, 2)]
        assert [b.size for b in store.get_ranges("object", ranges)] == [0, 2]

    def test_no_ranges_are_no_buffers(self, store: ObjectStore) -> None:
        store.put("object", CONTENT[:100])
        assert store.get_ranges("object", []) == []

    @pytest.mark.parametrize("size", [0, 100, 100_000])
    @pytest.mark.parametrize("beyond", [(0, 1), (-1, 1), (1, 2), (5_000_000_000, 5_000_000_001)])
    def test_a_range_past_the_end_is_a_typed_error(
        self, store: ObjectStore, size: int, beyond: tuple[int, int]
    ) -> None:
        store.put("folder/object", CONTENT[:size])
        start, stop = max(0, size + beyond[0]), size + beyond[1]
        with pytest.raises(CorruptFileError) as caught:
            store.get_ranges("folder/object", [ByteRange(0, 0), ByteRange(start, stop)])
        assert caught.value.path == "folder/object"
        assert caught.value.offset == start

    @pytest.mark.parametrize("bad", [(-1, 5), (5, 4), (-5, -1)])
    def test_what_is_no_range_is_refused(self, store: ObjectStore, bad: tuple[int, int]) -> None:
        store.put("object", CONTENT[:100])
        with pytest.raises((InvalidInputError, CorruptFileError)):
            store.get_ranges("object", [ByteRange(*bad)])

    def test_what_is_not_there_is_not_found(self, store: ObjectStore) -> None:
        store.put("folder/object", b"1")
        for path in ("missing", "folder/missing", "missing/object", "folder/object/below"):
            with pytest.raises(ObjectNotFoundError) as caught:
                store.get(path)
            assert caught.value.path == path
            with pytest.raises(ObjectNotFoundError):
                store.get_ranges(path, [ByteRange(0, 1)])
            with pytest.raises(ObjectNotFoundError):
                store.head(path)
            with pytest.raises(ObjectNotFoundError):
                store.copy(path, "target", PutMode.overwrite)
        assert [found.path for found in store.list("")] == ["folder/object"]

    def test_size_and_date_are_known(self, store: ObjectStore) -> None:
        store.put("folder/object", b"12345")
        found = store.head("folder/object")
        assert (found.path, found.size) == ("folder/object", 5)
        assert found.last_modified.tzinfo is not None
        assert abs(datetime.now(UTC) - found.last_modified) < timedelta(days=1)

    @pytest.mark.parametrize("size", [100, 100_000])
    def test_a_held_buffer_outlives_its_object(self, store: ObjectStore, size: int) -> None:
        store.put("object", CONTENT[:size])
        whole = store.get("object")
        (part,) = store.get_ranges("object", [ByteRange(10, 90)])
        store.put("object", bytes(size))
        store.delete("object")
        store.put("object", b"x")
        assert bytes(whole) == CONTENT[:size]
        assert bytes(part) == CONTENT[10:90]

    @pytest.mark.parametrize("size", [100, 100_000])
    def test_a_replaced_object_is_read_anew(self, store: ObjectStore, size: int) -> None:
        for number in range(5):
            store.put("object", bytes([number]) * size)
            assert bytes(store.get("object")) == bytes([number]) * size
            store.delete("object")
            with pytest.raises(ObjectNotFoundError):
                store.get("object")

    def test_threads_read_at_the_same_time(self, store: ObjectStore) -> None:
        contents = {f"objects/{n}": CONTENT[n : n + 1000 * n] for n in range(20)}
        for path, content in contents.items():
            store.put(path, content)

        def read(path: str) -> tuple[str, bytes]:
            size = store.head(path).size
            parts = store.get_ranges(path, [ByteRange(0, size // 2), ByteRange(size // 2, size)])
            return path, b"".join(bytes(part) for part in parts)

        with ThreadPoolExecutor(8) as threads:
            assert dict(threads.map(read, list(contents) * 5)) == contents
