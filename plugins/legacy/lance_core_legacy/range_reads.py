"""Read bytes at many places of a file with few ranges, then return them as pieces or joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.arrays import Cuts, span_ranges, span_take
from lance_core.hookspecs.stores import ByteRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lance_core.hookspecs.arrays import Int64Array
    from lance_core.hookspecs.file_versions import DecodeContext, Decoding

COARSE = 32 << 10
"""Average bytes per place from which one array per place is cheaper than a joined copy."""

MIN_JOINED = 8 << 10
"""Minimum average bytes per place for which Python joins them faster than Arrow takes them."""


@dataclass(frozen=True, slots=True, eq=False)
class FetchedBytes:
    """The bytes ``starts[i]`` to ``stops[i]`` of the file, contained in ``buffers``.

    ``is_ascending``: True if the places ascend without overlap.
    """

    starts: Int64Array
    stops: Int64Array
    buffers: Sequence[pa.Buffer]
    cuts: Cuts
    is_ascending: bool

    @property
    def size(self) -> int:
        """The total bytes of all places."""
        return int((self.stops - self.starts).sum())

    @property
    def is_coarse(self) -> bool:
        """True for a single place or large places, see `COARSE`."""
        return len(self.starts) == 1 or self.size >= COARSE * len(self.starts)

    def pieces(self) -> list[pa.Buffer]:
        """The bytes of each place, without a copy."""
        spans = list(zip(self.starts.tolist(), self.stops.tolist(), strict=True))
        pieces = []
        for number, buffer in enumerate(self.buffers):
            origin = self.cuts.firsts[number]
            for start, stop in spans[self.cuts.edges[number] : self.cuts.edges[number + 1]]:
                pieces.append(buffer.slice(start - origin, stop - start))
        return pieces

    def joined(self) -> pa.Buffer:
        """The bytes of all places, concatenated; copied unless there is only one place."""
        if len(self.starts) < 2:
            return self.pieces()[0] if len(self.starts) else pa.py_buffer(b"")
        if not self.is_ascending or self.size >= MIN_JOINED * len(self.starts):
            return pa.py_buffer(b"".join(self.pieces()))
        spans = span_take(self.buffers, self.cuts, self.starts, self.stops, large=True)
        data = spans.buffers()[2]
        return pa.py_buffer(b"") if data is None else data.slice(0, self.size)


def fetch(starts: Int64Array, stops: Int64Array, context: DecodeContext) -> Decoding[FetchedBytes]:
    """Read the bytes ``starts[i]`` to ``stops[i]`` of the file.

    Raises `CorruptFileError` for places outside of the file. Also raises it if the places together
    exceed the file, so overlap: otherwise a small file could claim any amount of memory.
    """
    if len(starts) == 0:
        return FetchedBytes(starts, stops, (), Cuts([0], []), True)
    outside = (starts < 0) | (stops < starts) | (stops > context.file_size)
    if outside.any():
        wrong = int(outside.argmax())
        raise CorruptFileError(
            f"bytes {int(starts[wrong])} to {int(stops[wrong])} are not within the file of "
            f"{context.file_size} bytes"
        )
    if float((stops - starts).sum(dtype="f8")) > context.file_size:
        raise CorruptFileError("pages of the same column overlap", offset=int(starts[0]))
    is_ascending = bool((starts[1:] >= stops[:-1]).all())
    if is_ascending:
        ranges, cuts = span_ranges(0, starts, stops, context.coalesce_gap)
    else:
        ranges = [ByteRange(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        cuts = Cuts(list(range(len(ranges) + 1)), [range_.start for range_ in ranges])
    buffers = yield ranges
    return FetchedBytes(starts, stops, buffers, cuts, is_ascending)
