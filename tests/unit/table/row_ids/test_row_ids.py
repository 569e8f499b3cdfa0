from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_core._pb import rowids_pb2
from lance_core.errors import CorruptFileError
from lance_core.table.row_ids.row_ids import RowIdSequence
from lance_core.table.row_ids.row_versions import RowVersions
from lance_core.table.row_ids.u64_segment import Ranges, smallest_segment
from tests.each_case import each_case

Segment = rowids_pb2.U64Segment
Encoded = rowids_pb2.EncodedU64Array


def u16(base: int, *offsets: int) -> rowids_pb2.EncodedU64Array:
    return Encoded(
        u16_array=Encoded.U16Array(base=base, offsets=np.array(offsets, "<u2").tobytes())
    )


def u64(*values: int) -> rowids_pb2.EncodedU64Array:
    return Encoded(u64_array=Encoded.U64Array(values=np.array(values, "<u8").tobytes()))


def range_(start: int, end: int) -> rowids_pb2.U64Segment:
    return Segment(range=Segment.Range(start=start, end=end))


def holes(start: int, end: int, gaps: rowids_pb2.EncodedU64Array) -> rowids_pb2.U64Segment:
    return Segment(range_with_holes=Segment.RangeWithHoles(start=start, end=end, holes=gaps))


def bitmap(start: int, end: int, bits: str) -> rowids_pb2.U64Segment:
    body = Segment.RangeWithBitmap(start=start, end=end, bitmap=bytes.fromhex(bits))
    return Segment(range_with_bitmap=body)


def sequence(*segments: rowids_pb2.U64Segment) -> bytes:
    return rowids_pb2.RowIdSequence(segments=segments).SerializeToString()


GOOD = [
    ([], []),
    ([range_(5, 5)], []),
    ([range_(0, 3)], [0, 1, 2]),
    ([range_(7, 8), range_(3, 4), range_(9, 11)], [7, 3, 9, 10]),
    ([range_((1 << 64) - 3, (1 << 64) - 1)], [(1 << 64) - 3, (1 << 64) - 2]),
    ([holes(10, 20, u16(10, 0, 3, 4, 9))], [11, 12, 15, 16, 17, 18]),
    ([holes(0, 2, u64())], [0, 1]),
    ([holes(5, 8, u64(5, 6, 7))], []),
    ([bitmap(20, 31, "0104")], [20, 30]),
    ([bitmap(0, 8, "00")], []),
    ([bitmap(100, 117, "80ff01")], [107, *range(108, 117)]),
    ([bitmap(0, 3, "ff")], [0, 1, 2]),
    ([Segment(sorted_array=u64(3, 70, 1 << 40))], [3, 70, 1 << 40]),
    ([Segment(array=u16(1000, 5, 1, 3))], [1005, 1001, 1003]),
    (
        [range_(0, 2), Segment(array=u64(99, 50)), range_(5, 6), bitmap(8, 16, "03"), range_(2, 3)],
        [0, 1, 99, 50, 5, 8, 9, 2],
    ),
]


@each_case(("segments", "expected"), GOOD)
def test_each_kind_of_segment_is_read_whole_in_part_and_row_by_row(
    segments: list[rowids_pb2.U64Segment], expected: list[int]
) -> None:
    data = sequence(*segments)
    ids = RowIdSequence.from_bytes(data, len(expected))
    assert ids.slice(0, len(expected)).tolist() == expected
    assert ids.slice(1, len(expected)).tolist() == expected[1:]
    backwards = np.arange(len(expected))[::-1]
    assert ids.take(backwards).tolist() == expected[::-1]
    assert ids.take(backwards).dtype == np.uint64
    again = RowIdSequence.from_bytes(ids.to_bytes(), len(expected))
    assert again.slice(0, len(expected)).tolist() == expected


@each_case(
    "segment",
    [
        range_(5, 4),
        holes(5, 4, u64()),
        holes(0, 9, u64(9)),
        holes(2, 9, u64(1)),
        holes(0, 9, u64(3, 3)),
        holes(0, 9, u64(4, 3)),
        Segment(range_with_holes=Segment.RangeWithHoles(start=0, end=1)),
        bitmap(0, 9, "ff"),
        bitmap(0, 8, "ffff"),
        bitmap(8, 0, ""),
        Segment(sorted_array=u64(2, 1)),
        Segment(sorted_array=u64(2, 2)),
        Segment(array=Encoded(u16_array=Encoded.U16Array(offsets=b"abc"))),
        Segment(array=Encoded(u64_array=Encoded.U64Array(values=b"abc"))),
        Segment(array=u16((1 << 64) - 2, 0, 2)),
        Segment(array=Encoded()),
        Segment(),
    ],
)
def test_segments_that_contradict_themselves_are_corrupt(segment: rowids_pb2.U64Segment) -> None:
    with pytest.raises(CorruptFileError):
        RowIdSequence.from_bytes(sequence(segment), 2)


@each_case("segment", [range_(0, 1 << 63), range_(0, (1 << 64) - 1), range_(0, 4)])
def test_a_sequence_of_another_length_is_corrupt_and_never_expanded(
    segment: rowids_pb2.U64Segment,
) -> None:
    with pytest.raises(CorruptFileError):
        RowIdSequence.from_bytes(sequence(segment, segment), 5)


def test_a_huge_range_is_read_in_part() -> None:
    ids = RowIdSequence.from_bytes(sequence(range_(3, 1 << 62)), (1 << 62) - 3)
    assert ids.slice(1 << 40, (1 << 40) + 2).tolist() == [(1 << 40) + 3, (1 << 40) + 4]


def test_new_rows_get_the_bytes_that_other_writers_give_them() -> None:
    assert RowIdSequence.from_range(0, 10).to_bytes() == bytes.fromhex("0a040a02100a")
    assert RowIdSequence.from_range(10, 10).to_bytes() == bytes.fromhex("0a060a04080a1014")
    assert RowVersions.uniform(10, 5).to_bytes() == bytes.fromhex("0a080a040a02100a1005")


@given(st.lists(st.integers(0, 400), unique=True), st.booleans())
def test_holes_and_bitmaps_mean_the_same_as_plain_values(values: list[int], dense: bool) -> None:
    wanted = sorted(values)
    gaps = sorted(set(range(401)).difference(wanted))
    bits = np.zeros(401, np.uint8)
    bits[wanted] = 1
    packed = np.packbits(bits, bitorder="little").tobytes()
    segment = bitmap(7, 408, packed.hex()) if dense else holes(7, 408, u16(7, *gaps))
    ids = RowIdSequence.from_bytes(sequence(segment), len(wanted))
    assert ids.slice(0, len(wanted)).tolist() == [value + 7 for value in wanted]
    again = RowIdSequence.from_bytes(ids.to_bytes(), len(wanted))
    assert again.slice(0, len(wanted)).tolist() == ids.slice(0, len(wanted)).tolist()


@each_case(
    ("ids", "expected"),
    [
        ([5, 6, 7], range_(5, 8)),
        ([20, 30], bitmap(20, 31, "0104")),
        ([*range(90), *range(91, 400)], holes(0, 400, u16(90, 0))),
        ([0, 1 << 20], Segment(sorted_array=Encoded(
            u32_array=Encoded.U32Array(offsets=np.array([0, 1 << 20], "<u4").tobytes())
        ))),
        ([3, 1], Segment(array=u16(1, 2, 0))),
        ([4, 4], Segment(array=u16(4, 0, 0))),
        ([0, (1 << 64) - 1], Segment(array=u64(0, (1 << 64) - 1))),
    ],
)  # fmt: skip
def test_ids_get_the_segment_that_other_writers_choose(
    ids: list[int], expected: rowids_pb2.U64Segment
) -> None:
    written = RowIdSequence.from_ids(np.array(ids, np.uint64)).to_bytes()
    assert rowids_pb2.RowIdSequence.FromString(written).segments == [expected]


def size_of(kind: str, ids: list[int]) -> int:
    slots = ids[-1] + 1 - ids[0]
    sizes = {
        "range": 16 if slots == len(ids) else 1 << 60,
        "range_with_holes": 24 + 4 * (slots - len(ids)),
        "range_with_bitmap": 24 + -(-slots // 8),
        "sorted_array": 24 + 2 * len(ids),
    }
    return sizes[kind]


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=400, unique=True))
def test_no_other_segment_for_ascending_ids_is_smaller(values: list[int]) -> None:
    ids = sorted(values)
    (segment,) = smallest_segment(np.array(ids, np.uint64)).to_proto()
    kinds = ("range", "range_with_holes", "range_with_bitmap", "sorted_array")
    best = min(kinds, key=lambda kind: size_of(kind, ids))
    assert segment.WhichOneof("segment") == best


def runs_of(ids: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for id_ in ids:
        if runs and runs[-1][1] == id_:
            runs[-1] = (runs[-1][0], id_ + 1)
        else:
            runs.append((id_, id_ + 1))
    return runs


PIECES = st.lists(st.lists(st.integers(0, 500), min_size=1, unique=True).map(sorted), max_size=4)


@given(PIECES, st.sampled_from([1, 70, 1000]))
def test_ids_in_any_order_are_kept_and_their_ranges_cover_them(
    pieces: list[list[int]], length: int
) -> None:
    long = [list(range(piece[0], piece[0] + length)) for piece in pieces[:2]]
    ids = [id_ for piece in [*pieces, *long] for id_ in piece]
    found = RowIdSequence.from_bytes(
        RowIdSequence.from_ids(np.array(ids, np.uint64)).to_bytes(), len(ids)
    )
    assert found.slice(0, len(ids)).tolist() == ids
    starts, stops = found.ranges()
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    assert [id_ for start, stop in pairs for id_ in range(start, stop)] == ids
    assert len(starts) <= len(runs_of(ids)) + len(found.segments)


@each_case(("segments", "expected"), GOOD)
def test_each_kind_of_segment_has_ranges(
    segments: list[rowids_pb2.U64Segment], expected: list[int]
) -> None:
    starts, stops = RowIdSequence.from_bytes(sequence(*segments)).ranges()
    pairs = list(zip(starts.tolist(), stops.tolist(), strict=True))
    assert [id_ for start, stop in pairs for id_ in range(start, stop)] == expected
    assert all(start < stop for start, stop in pairs)


def versions(*runs: tuple[rowids_pb2.U64Segment, int]) -> bytes:
    message = rowids_pb2.RowDatasetVersionSequence()
    for span, version in runs:
        message.runs.add(span=span, version=version)
    return message.SerializeToString()


def test_of_a_run_of_versions_only_the_length_counts() -> None:
    data = versions((range_(90, 93), 4), (bitmap(0, 8, "81"), 2), (Segment(array=u64(9)), 7))
    found = RowVersions.from_bytes(data, 6)
    assert found.take(np.arange(6)).tolist() == [4, 4, 4, 2, 2, 7]
    assert found.take(np.array([5, 0, 3])).tolist() == [7, 4, 2]
    again = RowVersions.from_bytes(found.to_bytes(), 6)
    assert again.take(np.arange(6)).tolist() == [4, 4, 4, 2, 2, 7]


def test_versions_for_another_number_of_rows_are_corrupt() -> None:
    huge = range_(0, 1 << 62)
    for runs in ([(range_(0, 3), 1)], [(huge, 1)] * 4, [(huge, 1)]):
        with pytest.raises(CorruptFileError):
            RowVersions.from_bytes(versions(*runs), 4)
    with pytest.raises(CorruptFileError):
        RowVersions.from_bytes(versions(*[(huge, 1)] * 4), 1 << 64)


def test_damaged_sequences_give_values_or_typed_errors(
    survives_mutation: Callable[[Callable[[bytes], object], bytes, int], None],
) -> None:
    def use_ids(data: bytes) -> None:
        RowIdSequence.from_bytes(data, 8).slice(0, 8)

    def use_versions(data: bytes) -> None:
        RowVersions.from_bytes(data, 6).take(np.arange(6))

    for segments, expected in GOOD:
        if len(expected) == 8 or len(segments) == 1:
            survives_mutation(use_ids, sequence(*segments) + b"\x0a\x00", 150)
    data = versions((range_(90, 93), 4), (bitmap(0, 8, "81"), 2), (Segment(array=u64(9)), 7))
    survives_mutation(use_versions, data, 300)


def test_a_sequence_has_fewer_rows_than_numbers_of_64_bits() -> None:
    half = Ranges.of([(0, 1 << 62)])
    assert RowIdSequence.of([half]).count == 1 << 62
    with pytest.raises(CorruptFileError, match=r"2\*\*63 values or more"):
        RowIdSequence.of([half, half])


def test_versions_of_rows_take_two_numbers_a_run() -> None:
    versions = RowVersions(np.array([1, 5], np.uint64), np.array([3, 9], np.int64))
    assert versions.nbytes == 32
