"""``RowIdSequence`` (``rowids.proto``): the stable id of each physical row of a fragment."""

from __future__ import annotations

import numpy as np

from lance_core._pb import rowids_pb2
from lance_core.errors import CorruptFileError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.row_ids.u64_segment import (
    Bounds,
    Offsets,
    Ranges,
    Segment,
    Uint64s,
    segments_from_proto,
    smallest_segment,
    span_of,
)
from lance_core.table.unknown_fields import parse

MIN_PIECE = 64
"""Minimum average length of ascending pieces for which each piece becomes its own segment."""


@dataclass(frozen=True, slots=True, eq=False)
class RowIdSequence:
    """Row ids by physical row offset, including deleted rows; ranges stay compressed."""

    segments: tuple[Segment, ...]
    ends: Offsets
    """For each segment, the number of rows up to its end."""

    @classmethod
    def of(cls, segments: list[Segment]) -> RowIdSequence:
        """Concatenate ``segments``. Raises `CorruptFileError` for 2**63 values or more."""
        total = sum(segment.count for segment in segments)
        if total >= 1 << 63:
            raise CorruptFileError(
                "the row ids of a fragment have 2**63 values or more", field="RowIdSequence"
            )
        ends = np.cumsum(np.array([segment.count for segment in segments], dtype=np.int64))
        return cls(tuple(segments), ends)

    @classmethod
    def from_range(cls, first: int, count: int) -> RowIdSequence:
        """The ids of ``count`` new rows, beginning with ``first``."""
        return cls.of([Ranges.of([(first, first + count)])])

    @classmethod
    def from_ids(cls, ids: Uint64s) -> RowIdSequence:
        """A compact sequence of ``ids``, which may be in any order."""
        cuts = np.flatnonzero(ids[1:] <= ids[:-1]) + 1
        if not len(ids):
            return cls.of([])
        if (len(cuts) + 1) * MIN_PIECE > len(ids):
            return cls.of([smallest_segment(ids)])
        return cls.of([smallest_segment(piece) for piece in np.split(ids, cuts)])

    @classmethod
    def from_bytes(cls, data: bytes, count: int | None = None) -> RowIdSequence:
        """Decode the sequence of a fragment of ``count`` physical rows.

        Raises `CorruptFileError` if ``data`` is malformed or does not have ``count`` ids. If
        ``count`` is None, any number of ids is accepted.
        """
        message = parse(rowids_pb2.RowIdSequence, data, "RowIdSequence")
        sequence = cls.of(segments_from_proto(list(message.segments)))
        if count is not None and sequence.count != count:
            raise CorruptFileError(
                f"a fragment of {count} rows has {sequence.count} row ids", field="RowIdSequence"
            )
        return sequence

    def to_bytes(self) -> bytes:
        message = rowids_pb2.RowIdSequence()
        for segment in self.segments:
            message.segments.extend(segment.to_proto())
        return message.SerializeToString()

    @property
    def count(self) -> int:
        """Number of physical rows."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return self.ends.nbytes + sum(segment.nbytes for segment in self.segments)

    def ranges(self) -> Bounds:
        """The ids as ranges, in the order of the rows; at most a few for each stored byte."""
        bounds = [segment.ranges() for segment in self.segments]
        if len(bounds) == 1:
            return bounds[0]
        empty = np.empty(0, np.uint64)
        starts = np.concatenate([empty, *(starts for starts, _ in bounds)])
        return starts, np.concatenate([empty, *(stops for _, stops in bounds)])

    @property
    def span(self) -> tuple[int, int]:
        """The lowest id, and the end (exclusive) of the highest; equal if there are no ids."""
        return span_of(self.ranges())

    def slice(self, start: int, stop: int) -> Uint64s:
        """Ids of the physical rows ``start`` to ``stop`` (exclusive)."""
        return self.take(np.arange(start, stop, dtype=np.int64))

    def take(self, offsets: Offsets) -> Uint64s:
        """Ids of the physical rows at ``offsets``, in that order; all must be below `count`."""
        if len(self.segments) == 1:
            return self.segments[0].take(offsets)
        ids = np.empty(len(offsets), dtype=np.uint64)
        which = np.searchsorted(self.ends, offsets, side="right")
        for number in np.unique(which).tolist():
            segment, here = self.segments[number], which == number
            ids[here] = segment.take(offsets[here] - (self.ends[number] - segment.count))
        return ids
