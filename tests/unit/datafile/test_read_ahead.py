"""Reading ahead gives the same bytes by fewer requests, and none that the scan does not want."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core.byte_ranges import ByteRange
from lance_core.datafile.metadata import FileMetadata
from lance_core.datafile.read_ahead import SHARES, FileReadAhead, Kept
from lance_core.encodings.decoding import RowRange
from lance_core.encodings.page import Column, Page
from lance_core.errors import CorruptFileError, StoreError
from lance_core.store.memory import MemoryStore
from tests.each_case import each_case

BYTES = random.Random(0).randbytes(20_000)
PAGES = {0: [(0, 300), (320, 5000)], 1: [(5056, 12000)], 2: [(12032, 12100), (15000, 16000)]}
"""Columns of one page each, of 100 rows: where its buffers are. Those of the last are apart."""


class Store(MemoryStore):
    """Remembers what it was asked for."""

    coalesce_gap = 50
    read_ahead = 4000

    def __init__(self) -> None:
        super().__init__()
        self.put("file", BYTES)
        self.asked: list[ByteRange] = []
        self.errors: list[Exception] = []

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
        self.asked += ranges
        if self.errors:
            raise self.errors.pop()
        return super().get_ranges(path, ranges)


def content() -> FileMetadata:
    columns = [
        Column(
            (Page(tuple(ByteRange(*one) for one in buffers), 100, ArrayEncoding()),),
            (),
            ColumnEncoding(),
        )
        for buffers in PAGES.values()
    ]
    return cast(FileMetadata, SimpleNamespace(columns=SimpleNamespace(parsed=columns)))


ALL = RowRange(0, 100)


def ahead_of(
    store: Store, rows: RowRange = ALL, kept: Kept | None = None, growth: int | None = None
) -> FileReadAhead:
    return FileReadAhead(store, content(), rows, kept or Kept(160_000), growth)


def check(ahead: FileReadAhead, *ranges: tuple[int, int]) -> None:
    buffers = ahead.get_ranges("file", [ByteRange(*one) for one in ranges])
    assert [bytes(buffer) for buffer in buffers] == [BYTES[slice(*one)] for one in ranges]


def test_a_page_is_read_to_its_end_by_requests_of_limited_length() -> None:
    store = Store()
    ahead = ahead_of(store)
    check(ahead, (0, 10))
    assert store.asked == [(0, 2500), (2500, 5000)]
    check(ahead, (320, 2400), (2400, 2600), (4990, 5000), (7, 7))
    assert len(store.asked) == 2
    check(ahead, (5056, 5057))
    assert store.asked[2:] == [(5056, 8528), (8528, 12000)]


def test_ranges_of_several_pages_are_read_together() -> None:
    store = Store()
    check(ahead_of(store), (6000, 6001), (0, 10), (16500, 16510))
    assert store.asked == [(0, 2500), (2500, 5000), (5056, 8528), (8528, 12000), (16500, 16510)]


def test_windows_that_are_read_out_of_order_take_no_more_requests() -> None:
    store = Store()
    ahead = ahead_of(store)
    for start in (8000, 7000, 5056, 6000, 11_000, 9000):
        check(ahead, (start, start + 1000))
    assert store.asked == [(5056, 8528), (8528, 12000)]


def test_bytes_that_were_requested_before_are_not_read_again_for_earlier_windows() -> None:
    store = Store()
    ahead = ahead_of(store, kept=Kept(16_000))  # one call may read 2,000 bytes ahead
    check(ahead, (5056, 5060))
    check(ahead, (9000, 9010))
    assert store.asked == [(5056, 7056), (7056, 9056)]


def test_rows_before_those_of_the_scan_are_not_read() -> None:
    store = Store()
    check(ahead_of(store, RowRange(40, 100)), (9000, 9010))
    first = 5056 + (12000 - 5056) * 40 // 100
    assert store.asked[0].start == first
    assert store.asked[-1].stop == 12000


def test_a_page_whose_buffers_are_apart_is_not_read_ahead() -> None:
    store = Store()
    check(ahead_of(store), (12032, 12040), (15000, 15100))
    assert store.asked == [(12032, 12040), (15000, 15100)]


@each_case(("start", "stop"), [(0, 49), (60, 100), (200, 300)])
def test_a_page_of_which_few_rows_are_wanted_is_read_piece_by_piece(start: int, stop: int) -> None:
    store = Store()
    check(ahead_of(store, RowRange(start, stop)), (0, 10), (400, 500))
    assert store.asked == [(0, 10), (400, 500)]


def test_the_growth_of_requests_can_be_limited() -> None:
    store = Store()
    ahead = ahead_of(store, growth=4)
    check(ahead, (400, 410))
    check(ahead, (430, 440))
    assert store.asked == [(400, 440)]
    check(ahead, (4000, 4900))
    assert store.asked[1:] == [(4000, 5000)]


def test_only_what_is_missing_is_read() -> None:
    store = Store()
    ahead = ahead_of(store, RowRange(0, 1))
    check(ahead, (1000, 1500), (2000, 2500))
    check(ahead, (1200, 1700))
    check(ahead, (1650, 2100))
    assert store.asked == [(1000, 1500), (2000, 2500), (1500, 1700), (1700, 2100)]


def test_little_is_kept() -> None:
    store, kept = Store(), Kept(6000)
    ahead = ahead_of(store, kept=kept)
    for _ in range(3):
        check(ahead, (5056, 5060))
        check(ahead, (0, 10))
        assert sum(one.stop - one.start for one in ahead.readings) <= 6000
    other = ahead_of(store, kept=kept)
    check(other, (5056, 5060), (9000, 9010))
    held = [*ahead.readings, *other.readings]
    assert sum(one.stop - one.start for one in held) <= 6000


def test_room_is_shared_by_those_who_need_it() -> None:
    store = Store()
    ahead = ahead_of(store, kept=Kept(6000 * SHARES))
    check(ahead, (5056, 5060), (16500, 16510))
    assert store.asked == [(5056, 8051), (8051, 11046), (16500, 16510)]


def test_what_calls_at_the_same_time_read_ahead_is_kept_until_it_is_needed() -> None:
    kept = Kept(1000 * SHARES)
    stores = [Store() for _ in range(SHARES)]
    files = [ahead_of(store, kept=kept) for store in stores]
    for wanted in ((0, 10), (500, 990)):
        for file in files:
            check(file, wanted)
    assert [store.asked for store in stores] == [[(0, 1000)]] * SHARES


def test_a_read_that_fails_is_not_kept() -> None:
    store = Store()
    ahead = ahead_of(store)
    store.errors.append(StoreError("lost"))
    with pytest.raises(StoreError, match="lost"):
        ahead.get_ranges("file", [ByteRange(0, 10)])
    assert ahead.readings == []
    check(ahead, (0, 10))
    with pytest.raises(CorruptFileError):
        ahead.get_ranges("file", [ByteRange(19_990, 20_010)])


def test_whatever_is_asked_for_in_whatever_order_is_what_the_file_holds() -> None:
    chance = random.Random(1)
    for capacity in (100, 3000, 100_000):
        ahead = ahead_of(Store(), kept=Kept(capacity), growth=chance.choice([None, 2]))
        for _ in range(300):
            bounds = sorted(chance.randrange(len(BYTES)) for _ in range(6))
            ranges = list(pairwise(bounds))
            chance.shuffle(ranges)
            check(ahead, *ranges)


def test_threads_wait_for_what_one_of_them_reads() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Store):
        def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
            begun.set()
            assert go_on.wait(10)
            return super().get_ranges(path, ranges)

    store = Slow()
    ahead = ahead_of(store)
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(check, ahead, (0, 10))
        assert begun.wait(10)
        others = [threads.submit(check, ahead, (100 * n, 100 * n + 150)) for n in range(4)]
        go_on.set()
        for future in (first, *others):
            future.result()
    assert store.asked == [(0, 2500), (2500, 5000)]
