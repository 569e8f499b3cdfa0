"""``U64Segment`` (``rowids.proto``): u64 values in order, stored as ranges, bitmaps or arrays.

A range may have more values than fit into memory, so ``take`` expands only the requested values.
Offsets count values from the start of the segment; the caller guarantees ``0 <= offset < count``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lance_core._pb import rowids_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass

Uint64s = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]
"""Numbers of values of a segment, from 0 on."""

Bounds = tuple[Uint64s, Uint64s]
"""First values, and ends (exclusive), of ranges that are not empty."""

_FIELD = "U64Segment"


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """A list of ranges: each has the values ``starts[i]`` to ``stops[i]`` (exclusive)."""

    starts: Uint64s
    stops: Uint64s
    ends: Offsets
    """For each range, the number of values up to its end."""

    @classmethod
    def of(cls, bounds: list[tuple[int, int]]) -> Ranges:
        """Create ranges from pairs of start and stop.

        Raises `CorruptFileError` if a range ends before it starts or for 2**63 values or more.
        """
        starts, stops = np.array(bounds, dtype=np.uint64).reshape(-1, 2).T
        if (stops < starts).any():
            raise CorruptFileError("a range ends before it starts", field=_FIELD)
        if sum(stop - start for start, stop in bounds) >= 1 << 63:
            raise CorruptFileError("the ranges contain 2**63 values or more", field=_FIELD)
        return cls.between(starts, stops)

    @classmethod
    def between(cls, starts: Uint64s, stops: Uint64s) -> Ranges:
        """Create ranges from valid arrays, of less than 2**63 values."""
        return cls(starts, stops, np.cumsum((stops - starts).astype(np.int64)))

    @property
    def count(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.stops.nbytes + self.ends.nbytes

    def take(self, offsets: Offsets) -> Uint64s:
        which = np.searchsorted(self.ends, offsets, side="right")
        before = self.ends[which] - (self.stops - self.starts)[which].astype(np.int64)
        return self.starts[which] + (offsets - before).astype(np.uint64)

    def ranges(self) -> Bounds:
        filled = self.stops > self.starts
        return self.starts[filled], self.stops[filled]

    def to_proto(self) -> list[rowids_pb2.U64Segment]:
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [
            rowids_pb2.U64Segment(range=rowids_pb2.U64Segment.Range(start=start, end=stop))
            for start, stop in pairs
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RangeWithHoles:
    """A range without the sorted values ``holes``."""

    start: int
    stop: int
    holes: Uint64s

    @property
    def count(self) -> int:
        return self.stop - self.start - len(self.holes)

    @property
    def nbytes(self) -> int:
        return self.holes.nbytes

    def take(self, offsets: Offsets) -> Uint64s:
        # ranks[i] is the number of values below hole i; values from this offset on skip the hole.
        ranks = (self.holes - np.uint64(self.start)).astype(np.int64) - np.arange(len(self.holes))
        skipped = np.searchsorted(ranks, offsets, side="right")
        return np.uint64(self.start) + (offsets + skipped).astype(np.uint64)

    def ranges(self) -> Bounds:
        starts = np.append(np.uint64(self.start), self.holes + np.uint64(1))
        stops = np.append(self.holes, np.uint64(self.stop))
        filled = stops > starts
        return starts[filled], stops[filled]

    def to_proto(self) -> list[rowids_pb2.U64Segment]:
        body = rowids_pb2.U64Segment.RangeWithHoles(
            start=self.start, end=self.stop, holes=_encoded(self.holes)
        )
        return [rowids_pb2.U64Segment(range_with_holes=body)]


_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_ONES: Offsets = _BITS.sum(axis=1, dtype=np.int64)
"""Number of set bits of each byte."""
_PLACES: Uint64s = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint64)
"""For each byte, the positions of its set bits in ascending order, then of the other bits."""


@dataclass(frozen=True, slots=True, eq=False)
class RangeWithBitmap:
    """The values of a range whose bit is set; bit 0 of byte 0 (least significant) is ``start``."""

    start: int
    stop: int
    bitmap: bytes
    ends: Offsets
    """For each byte of the bitmap, the number of bits set up to its end."""

    @classmethod
    def of(cls, start: int, stop: int, bitmap: bytes) -> RangeWithBitmap:
        """Create a segment; bits from ``stop`` on are ignored.

        Raises `CorruptFileError` if the size of ``bitmap`` does not fit the range.
        """
        size = stop - start
        if size < 0 or len(bitmap) != (size + 7) // 8:
            reason = f"a bitmap of {len(bitmap)} bytes for {size} values"
            raise CorruptFileError(reason, field=_FIELD)
        if size % 8:
            bitmap = bitmap[:-1] + bytes([bitmap[-1] & ((1 << size % 8) - 1)])
        return cls(start, stop, bitmap, np.cumsum(_ONES[np.frombuffer(bitmap, np.uint8)]))

    @property
    def count(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def nbytes(self) -> int:
        return len(self.bitmap) + self.ends.nbytes

    def take(self, offsets: Offsets) -> Uint64s:
        which = np.searchsorted(self.ends, offsets, side="right")
        byte = np.frombuffer(self.bitmap, np.uint8)[which]
        rank = offsets - (self.ends[which] - _ONES[byte])
        return np.uint64(self.start) + which.astype(np.uint64) * np.uint64(8) + _PLACES[byte, rank]

    def ranges(self) -> Bounds:
        bits = np.unpackbits(np.frombuffer(self.bitmap, np.uint8), bitorder="little")
        edges = np.flatnonzero(np.diff(bits, prepend=0, append=0)).astype(np.uint64)
        edges += np.uint64(self.start)
        return edges[::2], edges[1::2]

    def to_proto(self) -> list[rowids_pb2.U64Segment]:
        body = rowids_pb2.U64Segment.RangeWithBitmap(
            start=self.start, end=self.stop, bitmap=self.bitmap
        )
        return [rowids_pb2.U64Segment(range_with_bitmap=body)]


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """A plain array of values; ``is_sorted`` only selects the message field that stores them."""

    values: Uint64s
    is_sorted: bool

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def take(self, offsets: Offsets) -> Uint64s:
        return self.values[offsets]

    def ranges(self) -> Bounds:
        if not len(self.values):
            return self.values, self.values
        follows = np.diff(self.values) == 1
        if not self.is_sorted:  # differences wrap around at 2**64
            follows &= self.values[1:] > self.values[:-1]
        cuts = np.flatnonzero(~follows)
        if len(cuts) == len(follows):
            return self.values, self.values + np.uint64(1)
        starts = self.values[np.append(0, cuts + 1)]
        return starts, self.values[np.append(cuts, -1)] + np.uint64(1)

    def to_proto(self) -> list[rowids_pb2.U64Segment]:
        body = _encoded(self.values)
        if self.is_sorted:
            return [rowids_pb2.U64Segment(sorted_array=body)]
        return [rowids_pb2.U64Segment(array=body)]


Segment = Ranges | RangeWithHoles | RangeWithBitmap | Array


def span_of(bounds: Bounds) -> tuple[int, int]:
    """The lowest value of ranges, and the end (exclusive) of the highest; (0, 0) if none."""
    starts, stops = bounds
    return (int(starts.min()), int(stops.max())) if len(starts) else (0, 0)


def smallest_segment(values: Uint64s) -> Segment:
    """The segment for ``values`` (at least one) that takes the fewest bytes.

    Values that do not strictly ascend are an `Array`. The estimated sizes, and the choice among
    equal ones, are those of other writers of the format.
    """
    start, stop = int(values[0]), int(values[-1]) + 1
    if (values[1:] <= values[:-1]).any() or stop >= 1 << 64:
        return Array(values, False)
    slots, count = stop - start, len(values)
    if slots == count:
        return Ranges.of([(start, stop)])
    with_holes, with_bitmap, plain = 4 * (slots - count), -(-slots // 8), 2 * count
    if plain < min(with_holes, with_bitmap):
        return Array(values, True)
    present = np.zeros(slots, np.bool_)
    present[values - np.uint64(start)] = True
    if with_holes <= with_bitmap:
        holes = np.flatnonzero(~present).astype(np.uint64) + np.uint64(start)
        return RangeWithHoles(start, stop, holes)
    return RangeWithBitmap.of(start, stop, np.packbits(present, bitorder="little").tobytes())


def segments_from_proto(messages: list[rowids_pb2.U64Segment]) -> list[Segment]:
    """Decode segments; adjacent range messages become one `Ranges`, since there may be one per row.

    Raises `CorruptFileError` for malformed segments.
    """
    segments: list[Segment] = []
    bounds: list[tuple[int, int]] = []
    for message in messages:
        if message.HasField("range"):
            bounds.append((message.range.start, message.range.end))
            continue
        if bounds:
            segments.append(Ranges.of(bounds))
            bounds = []
        segments.append(_segment(message))
    if bounds:
        segments.append(Ranges.of(bounds))
    return segments


def _segment(message: rowids_pb2.U64Segment) -> Segment:
    segment_type = message.WhichOneof("segment")
    if segment_type == "range_with_holes":
        return _range_with_holes(message.range_with_holes)
    if segment_type == "range_with_bitmap":
        body = message.range_with_bitmap
        return RangeWithBitmap.of(body.start, body.end, body.bitmap)
    if segment_type == "sorted_array":
        values = _decoded(message.sorted_array)
        if (values[1:] <= values[:-1]).any():
            raise CorruptFileError("a sorted array is not sorted", field=_FIELD)
        return Array(values, True)
    if segment_type == "array":
        return Array(_decoded(message.array), False)
    raise CorruptFileError("a segment of unknown kind", field=_FIELD)


def _range_with_holes(body: rowids_pb2.U64Segment.RangeWithHoles) -> RangeWithHoles:
    holes = _decoded(body.holes)
    if body.end < body.start:
        raise CorruptFileError("a range ends before it starts", field=_FIELD)
    inside = not len(holes) or (holes[0] >= body.start and holes[-1] < body.end)
    if not inside or (holes[1:] <= holes[:-1]).any():
        raise CorruptFileError("holes are not sorted values of their range", field=_FIELD)
    return RangeWithHoles(body.start, body.end, holes)


_WIDTHS: dict[str, np.dtype[Any]] = {
    "u16_array": np.dtype("<u2"),
    "u32_array": np.dtype("<u4"),
    "u64_array": np.dtype("<u8"),
}


def _decoded(message: rowids_pb2.EncodedU64Array) -> Uint64s:
    array_type = message.WhichOneof("array")
    if array_type is None:
        raise CorruptFileError("an array of unknown width", field="EncodedU64Array")
    body = getattr(message, array_type)
    data = body.values if array_type == "u64_array" else body.offsets
    base = 0 if array_type == "u64_array" else body.base
    width = _WIDTHS[array_type]
    if len(data) % width.itemsize:
        raise CorruptFileError(
            f"{len(data)} bytes are not an array of {width.itemsize}-byte values",
            field="EncodedU64Array",
        )
    values = np.frombuffer(data, width).astype(np.uint64)
    if len(values) and base + int(values.max()) >= 1 << 64:
        raise CorruptFileError(
            "a segment contains values of 2**64 or more", field="EncodedU64Array"
        )
    return values + np.uint64(base)


def _encoded(values: Uint64s) -> rowids_pb2.EncodedU64Array:
    """Encode ``values`` in the narrowest of the three message forms (16, 32 or 64 bits)."""
    base = int(values.min()) if len(values) else 0
    spread = int(values.max()) - base if len(values) else 0
    array = rowids_pb2.EncodedU64Array
    offsets = values - np.uint64(base)
    if spread < 1 << 16:
        data = offsets.astype("<u2").tobytes()
        return array(u16_array=array.U16Array(base=base, offsets=data))
    if spread < 1 << 32:
        data = offsets.astype("<u4").tobytes()
        return array(u32_array=array.U32Array(base=base, offsets=data))
    return array(u64_array=array.U64Array(values=values.astype("<u8").tobytes()))
