"""Small files are read whole where requests are dear, and not all of them are kept."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from lance_core.byte_ranges import ByteRange
from lance_core.datafile.fast.small_files import CAPACITY, SMALL_FILE, SmallFile, SmallFiles
from lance_core.datafile.tail import TAIL_LENGTH
from lance_core.errors import CorruptFileError
from lance_core.store.memory import MemoryStore

SIZE = 200_000
WHOLE = ByteRange(0, SIZE)


class Store(MemoryStore):
    """Remembers what it was asked for."""

    coalesce_gap = 1 << 40
    read_ahead = 1 << 20

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ByteRange] = []

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        self.asked += ranges
        return super().get_ranges(path, ranges)


@pytest.fixture
def store() -> Store:
    return Store()


def added(files: SmallFiles, store: Store, path: str) -> SmallFile:
    whole = path.encode()[:1] * SIZE
    store.put(path, whole)
    return files.add(store, path, pa.py_buffer(whole))


@pytest.mark.parametrize(
    ("size", "gap", "read_ahead", "is_small"),
    [
        (SMALL_FILE, 1 << 40, 1, True),
        (SMALL_FILE + 1, 1 << 40, 1, False),
        (SIZE, SIZE, 1, True),
        (SIZE, SIZE - 1, 1, False),
        (SIZE, SIZE, 0, False),
        (TAIL_LENGTH, SIZE, 1, False),
    ],
)
def test_files_that_cost_less_than_a_request_are_read_whole(
    store: Store, size: int, gap: int, read_ahead: int, is_small: bool
) -> None:
    store.coalesce_gap, store.read_ahead = gap, read_ahead
    assert SmallFiles().takes(store, size) is is_small


def test_a_file_that_is_kept_takes_no_request(store: Store) -> None:
    file = added(SmallFiles(), store, "a")
    found = file.get_ranges("a", [ByteRange(5, 9), ByteRange(0, 0), ByteRange(SIZE - 1, SIZE)])
    assert [one.to_pybytes() for one in found] == [b"aaaa", b"", b"a"]
    assert store.asked == []


def test_what_is_not_kept_any_more_is_read_again_as_a_whole(store: Store) -> None:
    files = SmallFiles()
    first = added(files, store, "a")
    for number in range(CAPACITY // SIZE):
        added(files, store, f"b{number}")
    for _ in range(2):
        assert first.get_ranges("a", [ByteRange(5, 9)])[0].to_pybytes() == b"aaaa"
    assert store.asked == [WHOLE]


def test_files_of_the_same_name_in_two_stores_are_two(store: Store) -> None:
    files, other = SmallFiles(), Store()
    added(files, store, "a")
    other.put("a", b"z" * SIZE)
    file = files.add(other, "a", pa.py_buffer(b"z" * SIZE))
    assert file.get_ranges("a", [ByteRange(0, 2)])[0].to_pybytes() == b"zz"


def test_a_result_does_not_hold_on_to_the_file(store: Store) -> None:
    file = added(SmallFiles(), store, "a")
    (found,) = file.get_ranges("a", [ByteRange(64, 128)])
    assert found.size == 64
    assert found.parent is None


def test_a_range_beyond_the_file_is_damage(store: Store) -> None:
    file = added(SmallFiles(), store, "a")
    with pytest.raises(CorruptFileError, match="the file has 200000"):
        file.get_ranges("a", [ByteRange(5, SIZE + 1)])
