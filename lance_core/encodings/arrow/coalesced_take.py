"""Picking single values out of a buffer: which ranges to ask for, and how to compact what came.

Values that are closer together than the coalescing gap share a range. Positions ascend, but for
`take_variable` and, within a single range, `fixed_take`. All functions work on whole arrays; only
the number of ranges costs a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_core.encodings.arrow.memory_pool import empty
from lance_core.encodings.decoding import Int64Array
from lance_core.errors import CorruptFileError
from lance_core.store.base import ByteRange

MAX_OFFSET = (1 << 31) - 1
"""The largest offset of an Arrow array with 32-bit offsets."""


class Cuts(NamedTuple):
    """How positions are spread over ranges.

    ``edges``: number of the first position of each range, then the number of positions.
    ``firsts``: what each range starts with, in units of the values (or bytes of the file).
    """

    edges: list[int]
    firsts: list[int]


def element_type(width: int) -> np.dtype[np.generic]:
    """A numpy type of ``width`` bytes that is copied as one unit."""
    name = {1: "u1", 2: "u2", 4: "u4", 8: "u8"}.get(width)
    return np.dtype(name) if name else np.dtype((np.void, width))


def fixed_ranges(
    base: int, width: int, positions: Int64Array, gap: int
) -> tuple[list[ByteRange], Cuts]:
    """Ranges that hold the values of ``width`` bytes at ``positions``, counted from ``base``."""
    first, last = int(positions[0]), int(positions[-1])
    if (last - first) * width <= gap:
        return [ByteRange(base + first * width, base + (last + 1) * width)], Cuts(
            [0, len(positions)], [first]
        )
    # A range begins where the one before is farther away than the gap.
    steps = np.flatnonzero(np.diff(positions) > gap // width + 1) + 1
    edges = [0, *steps.tolist(), len(positions)]
    firsts = positions[edges[:-1]].tolist()
    lasts = positions[np.asarray(edges[1:]) - 1].tolist()
    ranges = [
        ByteRange(base + a * width, base + (b + 1) * width)
        for a, b in zip(firsts, lasts, strict=True)
    ]
    return ranges, Cuts(edges, firsts)


def fixed_take(
    buffers: Sequence[pa.Buffer], cuts: Cuts, positions: Int64Array, width: int
) -> npt.NDArray[np.generic]:
    """The values at ``positions``, from the buffers of `fixed_ranges`."""
    unit = element_type(width)
    result = empty(len(positions), unit)
    for number, buffer in enumerate(buffers):
        part = slice(cuts.edges[number], cuts.edges[number + 1])
        places = positions[part] - cuts.firsts[number]
        # Positions are within the range; "raise" would copy the result once more.
        np.frombuffer(buffer, unit).take(places, out=result[part], mode="clip")
    return result


def bit_ranges(base: int, positions: Int64Array, gap: int) -> tuple[list[ByteRange], Cuts]:
    """Ranges that hold the bits at ``positions`` of the bitmap that starts at byte ``base``."""
    return fixed_ranges(base, 1, positions >> 3, gap)


def bit_take(buffers: Sequence[pa.Buffer], cuts: Cuts, positions: Int64Array) -> pa.Buffer:
    """A bitmap of the bits at ``positions``, from the buffers of `bit_ranges`."""
    octets = fixed_take(buffers, cuts, positions >> 3, 1)
    bits = (octets >> (positions & 7).astype(np.uint8)) & 1
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def span_ranges(
    base: int, starts: Int64Array, stops: Int64Array, gap: int
) -> tuple[list[ByteRange], Cuts]:
    """Ranges that hold the bytes ``starts[i]`` to ``stops[i]``, counted from ``base``.

    The spans ascend and do not overlap; empty ones may lie anywhere between their neighbours.
    """
    if int(stops[-1]) - int(starts[0]) <= gap:
        ranges = [ByteRange(base + int(starts[0]), base + int(stops[-1]))]
        return ranges, Cuts([0, len(starts)], [int(starts[0])])
    steps = np.flatnonzero(starts[1:] - stops[:-1] > gap) + 1
    edges = [0, *steps.tolist(), len(starts)]
    firsts = starts[edges[:-1]].tolist()
    lasts = stops[np.asarray(edges[1:]) - 1].tolist()
    ranges = [ByteRange(base + a, base + b) for a, b in zip(firsts, lasts, strict=True)]
    return ranges, Cuts(edges, firsts)


def span_take(
    buffers: Sequence[pa.Buffer],
    cuts: Cuts,
    starts: Int64Array,
    stops: Int64Array,
    large: bool,
) -> pa.Array:
    """The spans as one array of ``large_binary`` or, if all fits and not ``large``, ``binary``.

    ``buffers`` are those of `span_ranges`. Arrow does the copying: spans and the gaps between them
    are seen as the values of one array, of which every second is taken.
    """
    small = not large and int((stops - starts).sum()) <= MAX_OFFSET
    parts = []
    for number, buffer in enumerate(buffers):
        part = slice(cuts.edges[number], cuts.edges[number + 1])
        count = cuts.edges[number + 1] - cuts.edges[number]
        wide = not small or buffer.size > MAX_OFFSET
        edges = np.empty(2 * count, np.int64 if wide else np.int32)
        edges[::2] = starts[part] - cuts.firsts[number]
        edges[1::2] = stops[part] - cuts.firsts[number]
        both = pa.Array.from_buffers(
            pa.large_binary() if wide else pa.binary(),
            2 * count - 1,
            [None, pa.py_buffer(edges), buffer],
            0,
        )
        parts.append(both.take(pa.array(np.arange(0, 2 * count, 2))))
    kind = pa.binary() if small else pa.large_binary()
    parts = [part if part.type == kind else part.cast(kind) for part in parts]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def take_variable(
    data: npt.NDArray[np.uint8], offsets: Int64Array, places: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.take_variable`."""
    count = len(offsets) - 1
    if count < 0:
        raise CorruptFileError("values without offsets")
    if not len(places):
        return pa.py_buffer(b""), np.zeros(1, np.int64)
    first, last = int(places.min()), int(places.max())
    if first < 0 or last >= count:
        raise CorruptFileError(f"a value that is not among {count}")
    part = np.ascontiguousarray(offsets[first : last + 2])
    if part[0] < 0 or part[-1] > len(data) or (part[1:] < part[:-1]).any():
        raise CorruptFileError(f"the offsets of values do not ascend within {len(data)} bytes")
    buffers = [None, pa.py_buffer(part), pa.py_buffer(data)]
    values = pa.Array.from_buffers(pa.large_binary(), len(part) - 1, buffers, 0)
    _, edges, text = values.take(pa.array(places - first)).buffers()
    taken = np.frombuffer(edges, np.int64, len(places) + 1)
    return text.slice(0, int(taken[-1])) if taken[-1] else pa.py_buffer(b""), taken


def gather_variable(
    data: npt.NDArray[np.uint8], starts: Int64Array, stops: Int64Array
) -> tuple[pa.Buffer, Int64Array]:
    """See `lance_core.encodings.kernels.Kernels.gather_variable`."""
    if len(starts) != len(stops):
        raise CorruptFileError(f"{len(starts)} spans start and {len(stops)} stop")
    if not len(starts):
        return pa.py_buffer(b""), np.zeros(1, np.int64)
    if starts[0] < 0 or stops[-1] > len(data):
        raise CorruptFileError(f"a span is not within {len(data)} bytes")
    if (stops < starts).any() or (starts[1:] < stops[:-1]).any():
        raise CorruptFileError("spans descend or overlap")
    cuts = Cuts([0, len(starts)], [0])
    packed = span_take([pa.py_buffer(data)], cuts, starts, stops, large=True)
    offsets = np.frombuffer(packed.buffers()[1], np.int64, len(packed) + 1)
    return packed.buffers()[2].slice(0, int(offsets[-1])), offsets


def spans_index(starts: Int64Array, stops: Int64Array) -> Int64Array:
    """The numbers ``starts[i]`` to ``stops[i]`` of all spans, one after the other."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    # Each number is its own place in the result, moved by how far its span lies behind it.
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
